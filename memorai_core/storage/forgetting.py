"""Taking turns back, with everything that rests on them."""

import sqlite3
from dataclasses import dataclass, replace

from memorai_core import identity
from memorai_core.errors import UnknownSessionError, UnknownTurnError
from memorai_core.models import Turn
from memorai_core.reports import ForgetReport
from memorai_core.storage.derived import invalidate, sweep
from memorai_core.storage.turns import TURN_COLUMNS, TURN_TABLES, turn_from
from memorai_core.storage.users import bump


@dataclass(frozen=True, slots=True)
class Bereft:
    """A segment that is to lose a turn: the turn's row, and the turns that stay."""

    turn: int
    segment: int | None
    rest: tuple[Turn, ...]
    revision: int


def bereft(db: sqlite3.Connection, user: int, user_id: str, turn_id: str) -> Bereft:
    """What a turn's going leaves of its segment. Raises UnknownTurnError."""
    row = db.execute("SELECT turn, segment FROM turns WHERE user = ? AND turn_id = ?", (user, turn_id)).fetchone()
    if row is None:
        raise UnknownTurnError(f"user {user_id!r} has no turn {turn_id!r}; give a whole turn id, as in evidence.turns[0].turn_id")
    turn, segment = row
    sql = f"SELECT {TURN_COLUMNS} FROM {TURN_TABLES} WHERE t.segment = ? AND t.turn != ? ORDER BY t.position"
    rest = tuple(turn_from(columns) for columns in db.execute(sql, (segment, turn)))
    return Bereft(turn, segment, rest, _revision(db, user))


def forget_turn(db: sqlite3.Connection, user: int, user_id: str, left: Bereft, summary: str, text: int | None) -> ForgetReport | None:
    """Deletes a turn and all that cites it, and gives its segment a new summary; None where the user's memory has moved on.

    Descriptions of the segment go whether they cite the turn or not: a model wrote them with the turn in view. `text` is the
    row of the summary's vectors.
    """
    if _revision(db, user) != left.revision:
        return None
    revision = bump(db, user, reload=True)
    triplets = db.execute("DELETE FROM triplets WHERE triplet IN (SELECT triplet FROM triplet_turns WHERE turn = ?)", (left.turn,)).rowcount
    db.execute("DELETE FROM descriptions WHERE segment = ?", (left.segment,))
    db.execute("UPDATE turns SET segment = NULL WHERE turn = ?", (left.turn,))
    if left.segment is not None and left.rest:
        session_id = left.rest[0].session_id
        segment_id = identity.segment_id(user_id, session_id, tuple(turn.turn_id for turn in left.rest))
        db.execute(
            "UPDATE segments SET segment_id = ?, summary = ?, text = ?, made_by = 'extractive' WHERE segment = ?",
            (segment_id, summary, text, left.segment),
        )
    elif left.segment is not None:
        invalidate(db, user, left.segment, revision)
    db.execute("DELETE FROM turns WHERE turn = ?", (left.turn,))
    return replace(sweep(db, user), turns=1, segments=int(left.segment is not None), triplets=triplets)


def forget_session(db: sqlite3.Connection, user: int, user_id: str, session_id: str) -> ForgetReport:
    """Deletes a session with all that is derived from it. Raises UnknownSessionError."""
    row = db.execute("SELECT session FROM sessions WHERE user = ? AND session_id = ?", (user, session_id)).fetchone()
    if row is None:
        raise UnknownSessionError(f"user {user_id!r} has no session {session_id!r}")
    session = row[0]
    bump(db, user, reload=True)
    of_session = "segment IN (SELECT segment FROM segments WHERE session = ?)"
    db.execute(f"DELETE FROM descriptions WHERE {of_session}", (session,))
    triplets = db.execute(f"DELETE FROM triplets WHERE {of_session}", (session,)).rowcount
    turns = db.execute("DELETE FROM turns WHERE session = ?", (session,)).rowcount
    segments = db.execute("DELETE FROM segments WHERE session = ?", (session,)).rowcount
    db.execute("DELETE FROM sessions WHERE session = ?", (session,))
    return replace(sweep(db, user), turns=turns, segments=segments, triplets=triplets)


def forget_user(db: sqlite3.Connection, user: int) -> ForgetReport:
    """Deletes all of a user's memory, the user's id included."""
    gone = {
        table: db.execute(f"DELETE FROM {table} WHERE user = ?", (user,)).rowcount
        for table in ("descriptions", "triplets", "turns", "segments", "entities", "texts", "sessions", "users")
    }
    return ForgetReport(gone["turns"], gone["segments"], gone["triplets"], gone["entities"], gone["texts"])


def empty_derived(db: sqlite3.Connection, user: int) -> None:
    """Deletes all that is derived from a user's turns, vectors included, so that everything is indexed anew."""
    revision = bump(db, user, reload=True)
    for table in ("descriptions", "triplets"):
        db.execute(f"DELETE FROM {table} WHERE user = ?", (user,))
    db.execute("UPDATE turns SET segment = NULL, kept = NULL, text = NULL, revision = ? WHERE user = ?", (revision, user))
    for table in ("segments", "entities", "texts"):
        db.execute(f"DELETE FROM {table} WHERE user = ?", (user,))
    db.execute("UPDATE users SET probe = NULL WHERE user = ?", (user,))


def _revision(db: sqlite3.Connection, user: int) -> int:
    return int(db.execute("SELECT revision FROM users WHERE user = ?", (user,)).fetchone()[0])
