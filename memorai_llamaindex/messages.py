"""LlamaIndex's chat messages as memorai's: what was said, without tool calls, thinking, images and injected memory."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from pydantic import ValidationError

from memorai_core import Memory, Message, UnknownUserError
from memorai_core.identity import digest

_ROLES = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.MODEL: "assistant",
}
"""Who speaks; system and developer messages, tools and functions do not."""
_INJECTED = ("<memory>", "</memory>")
"""What the framework's `Memory` puts around memory when it is told to insert it into the user's message."""


def to_messages(messages: Iterable[ChatMessage], *, now: datetime | None = None) -> list[Message]:
    """What of a conversation is remembered, in order; a message without a timestamp in its additional_kwargs gets `now`."""
    converted = (to_message(message, now=now) for message in messages)
    return [message for message in converted if message is not None]


def to_message(message: ChatMessage, *, now: datetime | None = None) -> Message | None:
    """A message as memorai's, or None where nobody speaks or nothing is said.

    Its additional_kwargs may hold a `name`, a `timestamp` (a datetime or ISO 8601) and an `id`, by which it is known again.
    """
    role, text = _ROLES.get(message.role), text_of(message)
    if role is None or not text.strip():
        return None
    named, known = (message.additional_kwargs.get(key) for key in ("name", "id"))
    try:
        return Message(
            role=role, text=text, name=named if isinstance(named, str) else None, timestamp=_timestamp(message) or now,
            id=known if isinstance(known, str) and known else None,
        )  # fmt: skip
    except ValidationError:  # what stands around the text is out of all bounds
        return Message(role=role, text=text, timestamp=now)


def text_of(message: ChatMessage) -> str:
    """A message's text blocks, one below the other, without those that hold injected memory."""
    texts = (block.text for block in message.blocks if isinstance(block, TextBlock))
    return "\n".join(text for text in texts if text and not _is_injected(text))


def last_user_text(messages: Sequence[ChatMessage]) -> str:
    """The last thing the user said, or nothing."""
    said = (text_of(message) for message in reversed(messages) if message.role == MessageRole.USER)
    return next((text for text in said if text.strip()), "")


def unheard(memory: Memory, user_id: str, session_id: str, messages: Sequence[Message]) -> list[Message]:
    """The messages of a conversation that a session does not hold yet.

    A message without an id is known by what it says and how often that was said before; it gets an id made of just that, so
    that a conversation given twice at once is stored once.
    """
    try:
        turns = memory.view(user_id=user_id).turns(session_id=session_id)
    except UnknownUserError:
        turns = []
    held, said = Counter((turn.role, turn.text) for turn in turns), Counter[tuple[str, str]]()
    new: list[Message] = []
    for message in messages:
        what = (message.role, message.text)
        said[what] += 1
        if message.id is not None:
            new.append(message)
        elif said[what] > held[what]:
            new.append(message.model_copy(update={"id": digest("llamaindex", *what, str(said[what]))}))
    return new


def _is_injected(text: str) -> bool:
    start, end = _INJECTED
    return text.lstrip().startswith(start) and text.rstrip().endswith(end)


def _timestamp(message: ChatMessage) -> datetime | None:
    """The moment that a message names; one that cannot be read is none."""
    value = message.additional_kwargs.get("timestamp")
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return None
    return value if isinstance(value, datetime) else None
