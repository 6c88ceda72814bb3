"""LongMemEval: an object a question, with the sessions of its haystack."""

from pydantic import BaseModel

from memorai_core.formats.conversation import Conversation, Session
from memorai_core.formats.dates import parse_date
from memorai_core.formats.ids import Id, numbered
from memorai_core.formats.records import Record
from memorai_core.models import Message, Role, Text

DATE_LAYOUT = "%Y/%m/%d (%a) %H:%M"


class _Turn(BaseModel):
    role: Role
    content: Text


class _Instance(BaseModel):
    question_id: Id
    haystack_session_ids: list[Id]
    haystack_dates: list[str]
    haystack_sessions: list[list[_Turn]]


def recognises(value: object) -> bool:
    """Whether a record looks like a LongMemEval instance."""
    return isinstance(value, dict) and "haystack_sessions" in value


def read(record: Record) -> Conversation:
    """The haystack as the conversation of a user named by the question: the question and its answer are left aside.

    Sessions keep the file's order, which is not always that of their dates. A session id that repeats becomes "id#2",
    "id#3". Messages have no ids: the n-th of a session, from 0, is "session_id:n".
    """
    instance = record.parse(_Instance)
    counts = {
        "haystack_session_ids": len(instance.haystack_session_ids),
        "haystack_dates": len(instance.haystack_dates),
        "haystack_sessions": len(instance.haystack_sessions),
    }
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise record.place.error(f"found {found}; there should be as many of each")
    ids = numbered(instance.haystack_session_ids)
    parts = zip(ids, instance.haystack_dates, instance.haystack_sessions, strict=True)
    return Conversation(instance.question_id, tuple(_session(record, *part) for part in parts if part[2]))


def _session(record: Record, session_id: str, date: str, turns: list[_Turn]) -> Session:
    try:
        timestamp = parse_date(date, DATE_LAYOUT)
    except ValueError as refused:
        raise record.place.error(f"session {session_id!r}: {refused}") from None
    return Session(
        session_id,
        tuple(
            Message(role=turn.role, text=turn.content, timestamp=timestamp, id=f"{session_id}:{index}") for index, turn in enumerate(turns)
        ),
    )
