"""What a reader's snapshot is made of: a user's rows as flat arrays, all of them or those since a revision."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from memorai_core.storage.derived import STORED
from memorai_core.terms import COUNT, HASH

NEVER = np.iinfo(np.int64).min
"""Stands for a missing timestamp."""
NODE_ID = np.dtype("V16")
PROBE = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class Version:
    """How far a user's memory has come: `generation` moves when rows were taken away that a reader may hold."""

    user: int
    revision: int
    generation: int
    dimension: int
    """Of the user's vectors; 0 while there are none."""


@dataclass(frozen=True, slots=True)
class TurnRows:
    """Turns as columns, each of shape (turns,); `terms` are flat, with `term_ends` where each turn's end."""

    row: np.ndarray
    node_id: np.ndarray
    session: np.ndarray
    position: np.ndarray
    timestamp: np.ndarray
    segment: np.ndarray
    """Segment row, or 0 while pending."""
    kept: np.ndarray
    text: np.ndarray
    """Text row, or 0 for a turn without vector."""
    term_hashes: np.ndarray
    term_counts: np.ndarray
    term_ends: np.ndarray


@dataclass(frozen=True, slots=True)
class SegmentRows:
    """Segments as columns."""

    row: np.ndarray
    node_id: np.ndarray
    text: np.ndarray


@dataclass(frozen=True, slots=True)
class ClaimRows:
    """Triplets, or entity descriptions (with `subject` alone), as columns; a claim's sources are a pair of columns."""

    row: np.ndarray
    segment: np.ndarray
    subject: np.ndarray
    object: np.ndarray
    text: np.ndarray
    source_claim: np.ndarray
    source_turn: np.ndarray


@dataclass(frozen=True, slots=True)
class TextRows:
    """Embedded texts: `vectors` is (windows of all texts, dimension) float32, `windows` how many each text has."""

    row: np.ndarray
    windows: np.ndarray
    vectors: np.ndarray


def version(db: sqlite3.Connection, user_id: str) -> Version | None:
    """How far a user's memory has come, or None where the store holds nothing of them."""
    row = db.execute("SELECT user, revision, generation, coalesce(length(probe), 0) FROM users WHERE user_id = ?", (user_id,)).fetchone()
    return None if row is None else Version(row[0], row[1], row[2], row[3] // PROBE.itemsize)


def turns_since(db: sqlite3.Connection, user: int, revision: int) -> TurnRows:
    """The turns of a user that changed after a revision, in order of arrival."""
    rows = db.execute(
        """SELECT turn, turn_id, session, position, timestamp, segment, kept, text, term_hashes, term_counts FROM turns
        WHERE user = ? AND revision > ? ORDER BY turn""",
        (user, revision),
    ).fetchall()
    row, node, session, position, timestamp, segment, kept, text, hashes, counts = _columns(rows, 10)
    lengths = np.fromiter((len(blob) // HASH.itemsize for blob in hashes), np.int64, len(rows))
    return TurnRows(
        _integers(row), _node_ids(node), _integers(session), _integers(position),
        np.fromiter((NEVER if moment is None else moment for moment in timestamp), np.int64, len(rows)),
        _integers(segment), np.fromiter((value != 0 for value in kept), bool, len(rows)), _integers(text),
        np.frombuffer(b"".join(hashes), HASH), np.frombuffer(b"".join(counts), COUNT), np.cumsum(lengths),
    )  # fmt: skip


def segments_after(db: sqlite3.Connection, user: int, row: int) -> SegmentRows:
    """The segments of a user made after a row."""
    rows = db.execute("SELECT segment, segment_id, text FROM segments WHERE user = ? AND segment > ? ORDER BY segment", (user, row))
    segment, node, text = _columns(rows.fetchall(), 3)
    return SegmentRows(_integers(segment), _node_ids(node), _integers(text))


def live_segments(db: sqlite3.Connection, user: int) -> np.ndarray:
    """The rows of all segments that a user has now."""
    return _integers([row[0] for row in db.execute("SELECT segment FROM segments WHERE user = ? ORDER BY segment", (user,))])


def triplets_after(db: sqlite3.Connection, user: int, row: int) -> ClaimRows:
    """The triplets of a user made after a row, with their sources."""
    claims = "SELECT triplet, segment, subject, object, text FROM triplets WHERE user = ? AND triplet > ? ORDER BY triplet"
    sources = """SELECT triplet, turn FROM triplets JOIN triplet_turns USING (triplet)
        WHERE user = ? AND triplet > ? ORDER BY triplet, turn"""
    return ClaimRows(*_numbers(db, claims, 5, user, row), *_numbers(db, sources, 2, user, row))


def descriptions_after(db: sqlite3.Connection, user: int, row: int) -> ClaimRows:
    """The entity descriptions of a user made after a row, with their sources; `object` is the entity once more."""
    claims = """SELECT description, segment, entity, entity, text FROM descriptions
        WHERE user = ? AND description > ? ORDER BY description"""
    sources = """SELECT description, turn FROM descriptions JOIN description_turns USING (description)
        WHERE user = ? AND description > ? ORDER BY description, turn"""
    return ClaimRows(*_numbers(db, claims, 5, user, row), *_numbers(db, sources, 2, user, row))


def entities_after(db: sqlite3.Connection, user: int, row: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows and node ids of a user's entities made after a row."""
    rows = db.execute("SELECT entity, entity_id FROM entities WHERE user = ? AND entity > ? ORDER BY entity", (user, row)).fetchall()
    entity, node = _columns(rows, 2)
    return _integers(entity), _node_ids(node)


def texts_after(db: sqlite3.Connection, user: int, row: int, dimension: int) -> TextRows:
    """The embedded texts of a user made after a row."""
    rows = db.execute("SELECT text, vectors FROM texts WHERE user = ? AND text > ? ORDER BY text", (user, row)).fetchall()
    text, blobs = _columns(rows, 2)
    size = dimension * STORED.itemsize
    windows = np.fromiter((len(blob) // size for blob in blobs), np.int32, len(rows))
    vectors = np.frombuffer(b"".join(blobs), STORED).astype(np.float32).reshape(int(windows.sum()), dimension)
    return TextRows(_integers(text), windows, vectors)


def _numbers(db: sqlite3.Connection, sql: str, columns: int, *values: int) -> np.ndarray:
    """A query's rows of whole numbers, as (columns, rows)."""
    flat = np.fromiter(chain.from_iterable(db.execute(sql, values)), np.int64)
    return np.ascontiguousarray(flat.reshape(-1, columns).T)


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * count


def _integers(values: Iterable[int | None]) -> np.ndarray:
    return np.array([value or 0 for value in values], np.int64)


def _node_ids(values: Sequence[str]) -> np.ndarray:
    return np.frombuffer(bytes.fromhex("".join(values)), NODE_ID)
