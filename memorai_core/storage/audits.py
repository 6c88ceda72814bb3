"""Looking one thing up by its id or the start of it."""

import sqlite3
from collections.abc import Sequence
from typing import Literal

from memorai_core.errors import UnknownIdError
from memorai_core.models import Entity, Segment, Triplet, Turn
from memorai_core.reports import Audit
from memorai_core.storage.reading import column, entities_by_row, segments_by_id, triplets_by_row, turns_by_row

Kind = Literal["turn", "segment", "entity", "triplet"]
_TABLES: tuple[tuple[Kind, str], ...] = (("turn", "turns"), ("segment", "segments"), ("entity", "entities"), ("triplet", "triplets"))
_SHOWN = 10
"""Candidates named when a prefix fits several ids."""


def audit(db: sqlite3.Connection, prefix: str, user_id: str | None) -> Audit:
    """The thing whose id starts with `prefix`. Raises UnknownIdError where there is none, or more than one."""
    wanted = str(prefix).strip().lower()
    if not wanted or set(wanted) - set("0123456789abcdef"):
        raise UnknownIdError(f"{prefix!r} is not an id: ids are hex digits, as printed by search, explain and export")
    found: list[tuple[Kind, int, str]] = []
    for kind, table in _TABLES:
        sql = f"""SELECT {kind}, {kind}_id FROM {table} JOIN users USING (user)
            WHERE {kind}_id >= ?1 AND {kind}_id < ?1 || 'g' AND (?2 IS NULL OR user_id = ?2) LIMIT {_SHOWN}"""
        found += [(kind, row, full) for row, full in db.execute(sql, (wanted, user_id))]
    if len(found) != 1:
        which = ", ".join(f"{kind} {full}" for kind, _, full in found[:_SHOWN])
        raise UnknownIdError(f"several ids start with {prefix!r}: {which}; give more digits" if found else f"nothing has the id {prefix!r}")
    kind, row, _ = found[0]
    return _audit(db, kind, row)


def _audit(db: sqlite3.Connection, kind: Kind, row: int) -> Audit:
    turns_sql, triplets_sql = _RELATED[kind]
    turns = turns_by_row(db, column(db, turns_sql, row))
    triplet_rows = column(db, triplets_sql, row)
    triplets = triplets_by_row(db, triplet_rows)
    ends = "SELECT subject FROM triplets WHERE triplet = ?1 UNION SELECT object FROM triplets WHERE triplet = ?1"
    entity_rows = {end for triplet in triplet_rows for end in column(db, ends, triplet)} | set(column(db, _DESCRIBED[kind], row))
    entities = entities_by_row(db, sorted(entity_rows))
    table = dict(_TABLES)[kind]
    user, user_id = db.execute(f"SELECT user, user_id FROM {table} JOIN users USING (user) WHERE {kind} = ?", (row,)).fetchone()
    segment_sql = f"SELECT segment_id FROM segments WHERE segment = (SELECT segment FROM {table} WHERE {kind} = ?)"
    segment_ids = [] if kind == "entity" else column(db, segment_sql, row)
    segment = next(iter(segments_by_id(db, user, segment_ids)), None)
    subjects: dict[Kind, Sequence[Turn | Segment | Entity | Triplet]] = {
        "turn": turns, "segment": [segment] if segment else [], "entity": entities_by_row(db, [row]), "triplet": triplets,
    }  # fmt: skip
    return Audit(user_id, kind, subjects[kind][0], segment, tuple(turns), tuple(triplets), tuple(entities))


_CITED = "(SELECT triplet FROM triplets WHERE subject = ?1 UNION SELECT triplet FROM triplets WHERE object = ?1)"
_RELATED: dict[Kind, tuple[str, str]] = {
    "turn": ("SELECT ?1", "SELECT triplet FROM triplet_turns WHERE turn = ?1 ORDER BY triplet"),
    "segment": (
        "SELECT turn FROM turns WHERE segment = ?1 ORDER BY position",
        "SELECT triplet FROM triplets WHERE segment = ?1 ORDER BY triplet",
    ),
    "entity": (
        f"""SELECT turn FROM triplet_turns WHERE triplet IN {_CITED}
        UNION SELECT turn FROM description_turns JOIN descriptions USING (description) WHERE entity = ?1 ORDER BY 1""",
        f"SELECT triplet FROM triplets WHERE triplet IN {_CITED} ORDER BY triplet",
    ),
    "triplet": ("SELECT turn FROM triplet_turns JOIN turns USING (turn) WHERE triplet = ?1 ORDER BY position", "SELECT ?1"),
}
_DESCRIBED: dict[Kind, str] = {
    "turn": "SELECT entity FROM descriptions JOIN description_turns USING (description) WHERE turn = ?",
    "segment": "SELECT entity FROM descriptions WHERE segment = ?",
    "entity": "SELECT entity FROM entities WHERE entity = ?",
    "triplet": "SELECT subject FROM triplets WHERE triplet = ?",
}
