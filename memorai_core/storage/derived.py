"""What is derived from turns: segments, entities, triplets and vectors. Saved, invalidated and forgotten here."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memorai_core import identity
from memorai_core.models import SegmentMemory, SessionMemory, TripletDraft
from memorai_core.reports import ForgetReport
from memorai_core.storage.users import bump

STORED = np.dtype("<f2")
"""Vectors are stored in half precision: a cosine moves by less than 0.0005, and the file is half as large."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Turns of one session that are analysed together, as planned by `storage.planning`."""

    user: int
    session: int
    user_id: str
    session_id: str
    turns: tuple[int, ...]
    turn_ids: tuple[str, ...]
    revisions: tuple[int, ...]
    """Of each turn, when it was read: a save is refused where one has moved on since."""
    open_segment: int | None
    """The segment whose turns lead the stretch, to be replaced."""
    at_end: bool
    """Whether the stretch reaches the session's end, so that its last segment stays open."""


@dataclass(slots=True)
class _Rows:
    """Row numbers met or made while one stretch is saved."""

    turns: Mapping[str, int]
    texts: Mapping[str, int]
    entities: dict[str, int] = field(default_factory=dict)
    new_entities: int = 0


def save(
    db: sqlite3.Connection,
    stretch: Stretch,
    memory: SessionMemory,
    turn_texts: Sequence[str],
    vectors: Mapping[bytes, np.ndarray],
) -> int | None:
    """Stores a stretch's memory and gives how many entities are new; None, and nothing stored, where its turns have changed
    or a text that was stored when `vectors` were made has been forgotten since.

    `vectors` holds, by text key, the (windows, dimension) array of each text that is not stored yet.
    """
    keys = identity.text_keys([*turn_texts, *derived_texts(memory)])
    if not _unchanged(db, stretch) or not _at_hand(db, stretch.user, keys.values(), vectors):
        return None
    revision = bump(db, stretch.user)
    replaced: list[int] = []
    if stretch.open_segment is not None:
        replaced = entities_of(db, stretch.open_segment)
        invalidate(db, stretch.user, stretch.open_segment, revision)
    rows = _Rows(dict(zip(stretch.turn_ids, stretch.turns, strict=True)), save_texts(db, stretch.user, keys, vectors))
    segments = [_save_segment(db, stretch, segment, rows, stretch.at_end and segment is memory.segments[-1]) for segment in memory.segments]
    _save_turns(db, memory, dict(zip(stretch.turn_ids, turn_texts, strict=True)), segments, rows, revision)
    _save_entities(db, stretch, _names(memory), rows)
    _save_claims(db, stretch, memory, segments, rows)
    return rows.new_entities - sweep_entities(db, stretch.user, replaced)


def derived_texts(memory: SessionMemory) -> list[str]:
    """Every text of a session's memory that is embedded, in order: summaries, descriptions, triplet descriptions."""
    texts: list[str] = []
    for segment in memory.segments:
        texts += [segment.summary] if segment.summary else []
        texts += [entity.description for entity in segment.entities]
        texts += [triplet.description for triplet in segment.triplets]
    return texts


def stored_texts(db: sqlite3.Connection, user: int, keys: Iterable[bytes]) -> dict[bytes, int]:
    """The row of each text that is stored already, by key."""
    found: dict[bytes, int] = {}
    wanted = list(keys)
    for start in range(0, len(wanted), 500):
        part = wanted[start : start + 500]
        marks = ",".join("?" * len(part))
        found.update(db.execute(f"SELECT key, text FROM texts WHERE user = ? AND key IN ({marks})", (user, *part)).fetchall())
    return found


def stored_vectors(db: sqlite3.Connection, rows: Sequence[int], dimension: int) -> dict[int, np.ndarray]:
    """The (windows, dimension) float32 vectors of texts, by row."""
    found: dict[int, np.ndarray] = {}
    for start in range(0, len(rows), 500):
        part = rows[start : start + 500]
        marks = ",".join("?" * len(part))
        for row, blob in db.execute(f"SELECT text, vectors FROM texts WHERE text IN ({marks})", part):
            found[row] = np.frombuffer(blob, STORED).astype(np.float32).reshape(-1, dimension)
    return found


