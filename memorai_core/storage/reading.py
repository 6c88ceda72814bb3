"""Rows as the nouns of `models`: for evidence, for audits and for exports."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from memorai_core.models import Description, Entity, Segment, Triplet, Turn
from memorai_core.reports import UserStats
from memorai_core.storage.turns import TURN_COLUMNS, TURN_TABLES, turn_from

TRIPLET_SQL = """SELECT r.triplet, r.triplet_id, a.name, r.relation, b.name, x.body, g.segment_id, r.origin, r.made_by
    FROM triplets r JOIN entities a ON a.entity = r.subject JOIN entities b ON b.entity = r.object
    JOIN texts x ON x.text = r.text JOIN segments g ON g.segment = r.segment"""


def turns_by_row(db: sqlite3.Connection, rows: Sequence[int]) -> list[Turn]:
    """The turns of the given rows, in that order; a row that is gone is left out."""
    found = {row[0]: turn_from(row[1:]) for row in _in(db, f"SELECT t.turn, {TURN_COLUMNS} FROM {TURN_TABLES} WHERE t.turn IN", rows)}
    return [found[row] for row in rows if row in found]


def triplets_citing(db: sqlite3.Connection, turn_rows: Sequence[int]) -> list[Triplet]:
    """The triplets that cite any of the turns, in order of making."""
    rows = sorted({row[0] for row in _in(db, "SELECT triplet FROM triplet_turns WHERE turn IN", turn_rows)})
    return triplets_by_row(db, rows)


def triplets_by_row(db: sqlite3.Connection, rows: Sequence[int]) -> list[Triplet]:
    """The triplets of the given rows, in order of making."""
    sources: dict[int, list[str]] = defaultdict(list)
    sql = "SELECT l.triplet, t.turn_id FROM triplet_turns l JOIN turns t USING (turn) WHERE l.triplet IN"
    for triplet, turn_id in _in(db, sql, rows, "ORDER BY l.triplet, t.position"):
        sources[triplet].append(turn_id)
    return [
        Triplet(triplet_id, subject, relation, object_, body, tuple(sources[row]), segment_id, origin, made_by)
        for row, triplet_id, subject, relation, object_, body, segment_id, origin, made_by in _in(
            db, f"{TRIPLET_SQL} WHERE r.triplet IN", rows, "ORDER BY r.triplet"
        )
    ]


def segments_by_id(db: sqlite3.Connection, user: int, segment_ids: Sequence[str]) -> list[Segment]:
    """The segments of the given ids, with their turns, in the order given."""
    held: dict[str, list[str]] = defaultdict(list)
    sql = f"SELECT g.segment_id, t.turn_id FROM segments g JOIN turns t USING (segment) WHERE g.user = {user:d} AND g.segment_id IN"
    for segment_id, turn_id in _in(db, sql, segment_ids, "ORDER BY t.position"):
        held[segment_id].append(turn_id)
    sql = f"""SELECT g.segment_id, s.session_id, g.summary, g.made_by FROM segments g JOIN sessions s USING (session)
        WHERE g.user = {user:d} AND g.segment_id IN"""
    found = {row[0]: Segment(row[0], row[1], tuple(held[row[0]]), row[2], row[3]) for row in _in(db, sql, segment_ids)}
    return [found[segment_id] for segment_id in segment_ids if segment_id in found]


def entities_by_row(db: sqlite3.Connection, rows: Sequence[int]) -> list[Entity]:
    """The entities of the given rows with their descriptions and every turn that mentions them."""
    described: dict[int, dict[int, tuple[str, str, list[str]]]] = defaultdict(dict)
    mentioned: dict[int, dict[str, None]] = defaultdict(dict)
    sql = """SELECT d.entity, d.description, x.body, g.segment_id, t.turn_id FROM descriptions d JOIN texts x ON x.text = d.text
        JOIN segments g ON g.segment = d.segment JOIN description_turns l USING (description) JOIN turns t ON t.turn = l.turn
        WHERE d.entity IN"""
    for entity, description, body, segment_id, turn_id in _in(db, sql, rows, "ORDER BY d.description, t.position"):
        described[entity].setdefault(description, (body, segment_id, []))[2].append(turn_id)
        mentioned[entity][turn_id] = None
    for end in ("subject", "object"):
        sql = f"""SELECT r.{end}, t.turn_id FROM triplets r JOIN triplet_turns l USING (triplet) JOIN turns t ON t.turn = l.turn
            WHERE r.{end} IN"""
        for entity, turn_id in _in(db, sql, rows, "ORDER BY t.turn"):
            mentioned[entity][turn_id] = None
    return [
        Entity(
            entity_id, name, tuple(Description(body, tuple(turns), segment) for body, segment, turns in described[row].values()),
            tuple(mentioned[row]),
        )
        for row, entity_id, name in _in(db, "SELECT entity, entity_id, name FROM entities WHERE entity IN", rows, "ORDER BY entity")
    ]  # fmt: skip


def turn_rows(db: sqlite3.Connection, user: int, turn_ids: Collection[str] | None, session_id: str | None) -> list[int]:
    """The rows of a user's turns, of those given, of one session's, in the order of their sessions."""
    sql = "SELECT t.turn FROM turns t JOIN sessions s USING (session) WHERE t.user = ?"
    values: list[object] = [user]
    if turn_ids is not None:
        sql, values = f"{sql} AND t.turn_id IN {_LISTED}", [*values, _listed(turn_ids)]
    if session_id is not None:
        sql, values = f"{sql} AND s.session_id = ?", [*values, session_id]
    return column(db, f"{sql} ORDER BY t.session, t.position", *values)


def entity_rows(db: sqlite3.Connection, user: int, entity_ids: Collection[str] | None = None, turn_ids: Collection[str] = ()) -> list[int]:
    """The rows of a user's entities, or of those of an id among the given or mentioned in a turn among them, in order of making."""
    if entity_ids is None:
        return column(db, "SELECT entity FROM entities WHERE user = ? ORDER BY entity", user)
    sql = f"""WITH cited AS (SELECT turn FROM turns WHERE user = :user AND turn_id IN {_LISTED.replace("?", ":turns")})
        SELECT entity FROM entities WHERE user = :user AND entity_id IN {_LISTED.replace("?", ":ids")}
        UNION SELECT entity FROM descriptions JOIN description_turns USING (description) WHERE turn IN cited
        UNION SELECT subject FROM triplets JOIN triplet_turns USING (triplet) WHERE turn IN cited
        UNION SELECT object FROM triplets JOIN triplet_turns USING (triplet) WHERE turn IN cited ORDER BY 1"""
    return [row[0] for row in db.execute(sql, {"user": user, "ids": _listed(entity_ids), "turns": _listed(turn_ids)})]


