"""Turns as they come in: durable appends, idempotent by source id, edits in place."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memorai_core import identity
from memorai_core.models import Message, Turn
from memorai_core.storage.derived import entities_of, invalidate, sweep_entities
from memorai_core.storage.users import bump, user_row
from memorai_core.terms import term_counts

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TURN_COLUMNS = """t.turn_id, t.source_id, s.session_id, t.position, t.role, t.speaker, t.body, t.timestamp, t.inferred,
    g.segment_id, t.kept"""
TURN_TABLES = "turns t JOIN sessions s USING (session) LEFT JOIN segments g ON g.segment = t.segment"


def turn_from(row: tuple[Any, ...]) -> Turn:
    """A turn from its TURN_COLUMNS."""
    (turn_id, source_id, session_id, position, role, speaker, body, timestamp, inferred, segment_id, kept) = row
    return Turn(
        turn_id, source_id, session_id, position, role, speaker, body,
        None if timestamp is None else EPOCH + timedelta(microseconds=timestamp), bool(inferred), segment_id,
        None if kept is None else bool(kept),
    )  # fmt: skip


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970 in UTC; a naive moment is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Place:
    user_id: str
    session_id: str
    user: int
    session: int


def append(db: sqlite3.Connection, messages: Iterable[Message], user_id: str, session_id: str) -> list[Turn]:
    """Stores messages at the end of a session, or as edits where their ids are known; gives their turns as now stored."""
    db.execute("INSERT INTO users (user_id) VALUES (?) ON CONFLICT DO NOTHING", (user_id,))
    user = user_row(db, user_id)
    assert user is not None
    db.execute("INSERT INTO sessions (user, session_id) VALUES (?, ?) ON CONFLICT DO NOTHING", (user, session_id))
    session, position = db.execute(
        "SELECT session, next_position FROM sessions WHERE user = ? AND session_id = ?", (user, session_id)
    ).fetchone()
    place = _Place(user_id, session_id, user, session)
    revision: int | None = None
    first = position
    turns: list[Turn] = []
    for message in messages:
        known = _known(db, session, message.id)
        turn = _edited(known, message) if known else _fresh(db, place, message, position)
        if turn != known:
            revision = revision or bump(db, user)
            if known:
                turn = _update(db, place, known, turn, revision)
            else:
                _insert(db, place, turn, revision)
                position += 1
        turns.append(turn)
    if position != first:
        db.execute("UPDATE sessions SET next_position = ? WHERE session = ?", (position, session))
    return turns


def _known(db: sqlite3.Connection, session: int, source_id: str | None) -> Turn | None:
    if source_id is None:
        return None
    row = db.execute(f"SELECT {TURN_COLUMNS} FROM {TURN_TABLES} WHERE t.session = ? AND t.source_id = ?", (session, source_id)).fetchone()
    return None if row is None else turn_from(row)


def _fresh(db: sqlite3.Connection, place: _Place, message: Message, position: int) -> Turn:
    timestamp = message.timestamp
    inferred = timestamp is None or timestamp.tzinfo is None
    if timestamp is None:
        row = db.execute(
            "SELECT timestamp FROM turns WHERE session = ? AND timestamp IS NOT NULL ORDER BY position DESC LIMIT 1", (place.session,)
        ).fetchone()
        timestamp = EPOCH + timedelta(microseconds=row[0]) if row else None
    return Turn(
        identity.turn_id(place.user_id, place.session_id, message.id, position), message.id, place.session_id, position,
        message.role, message.name or message.role, message.text,
        None if timestamp is None else EPOCH + timedelta(microseconds=microseconds(timestamp)), inferred,
    )  # fmt: skip


def _edited(known: Turn, message: Message) -> Turn:
    """What a message with a known id makes of its turn; a field given as None leaves the stored one as it is."""
    named = message.name or (known.speaker if known.speaker != known.role else message.role)
    edited = replace(known, role=message.role, speaker=named, text=message.text)
    if message.timestamp is not None:
        moment = EPOCH + timedelta(microseconds=microseconds(message.timestamp))
        edited = replace(edited, timestamp=moment, timestamp_inferred=message.timestamp.tzinfo is None)
    return edited


def _insert(db: sqlite3.Connection, place: _Place, turn: Turn, revision: int) -> None:
    hashes, counts = term_counts(f"{turn.speaker}: {turn.text}")
    db.execute(
        """INSERT INTO turns (user, session, position, turn_id, source_id, role, speaker, body, timestamp, inferred,
            term_hashes, term_counts, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            place.user, place.session, turn.position, turn.turn_id, turn.source_id, turn.role, turn.speaker, turn.text,
            None if turn.timestamp is None else microseconds(turn.timestamp), turn.timestamp_inferred, hashes, counts, revision,
        ),
    )  # fmt: skip


def _update(db: sqlite3.Connection, place: _Place, known: Turn, turn: Turn, revision: int) -> Turn:
    """Edits a turn in place; its segment is analysed anew by the next `index`."""
    hashes, counts = term_counts(f"{turn.speaker}: {turn.text}")
    segment = db.execute("SELECT segment FROM turns WHERE user = ? AND turn_id = ?", (place.user, known.turn_id)).fetchone()[0]
    if segment is not None:
        spoken_of = entities_of(db, segment)
        invalidate(db, place.user, segment, revision)
        sweep_entities(db, place.user, spoken_of)
    db.execute(
        """UPDATE turns SET role = ?, speaker = ?, body = ?, timestamp = ?, inferred = ?, term_hashes = ?, term_counts = ?,
            revision = ?, text = NULL WHERE user = ? AND turn_id = ?""",
        (
            turn.role, turn.speaker, turn.text, None if turn.timestamp is None else microseconds(turn.timestamp),
            turn.timestamp_inferred, hashes, counts, revision, place.user, turn.turn_id,
        ),
    )  # fmt: skip
    bump(db, place.user, reload=True)
    return replace(turn, segment_id=None, kept=None)
