"""Plain chat messages: `{role, content, name?, timestamp?, id?, session_id?}`, a JSON array of them or one a line."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator

from memorai_core.formats.conversation import Conversation, Session
from memorai_core.formats.dates import parse_date
from memorai_core.formats.ids import Id, file_stem
from memorai_core.formats.records import Place, Record
from memorai_core.models import Message, Name, Role, Text

TEXT_BLOCKS = ("text", "input_text", "output_text")
"""The types of content block that hold text in the chat formats of the large providers."""


def _blocks_as_text(content: object) -> object:
    """A list's text blocks, joined with newlines; images, tool calls and other blocks are left out. null is no text."""
    if content is None:
        return ""
    if not isinstance(content, list):
        return content
    texts: list[str] = []
    for block in content:
        text = block
        if isinstance(block, dict):
            if block.get("type") not in TEXT_BLOCKS:
                continue
            text = block.get("text")
        if not isinstance(text, str):
            raise ValueError("a block of content is neither text nor an object with a type")
        texts.append(text)
    return "\n".join(texts)


def _as_moment(value: object) -> datetime | None:
    """The moment a text names. A bare number could be seconds or milliseconds since 1970, so it is refused rather than guessed at."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ValueError("timestamp must be a text, as in 2023-05-08T13:56:00+00:00")
    return parse_date(value)


class _Chat(BaseModel):
    role: Role
    content: Annotated[Text, BeforeValidator(_blocks_as_text)]
    name: Name | None = None
    timestamp: Annotated[datetime | None, BeforeValidator(_as_moment)] = None
    id: Id | None = None
    session_id: Id | None = None


Entry: TypeAlias = tuple[Place, _Chat]


def recognises(value: object) -> bool:
    """Whether a record looks like a chat message."""
    return isinstance(value, dict) and "role" in value and "content" in value


def read(records: Iterable[Record], user_id: str, path: Path) -> Conversation:
    """All of a file's messages as one conversation; sessions stand in the order of their first messages.

    Messages without a session id form a session named after the file. One without an id is named after its session and
    its place in it, from 0, so that reading the file again, or the file grown at its end, gives the same ids. A message
    given twice, id and text, is read once; an id given twice with other text is an error.
    """
    name = file_stem(path)
    sessions: dict[str, list[Entry]] = {}
    for record in records:
        chat = record.parse(_Chat)
        sessions.setdefault(chat.session_id or name, []).append((record.place, chat))
    return Conversation(user_id, tuple(Session(name, _messages(name, entries)) for name, entries in sessions.items()))


def _messages(session_id: str, entries: Sequence[Entry]) -> tuple[Message, ...]:
    given = {chat.id for _, chat in entries}
    seen: dict[str, Entry] = {}
    messages: list[Message] = []
    for index, (place, chat) in enumerate(entries):
        source_id = chat.id or _free(f"{session_id}:{index}", given)
        if source_id in seen:
            earlier, same = seen[source_id]
            if same.content != chat.content:
                raise place.error(f"the id {source_id!r} already stands at {earlier.where} with other text; give each message its own")
            continue
        seen[source_id] = (place, chat)
        messages.append(Message(role=chat.role, text=chat.content, name=chat.name, timestamp=chat.timestamp, id=source_id))
    return tuple(messages)


def _free(wanted: str, given: set[str | None]) -> str:
    while wanted in given:
        wanted += "'"
    return wanted