def invalidate(db: sqlite3.Connection, user: int, segment: int, revision: int) -> None:
    """Takes back all that was derived from a segment and makes its turns pending; entities are left to `sweep_entities`."""
    db.execute("DELETE FROM descriptions WHERE segment = ?", (segment,))
    db.execute("DELETE FROM triplets WHERE segment = ?", (segment,))
    db.execute("UPDATE turns SET segment = NULL, kept = NULL, revision = ? WHERE segment = ?", (revision, segment))
    db.execute("DELETE FROM segments WHERE segment = ?", (segment,))


def sweep_entities(db: sqlite3.Connection, user: int, entities: Iterable[int]) -> int:
    """Deletes those of the given entities that nothing speaks of any more."""
    unused = """DELETE FROM entities WHERE entity = ? AND user = ?
        AND NOT EXISTS (SELECT 1 FROM triplets WHERE subject = entity)
        AND NOT EXISTS (SELECT 1 FROM triplets WHERE object = entity)
        AND NOT EXISTS (SELECT 1 FROM descriptions d WHERE d.entity = entities.entity)"""
    return sum(db.execute(unused, (entity, user)).rowcount for entity in set(entities))


def sweep(db: sqlite3.Connection, user: int) -> ForgetReport:
    """Deletes every entity and text of a user that nothing points at any more; gives their counts."""
    entities = [row[0] for row in db.execute("SELECT entity FROM entities WHERE user = ?", (user,))]
    gone = sweep_entities(db, user, entities)
    vectors = db.execute(
        """DELETE FROM texts WHERE user = :user AND text NOT IN (
            SELECT text FROM turns WHERE user = :user AND text IS NOT NULL
            UNION SELECT text FROM segments WHERE user = :user AND text IS NOT NULL
            UNION SELECT text FROM descriptions WHERE user = :user
            UNION SELECT text FROM triplets WHERE user = :user)""",
        {"user": user},
    ).rowcount
    return ForgetReport(entities=gone, vectors=vectors)


def _unchanged(db: sqlite3.Connection, stretch: Stretch) -> bool:
    if stretch.open_segment is not None:
        row = db.execute("SELECT open FROM segments WHERE segment = ?", (stretch.open_segment,)).fetchone()
        if row is None or not row[0]:
            return False
    found = dict(
        db.execute(
            "SELECT turn, revision FROM turns WHERE session = ? AND turn >= ? AND turn <= ?",
            (stretch.session, min(stretch.turns), max(stretch.turns)),
        ).fetchall()
    )
    return all(found.get(turn) == revision for turn, revision in zip(stretch.turns, stretch.revisions, strict=True))


def _at_hand(db: sqlite3.Connection, user: int, keys: Iterable[bytes], vectors: Mapping[bytes, np.ndarray]) -> bool:
    needed = set(keys) - vectors.keys()
    return len(stored_texts(db, user, needed)) == len(needed)


def entities_of(db: sqlite3.Connection, segment: int) -> list[int]:
    """The entities that a segment speaks of."""
    rows = db.execute(
        """SELECT subject FROM triplets WHERE segment = :segment UNION SELECT object FROM triplets WHERE segment = :segment
        UNION SELECT entity FROM descriptions WHERE segment = :segment""",
        {"segment": segment},
    )
    return [row[0] for row in rows]


def save_texts(db: sqlite3.Connection, user: int, keys: Mapping[str, bytes], vectors: Mapping[bytes, np.ndarray]) -> dict[str, int]:
    """Stores those texts, given with their keys, that `vectors` has; gives the row of each that is stored then."""
    db.executemany(
        "INSERT INTO texts (user, key, body, vectors) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [(user, key, body, vectors[key].astype(STORED).tobytes()) for body, key in keys.items() if key in vectors],
    )
    rows = stored_texts(db, user, keys.values())
    return {body: rows[key] for body, key in keys.items() if key in rows}


def _save_segment(db: sqlite3.Connection, stretch: Stretch, memory: SegmentMemory, rows: _Rows, is_open: bool) -> tuple[int, str]:
    """Stores a segment, and gives its row and its id."""
    segment_id = identity.segment_id(stretch.user_id, stretch.session_id, memory.turn_ids)
    summary = rows.texts[memory.summary] if memory.summary else None
    segment = db.execute(
        """INSERT INTO segments (user, session, segment_id, text, summary, made_by, open) VALUES (?, ?, ?, ?, ?, ?, ?)""",
        (stretch.user, stretch.session, segment_id, summary, memory.summary, memory.made_by, is_open),
    ).lastrowid
    assert segment is not None
    return segment, segment_id


