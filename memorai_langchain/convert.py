"""LangChain's messages as memorai's: what was said, without reasoning, tool calls, images and injected text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, FunctionMessage, HumanMessage, ToolMessage

from memorai_core import Message

Content = str | Sequence[str | Mapping[str, object]]
"""A message's content: text, or blocks of which some are text."""

_TEXT_BLOCKS = {"text", "input_text", "output_text"}
_UNHEARD_ROLES = {"system", "developer"}
_TIMESTAMP_KEYS = ("timestamp", "created_at")
_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(;[\w=.+-]+)*;base64,[\w+/=%-]+")
_THINKING = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)


def to_messages(messages: Iterable[BaseMessage], *, now: datetime | None = None, tool_results: bool = False) -> list[Message]:
    """What of a conversation is remembered, in order; with `tool_results` also what tools returned.

    System messages, messages that a framework injected or summarised (`lc_source`), removals and messages without text are
    left out. A message without a timestamp in its metadata gets `now`.
    """
    converted = (to_message(message, now=now, tool_results=tool_results) for message in messages)
    return [message for message in converted if message is not None]


def to_message(message: BaseMessage, *, now: datetime | None = None, tool_results: bool = False) -> Message | None:
    """A message as memorai's, or None where it is not to be remembered."""
    said = said_by(message, tool_results=tool_results)
    if said is None:
        return None
    role, text = said
    return Message(role=role, text=text, name=message.name or None, timestamp=_timestamp(message) or now, id=message.id or None)


def said_by(message: BaseMessage, *, tool_results: bool = False) -> tuple[str, str] | None:
    """Role and text of what is to be remembered of a message, or None where nothing is."""
    role = role_of(message)
    if role is None or (role == "tool" and not tool_results) or is_injected(message):
        return None
    text = text_of(message.content)
    return (role, text) if text.strip() else None


def role_of(message: BaseMessage) -> str | None:
    """The role of whoever speaks, a chunk's like a whole message's; None where nobody does."""
    match message:
        case HumanMessage():
            return "user"
        case AIMessage():
            return "assistant"
        case ToolMessage() | FunctionMessage():
            return "tool"
        case ChatMessage(role=role) if role.strip() and role.strip().casefold() not in _UNHEARD_ROLES:
            return {"human": "user", "ai": "assistant"}.get(role.strip().casefold(), role)
        case _:
            return None


def is_injected(message: BaseMessage) -> bool:
    """Whether a framework put the message in, such as a summary of earlier ones, rather than a speaker."""
    return "lc_source" in message.additional_kwargs


def text_of(content: Content) -> str:
    """The text of a message's content.

    Text blocks in a row are one text that a provider has cut; between others stands a line break. Inline base64 data and
    a leading stretch of thinking are taken out.
    """
    if isinstance(content, str):
        return _cleaned(content)
    stretches = [""]
    for block in content:
        text = _text_of_block(block)
        if text is not None:
            stretches[-1] += text
        elif stretches[-1]:
            stretches.append("")
    return _cleaned("\n".join(stretch for stretch in stretches if stretch))


def _text_of_block(block: str | Mapping[str, object]) -> str | None:
    if isinstance(block, str):
        return block
    text = block.get("text")
    return text if block.get("type", "text") in _TEXT_BLOCKS and isinstance(text, str) else None


def _cleaned(text: str) -> str:
    if thinking := _THINKING.match(text):
        text = text[thinking.end() :]
    return _DATA_URI.sub(lambda found: f"[{found[1] or 'data'}]", text) if ";base64," in text else text


def _timestamp(message: BaseMessage) -> datetime | None:
    """The moment that a message's metadata names; one that cannot be read is none."""
    for metadata in (message.additional_kwargs, message.response_metadata):
        for key in _TIMESTAMP_KEYS:
            value = metadata.get(key)
            if isinstance(value, datetime):
                return value
            if isinstance(value, str):
                try:
                    return datetime.fromisoformat(value)
                except ValueError:
                    continue
    return None


def now() -> datetime:
    """This moment, for messages that come in as they are said."""
    return datetime.now(UTC)