def entity_ids_named(db: sqlite3.Connection, user: int, names: Collection[str], entity_ids: Collection[str]) -> list[str]:
    """The ids of a user's entities that are written as one of the names, or whose id is among the given."""
    sql = f"""SELECT entity_id FROM entities WHERE user = ?1 AND name IN {_LISTED.replace("?", "?2")}
        UNION SELECT entity_id FROM entities WHERE user = ?1 AND entity_id IN {_LISTED.replace("?", "?3")}"""
    return column(db, sql, user, _listed(names), _listed(entity_ids))


def triplet_rows(
    db: sqlite3.Connection,
    user: int,
    triplet_ids: Collection[str] | None,
    ends: Collection[str] | None,
    citing: Collection[str] | None,
    without: Collection[str],
    limit: int | None,
) -> list[int]:
    """The rows of a user's triplets, or of those of an id, with an end among entity ids or a source among turn ids, best first.

    First those with both ends among the entities, then those that a model or an annotator made, then the newest.
    """
    chosen = "SELECT triplet FROM triplets WHERE user = :user"
    if triplet_ids is not None or ends is not None or citing is not None:
        chosen = f"""{chosen} AND triplet_id IN {_LISTED.replace("?", ":ids")}
            UNION SELECT triplet FROM triplets WHERE subject IN ends UNION SELECT triplet FROM triplets WHERE object IN ends
            UNION SELECT triplet FROM triplet_turns JOIN turns USING (turn)
            WHERE user = :user AND turn_id IN {_LISTED.replace("?", ":citing")}"""
    ends_sql = f"SELECT entity FROM entities WHERE user = :user AND entity_id IN {_LISTED.replace('?', ':ends')}"
    sql = f"""WITH ends AS ({ends_sql}) SELECT triplet FROM triplets WHERE triplet IN ({chosen})
        AND relation NOT IN {_LISTED.replace("?", ":without")}
        ORDER BY (subject IN ends) + (object IN ends) DESC, origin = 'extractive', triplet DESC LIMIT coalesce(:limit, -1)"""
    listed = {"ids": triplet_ids, "ends": ends, "citing": citing, "without": without}
    values = {name: _listed(given or ()) for name, given in listed.items()}
    return [row[0] for row in db.execute(sql, {"user": user, "limit": limit, **values})]