def _save_turns(
    db: sqlite3.Connection,
    memory: SessionMemory,
    text_of: Mapping[str, str],
    segments: Sequence[tuple[int, str]],
    rows: _Rows,
    revision: int,
) -> None:
    db.executemany(
        "UPDATE turns SET segment = ?, kept = ?, text = ?, revision = ? WHERE turn = ?",
        [
            (segment, turn_id in of_segment.kept, rows.texts.get(text_of[turn_id]), revision, rows.turns[turn_id])
            for (segment, _), of_segment in zip(segments, memory.segments, strict=True)
            for turn_id in of_segment.turn_ids
        ],
    )


def _names(memory: SessionMemory) -> dict[str, str]:
    """The name of each entity that a session's memory speaks of, by what it is known by; the first segment's stands."""
    names: dict[str, str] = {}
    for segment in memory.segments:
        ends = {entity.name: entity.name for entity in segment.entities} | {t.subject: t.subject for t in segment.triplets}
        for key, name in (ends | {_object_key(t): t.object for t in segment.triplets}).items():
            names.setdefault(key, name)
    return names


def _object_key(triplet: TripletDraft) -> str:
    return triplet.object_key or triplet.object


def _save_entities(db: sqlite3.Connection, stretch: Stretch, names: Mapping[str, str], rows: _Rows) -> None:
    """Finds or makes the entity of each key; one that is made takes the name given with it."""
    ids = {key: identity.entity_id(stretch.user_id, key) for key in names}
    known = _entity_rows(db, stretch.user, ids.values())
    new = {entity_id: " ".join(names[key].split()) for key, entity_id in reversed(ids.items()) if entity_id not in known}
    db.executemany(
        "INSERT INTO entities (user, entity_id, name) VALUES (?, ?, ?)",
        [(stretch.user, entity_id, name) for entity_id, name in reversed(new.items())],
    )
    rows.new_entities += len(new)
    known |= _entity_rows(db, stretch.user, new)
    rows.entities.update((key, known[entity_id]) for key, entity_id in ids.items())


def _entity_rows(db: sqlite3.Connection, user: int, entity_ids: Iterable[str]) -> dict[str, int]:
    sql = "SELECT entity_id, entity FROM entities WHERE user = ? AND entity_id IN (SELECT value FROM json_each(?))"
    return dict(db.execute(sql, (user, json.dumps(list(entity_ids)))).fetchall())


def _save_claims(db: sqlite3.Connection, stretch: Stretch, memory: SessionMemory, segments: Sequence[tuple[int, str]], rows: _Rows) -> None:
    placed = list(zip(segments, memory.segments, strict=True))
    described = [(segment, entity) for (segment, _), of_segment in placed for entity in of_segment.entities]
    related = {
        identity.triplet_id(stretch.user_id, segment_id, t.subject, t.relation, t.object, t.description, *t.source_turns): (segment, t)
        for (segment, segment_id), of_segment in placed
        for t in of_segment.triplets
    }
    first = _insert(
        db, "descriptions", "description, user, segment, entity, text",
        [(stretch.user, segment, rows.entities[entity.name], rows.texts[entity.description]) for segment, entity in described],
    )  # fmt: skip
    _link(db, "description_turns", first, [entity.turn_ids for _, entity in described], rows)
    first = _insert(
        db, "triplets", "triplet, user, segment, triplet_id, subject, relation, object, text, origin, made_by",
        [
            (
                stretch.user, segment, triplet_id, rows.entities[t.subject], t.relation, rows.entities[_object_key(t)],
                rows.texts[t.description], t.origin, t.made_by,
            )
            for triplet_id, (segment, t) in related.items()
        ],
    )  # fmt: skip
    _link(db, "triplet_turns", first, [t.source_turns for _, t in related.values()], rows)


def _insert(db: sqlite3.Connection, table: str, columns: str, values: Sequence[tuple[object, ...]]) -> int:
    """Inserts rows under numbers that follow on all ever given, and gives the first of these."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    first = (int(row[0]) if row else 0) + 1
    marks = ", ".join("?" * (columns.count(",") + 1))
    db.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", [(first + n, *row) for n, row in enumerate(values)])
    return first


def _link(db: sqlite3.Connection, table: str, first: int, cited: Sequence[Sequence[str]], rows: _Rows) -> None:
    links = [(first + n, rows.turns[turn_id]) for n, turn_ids in enumerate(cited) for turn_id in dict.fromkeys(turn_ids)]
    db.executemany(f"INSERT INTO {table} VALUES (?, ?)", links)
