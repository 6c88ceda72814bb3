"""LlamaIndex documents and text nodes as messages: a node is one turn, or a transcript of several."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from llama_index.core.schema import BaseNode, MetadataMode

from memorai_core import Message
from memorai_core.identity import digest

Reader: TypeAlias = Callable[[BaseNode], list[Message]]
"""Gives a node's messages, in order, each with an id by which it is known again."""

_LINE = re.compile(r"(?:\[(?P<when>[^\]\n]{4,40})\]\s*)?(?P<speaker>[^\W_][\w.'’-]*(?: [\w.'’-]+){0,2})\s*:\s+(?P<text>\S.*)")
_HEADINGS = (
    "abstract author conclusion date description email error example from http https important info introduction note notes "
    "question answer result results source status subject summary time tip title to todo topic url version warning"
)
"""Words before a colon that are no speakers."""
_PART = re.compile(r"(::[0-9a-f]{16})?(::[0-9]+)?")
"""What may follow a document's id, or a node's, in the id of a turn."""
_ROLES = {
    "user": "user", "human": "user", "customer": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
    "chatbot": "assistant", "agent": "assistant",
}  # fmt: skip
_SPEAKER_KEYS, _TIME_KEYS = ("speaker", "author"), ("timestamp", "date", "created_at")


def read_node(node: BaseNode) -> list[Message]:
    """A transcript's lines as messages, or else the node's text as one.

    A transcript's lines begin with a speaker ("Alice: ..."), and before it perhaps a moment in brackets; others continue the
    line before. The node's metadata may hold `role`, `speaker` and `timestamp` (ISO 8601).
    """
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    if not text.strip():
        return []
    spoken = _transcript(text)
    when = _moment(_first(node.metadata, _TIME_KEYS))
    if spoken is None:
        role, speaker = node.metadata.get("role"), _first(node.metadata, _SPEAKER_KEYS)
        return [
            Message(
                role=role if isinstance(role, str) and role.strip() else "document", text=text, timestamp=when, id=source_of(node),
                name=speaker if isinstance(speaker, str) else None,
            )
        ]  # fmt: skip
    return [
        Message(
            role=_ROLES.get(speaker.casefold(), "user"), name=None if speaker.casefold() in _ROLES else speaker, text=said,
            timestamp=_moment(at) or when, id=f"{source_of(node)}::{number}",
        )
        for number, (speaker, said, at) in enumerate(spoken)
    ]  # fmt: skip


def session_of(node: BaseNode, session_id: str | None) -> str:
    """The session that a node belongs to: the one given, the one its metadata name, its document, or itself."""
    named = node.metadata.get("session_id")
    if session_id is not None:
        return session_id
    return named if isinstance(named, str) and named.strip() else node.ref_doc_id or node.node_id


def source_of(node: BaseNode) -> str:
    """What a node's turns are known by: its id, or, since the framework cuts a document into new nodes each time, document and text."""
    if node.ref_doc_id is None or node.ref_doc_id == node.node_id:
        return node.node_id
    return f"{node.ref_doc_id}::{digest(node.get_content(metadata_mode=MetadataMode.NONE))[:16]}"


def is_of(source_id: str | None, name: str) -> bool:
    """Whether a turn came of a node, or of a document, by the turn's source id."""
    return source_id is not None and source_id.startswith(name) and _PART.fullmatch(source_id, len(name)) is not None


def by_session(nodes: Sequence[BaseNode], session_id: str | None, reader: Reader) -> dict[str, list[Message]]:
    """The messages of nodes by session, in the nodes' order."""
    sessions: dict[str, list[Message]] = {}
    for node in nodes:
        sessions.setdefault(session_of(node, session_id), []).extend(reader(node))
    return {session: messages for session, messages in sessions.items() if messages}


def _transcript(text: str) -> list[tuple[str, str, str | None]] | None:
    """Speaker, words and moment of each turn, or None where the text is not a transcript."""
    turns: list[tuple[str, str, str | None]] = []
    for line in text.splitlines():
        started = _LINE.fullmatch(line.strip())
        if started is None and line.strip():
            if not turns:
                return None
            speaker, said, when = turns.pop()
            turns.append((speaker, f"{said}\n{line.strip()}", when))
        elif started is not None:
            turns.append((started["speaker"], started["text"].strip(), started["when"]))
    speakers = {_ROLES.get(speaker.casefold(), speaker.casefold()) for speaker, _, _ in turns}
    if len(turns) < 2 or not speakers.isdisjoint(_HEADINGS.split()) or len(speakers) > max(2, len(turns) // 2):
        return None
    return turns


def _first(metadata: dict[str, Any], keys: Sequence[str]) -> object:
    return next((metadata[key] for key in keys if metadata.get(key)), None)


def _moment(value: object) -> datetime | None:
    """A moment as datetime; one that cannot be read is none."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    return value if isinstance(value, datetime) else None
