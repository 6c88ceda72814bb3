"""LoCoMo: an object a conversation, with `sample_id` and `conversation.session_N` lists of turns."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel

from memorai_core.formats.conversation import Conversation, Session
from memorai_core.formats.dates import parse_date
from memorai_core.formats.ids import Id, numbered
from memorai_core.formats.records import Record
from memorai_core.models import Message, Name, Text

DATE_LAYOUT = "%I:%M %p on %d %B, %Y"
SESSION_KEY = re.compile("session_([0-9]+)")


def _named(speaker: str) -> str:
    if not speaker:
        raise ValueError("the speaker has no name")
    return speaker


class _Turn(BaseModel):
    speaker: Annotated[Name, AfterValidator(_named)]
    dia_id: Id
    text: Text = ""
    blip_caption: Text | None = None


class _Session(BaseModel):
    turns: list[_Turn]
    date_time: str | None


class _Sample(BaseModel):
    sample_id: Id
    conversation: dict[str, object]


def recognises(value: object) -> bool:
    """Whether a record looks like a LoCoMo sample."""
    return isinstance(value, dict) and isinstance(value.get("conversation"), dict)


def read(record: Record) -> Conversation:
    """The sample as one user's conversation: its questions and annotations are left aside.

    A turn that shares an image carries its caption as "[image: ...]". A session with a date but no turns is skipped.
    """
    sample = record.parse(_Sample)
    names = sorted((key for key in sample.conversation if SESSION_KEY.fullmatch(key)), key=lambda key: (int(key[8:]), key))
    sessions = (_session(record, name, sample.conversation) for name in names)
    return Conversation(sample.sample_id, tuple(session for session in sessions if session.messages))


def _session(record: Record, name: str, conversation: dict[str, object]) -> Session:
    value = {"turns": conversation[name], "date_time": conversation.get(f"{name}_date_time")}
    within = Record(value, record.place.within(name))
    session = within.parse(_Session)
    try:
        date = parse_date(session.date_time, DATE_LAYOUT) if session.date_time else None
    except ValueError as refused:
        raise within.place.error(str(refused)) from None
    ids = numbered([turn.dia_id for turn in session.turns])
    return Session(
        name,
        tuple(
            Message(role="user", name=turn.speaker, text=_with_image(turn), timestamp=date, id=dia_id)
            for turn, dia_id in zip(session.turns, ids, strict=True)
        ),
    )


def _with_image(turn: _Turn) -> str:
    if not turn.blip_caption:
        return turn.text
    return f"{turn.text}\n[image: {turn.blip_caption}]" if turn.text else f"[image: {turn.blip_caption}]"
