"""What of an agent's messages is still to be remembered, and under which ids; pure, the state in and the new state out."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from memorai_core import Message
from memorai_langchain.convert import to_message


@dataclass(frozen=True, slots=True)
class Capture:
    """Turns to append, and the marks of all messages once they are."""

    turns: list[Message]
    marks: dict[str, str]
    """A digest of each message by its id, for the messages that the state still holds."""


def capture(messages: Sequence[AnyMessage], marks: Mapping[str, str] | None, source_ids: Mapping[str, str], now: datetime) -> Capture:
    """The messages that are new or edited since `marks`; without marks, those of the turn at hand.

    Where a conversation is seen for the first time, what stands before its last answer is history that was either captured
    already or had its chance, so it is marked and not stored. A message that was marked is never stored again, unless edited:
    what the user had forgotten stays forgotten, though the conversation still shows it.
    """
    start = 0 if marks is not None else _after_last_answer(messages)
    turns: list[Message] = []
    marked: dict[str, str] = {}
    for place, message in enumerate(messages):
        turn = turn_of(message)
        if turn is None or message.id is None:
            continue
        marked[message.id] = digest = _digest(turn.role, turn.text)
        known = (marks or {}).get(message.id)
        if place >= start and known != digest:
            dated = turn.timestamp or (now if known is None else None)
            turns.append(turn.model_copy(update={"id": source_ids[message.id], "timestamp": dated}))
    return Capture(turns, marked)


def source_ids(messages: Iterable[BaseMessage], session_id: str, *, stable: bool) -> dict[str, str]:
    """The id under which each message is stored, by its own id.

    Ids are `stable` where a checkpointer keeps the messages. Elsewhere the application sends the conversation along with each
    call and LangGraph numbers it afresh, so that a message is known by what was said up to it: sent again, it is the same.
    """
    ids: dict[str, str] = {}
    said = session_id
    for message in messages:
        turn = turn_of(message)
        if turn is not None and message.id is not None:
            said = _digest(said, turn.role, turn.text)
            ids[message.id] = message.id if stable else said
    return ids


def turn_of(message: BaseMessage) -> Message | None:
    """A message as a turn, if it is one: something said to or by the user, and no step on the way to an answer."""
    return None if isinstance(message, AIMessage) and message.tool_calls else to_message(message)


def _after_last_answer(messages: Sequence[BaseMessage]) -> int:
    answers = [place for place, message in enumerate(messages) if isinstance(message, AIMessage)]
    return answers[-1] + 1 if answers else 0


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
