"""What of an agent's messages is still to be remembered, and under which ids; pure, the state in and the new state out."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from memorai_core import Message
from memorai_langchain.convert import said_by, to_message


def turns_to_store(messages: Sequence[AnyMessage], marks: Mapping[str, str], source_ids: Mapping[str, str], now: datetime) -> list[Message]:
    """The messages that are new or edited since they were marked, as turns.

    What is marked is never stored again unless it is edited: what a user had forgotten stays forgotten, though the conversation
    still shows it.
    """
    turns: list[Message] = []
    for message in messages:
        said = _said(message)
        if said is None or message.id is None or marks.get(message.id) == _digest(*said):
            continue
        if turn := to_message(message, now=None if message.id in marks else now):
            turns.append(turn.model_copy(update={"id": source_ids[message.id]}))
    return turns


def marks_of(messages: Iterable[BaseMessage]) -> dict[str, str]:
    """What tells that messages are stored: a digest of each by its id, for those that the conversation still holds."""
    spoken = ((message.id, _said(message)) for message in messages)
    return {message_id: _digest(*said) for message_id, said in spoken if said is not None and message_id is not None}


def first_marks(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """The marks of a conversation that is seen for the first time: all up to its last answer.

    That is history, which was stored by an earlier call, or said before there was a memory; only the turn at hand is new.
    """
    answers = [place for place, message in enumerate(messages) if isinstance(message, AIMessage)]
    return marks_of(messages[: answers[-1] + 1] if answers else ())


def source_ids(messages: Iterable[BaseMessage], session_id: str, *, stable: bool) -> dict[str, str]:
    """The id under which each message is stored, by its own id.

    Ids are `stable` where a checkpointer keeps the messages. Elsewhere the application sends the conversation along with each
    call and LangGraph numbers it afresh, so that a message is known by what was said up to it: sent again, it is the same.
    """
    if stable:
        return {message.id: message.id for message in messages if message.id is not None}
    ids: dict[str, str] = {}
    before = session_id
    for message in messages:
        said = _said(message)
        if said is not None and message.id is not None:
            ids[message.id] = before = _digest(before, *said)
    return ids


def _said(message: BaseMessage) -> tuple[str, str] | None:
    """What is said to or by the user; a step on the way to an answer is not."""
    return None if isinstance(message, AIMessage) and message.tool_calls else said_by(message)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
