"""Which turns `index` analyses together: the pending ones of a session, led by its open segment where they follow it."""

import sqlite3
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from memorai_core.models import Turn
from memorai_core.storage.derived import Stretch
from memorai_core.storage.turns import TURN_COLUMNS, TURN_TABLES, turn_from

LONGEST = 200
"""Turns in one stretch at most, its open segment left out: a longer session is worked through stretch by stretch."""
CONTEXT = 4
"""Turns before a stretch that an analyzer may read as context."""

_ROW = f"SELECT t.turn, t.revision, {TURN_COLUMNS} FROM {TURN_TABLES}"
Row: TypeAlias = tuple[Any, ...]


def pending_sessions(db: sqlite3.Connection, user: int) -> list[int]:
    """The sessions of a user that have turns to index, oldest first."""
    rows = db.execute("SELECT DISTINCT session FROM turns WHERE user = ? AND segment IS NULL ORDER BY session", (user,))
    return [row[0] for row in rows]


def next_stretch(db: sqlite3.Connection, user: int, session: int) -> tuple[Stretch, tuple[Turn, ...], tuple[Turn, ...]] | None:
    """The first stretch of a session that is to be indexed, its turns, and the few turns before it; None where all is done."""
    pending = _first_run(db, user, session)
    if not pending:
        return None
    user_id, session_id = db.execute(
        "SELECT u.user_id, s.session_id FROM sessions s JOIN users u USING (user) WHERE s.session = ?", (session,)
    ).fetchone()
    first, last = _position(pending[0]), _position(pending[-1])
    at_end = not db.execute(
        "SELECT 1 FROM turns WHERE session = ? AND position > ? AND segment IS NOT NULL LIMIT 1", (session, last)
    ).fetchone()
    open_segment = db.execute("SELECT segment FROM segments WHERE session = ? AND open", (session,)).fetchone() if at_end else None
    leading: list[Row] = []
    if open_segment:
        leading = db.execute(f"{_ROW} WHERE t.segment = ? ORDER BY t.position", open_segment).fetchall()
    if leading and not _follows(db, session, leading, first):
        open_segment, leading = None, []
    rows = [*leading, *pending]
    before = db.execute(
        f"{_ROW} WHERE t.session = ? AND t.position < ? ORDER BY t.position DESC LIMIT ?", (session, _position(rows[0]), CONTEXT)
    ).fetchall()
    turns = tuple(turn_from(row[2:]) for row in rows)
    stretch = Stretch(
        user, session, user_id, session_id, tuple(row[0] for row in rows), tuple(turn.turn_id for turn in turns),
        tuple(row[1] for row in rows), open_segment[0] if open_segment else None, at_end,
    )  # fmt: skip
    return stretch, turns, tuple(turn_from(row[2:]) for row in reversed(before))


def _first_run(db: sqlite3.Connection, user: int, session: int) -> Sequence[Row]:
    """The first pending turns of a session that no indexed turn parts, at most LONGEST."""
    rows = db.execute(
        f"{_ROW} WHERE t.user = ? AND t.session = ? AND t.segment IS NULL ORDER BY t.position LIMIT ?", (user, session, LONGEST)
    ).fetchall()
    for number, (row, following) in enumerate(pairwise(rows), start=1):
        if _position(following) - _position(row) > 1 and _indexed_between(db, session, _position(row), _position(following)):
            return rows[:number]
    return rows


def _follows(db: sqlite3.Connection, session: int, leading: Sequence[Row], first: int) -> bool:
    """Whether the run that starts at a position comes right after the open segment, with nothing indexed between."""
    end = _position(leading[-1])
    return end < first and not _indexed_between(db, session, end, first)


def _indexed_between(db: sqlite3.Connection, session: int, after: int, before: int) -> bool:
    sql = "SELECT 1 FROM turns WHERE session = ? AND position > ? AND position < ? AND segment IS NOT NULL LIMIT 1"
    return db.execute(sql, (session, after, before)).fetchone() is not None


def _position(row: Row) -> int:
    return int(row[5])