def names(db: sqlite3.Connection, user: int, entity_ids: Sequence[str]) -> dict[str, str]:
    """The names of entities by id."""
    return dict(_in(db, f"SELECT entity_id, name FROM entities WHERE user = {user:d} AND entity_id IN", entity_ids))


def column(db: sqlite3.Connection, sql: str, *values: object) -> list[Any]:
    """The first column of a query's rows."""
    return [row[0] for row in db.execute(sql, values)]


def stats(db: sqlite3.Connection, user_id: str | None) -> list[UserStats]:
    """Counts for one user, or for all of them, by user id."""
    users = db.execute("SELECT user, user_id FROM users WHERE ?1 IS NULL OR user_id = ?1 ORDER BY user_id", (user_id,)).fetchall()
    return [_stats_of(db, user, name) for user, name in users]


def _stats_of(db: sqlite3.Connection, user: int, user_id: str) -> UserStats:
    turns, pending, kept, dropped = db.execute(
        """SELECT count(*), coalesce(sum(segment IS NULL), 0), coalesce(sum(kept = 1), 0), coalesce(sum(kept = 0), 0)
        FROM turns WHERE user = ?""",
        (user,),
    ).fetchone()
    count = {
        table: column(db, f"SELECT count(*) FROM {table} WHERE user = ?", user)[0]
        for table in ("sessions", "segments", "entities", "triplets", "texts")
    }
    return UserStats(
        user_id, count["sessions"], turns, pending, kept, dropped, count["segments"], count["entities"], count["triplets"], count["texts"]
    )  # fmt: skip


_LISTED = "(SELECT value FROM json_each(?))"


def _listed(values: Iterable[object]) -> str:
    """Any number of values as one for _LISTED, so that a query's text is always the same and is prepared once."""
    return json.dumps(list(values))


def _in(db: sqlite3.Connection, sql: str, values: Iterable[object], order: str = "") -> list[tuple[Any, ...]]:
    """Runs a query that ends in IN, for any number of values."""
    return db.execute(f"{sql} {_LISTED} {order}", (_listed(values),)).fetchall()


def summaries(db: sqlite3.Connection, user: int, segment_ids: Sequence[str]) -> dict[str, str]:
    """The summaries of segments by id."""
    return dict(_in(db, f"SELECT segment_id, summary FROM segments WHERE user = {user:d} AND segment_id IN", segment_ids))


def later_turns(db: sqlite3.Connection, user: int, moment: int, turn_ids: Iterable[str]) -> set[str]:
    """Those of the given turns that are later than a moment (microseconds since 1970)."""
    sql = f"SELECT turn_id FROM turns WHERE user = {user:d} AND timestamp > {moment:d} AND turn_id IN"
    return {row[0] for row in _in(db, sql, turn_ids)}


def later_segments(db: sqlite3.Connection, user: int, moment: int, segment_ids: Iterable[str]) -> set[str]:
    """Those of the given segments that hold a turn later than a moment (microseconds since 1970)."""
    sql = f"""SELECT segment_id FROM segments g WHERE user = {user:d}
        AND EXISTS (SELECT 1 FROM turns t WHERE t.segment = g.segment AND t.timestamp > {moment:d}) AND segment_id IN"""
    return {row[0] for row in _in(db, sql, segment_ids)}
