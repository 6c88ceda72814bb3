"""How a snapshot is loaded from the store, and brought up to date with what was written since."""

import sqlite3

import numpy as np

from memorai_core.retrieval import lexical
from memorai_core.retrieval.arrays import offsets
from memorai_core.retrieval.snapshot import Claims, Entities, Segments, Snapshot, Texts, Turns
from memorai_core.storage import loading
from memorai_core.storage.loading import ClaimRows, TurnRows, Version


def load(db: sqlite3.Connection, version: Version) -> Snapshot:
    """Reads all of a user's memory."""
    return caught_up(db, _empty(version), version)


def caught_up(db: sqlite3.Connection, old: Snapshot, version: Version) -> Snapshot:
    """A snapshot of the store as it is now, made of an older one of the same generation and the rows written since."""
    user = version.user
    texts = _texts(old.texts, loading.texts_after(db, user, _last(old.texts.row), old.texts.vectors.shape[1]))
    segments = _segments(old.segments, loading.segments_after(db, user, _last(old.segments.row)), loading.live_segments(db, user), texts)
    new_entities = loading.entities_after(db, user, _last(old.entities.row))
    entities = Entities(*(np.concatenate(pair) for pair in zip((old.entities.row, old.entities.node_id), new_entities, strict=True)))
    changed = loading.turns_since(db, user, old.version.revision)
    turns, postings = _turns(old, changed, segments, texts)
    triplets = loading.triplets_after(db, user, old.last_triplet)
    descriptions = loading.descriptions_after(db, user, old.last_description)
    claims = _still_claimed(old, segments)
    for rows, bound in ((triplets, True), (descriptions, False)):
        claims = _with_claims(claims, rows, bound, turns, segments, entities, texts)
    snapshot = Snapshot(
        version, texts, turns, segments, entities, claims, postings,
        max(old.last_triplet, _last(triplets.row)), max(old.last_description, _last(descriptions.row)),
    )  # fmt: skip
    if claims is old.claims and len(segments.row) == len(old.segments.row) and len(entities.row) == len(old.entities.row):
        snapshot.take_edges(old)
    return snapshot


def _texts(old: Texts, new: loading.TextRows) -> Texts:
    if len(new.row) == 0:
        return old
    start = np.concatenate([old.start, old.start[-1] + np.cumsum(new.windows)]).astype(np.int32)
    return Texts(np.concatenate([old.row, new.row]), start, _grown(old.vectors, new.vectors))


def _grown(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The rows of both; where the old ones' buffer has room behind them, the new ones are written there and nothing is copied.

    Older snapshots see their own rows of the buffer alone. Only the newest one grows it, under the cache's lock.
    """
    if len(old) == 0:
        return new
    size = len(old) + len(new)
    buffer = old.base
    if not isinstance(buffer, np.ndarray) or buffer.shape[1:] != old.shape[1:] or len(buffer) < size:
        buffer = np.empty((size + size // 8, old.shape[1]), np.float32)
        buffer[: len(old)] = old
    buffer[len(old) : size] = new
    return buffer[:size]


def _segments(old: Segments, new: loading.SegmentRows, live: np.ndarray, texts: Texts) -> Segments:
    row = np.concatenate([old.row, new.row])
    keep = np.isin(row, live, assume_unique=True)
    return Segments(
        row[keep], np.concatenate([old.node_id, new.node_id])[keep],
        np.concatenate([old.text, _places(texts.row, new.text)])[keep],
    )  # fmt: skip


def _turns(old: Snapshot, changed: TurnRows, segments: Segments, texts: Texts) -> tuple[Turns, lexical.Postings]:
    """The turns with their changed rows in place and the new ones behind, and their postings."""
    known = len(old.turns.row)
    fresh = int(np.searchsorted(changed.row, _last(old.turns.row), side="right"))
    at = np.searchsorted(old.turns.row, changed.row[:fresh])
    old_segment = _moved(old.segments.row, segments.row)[old.turns.segment]

    def merged(before: np.ndarray, after: np.ndarray) -> np.ndarray:
        whole = np.concatenate([before, after[fresh:].astype(before.dtype, copy=False)])
        whole[at] = after[:fresh]
        return whole

    turns = Turns(
        merged(old.turns.row, changed.row), merged(old.turns.node_id, changed.node_id), merged(old.turns.session, changed.session),
        merged(old.turns.position, changed.position), merged(old.turns.timestamp, changed.timestamp),
        merged(old_segment, _places(segments.row, changed.segment)), merged(old.turns.kept, changed.kept),
        merged(old.turns.text, _places(texts.row, changed.text)),
    )  # fmt: skip
    first = int(changed.term_ends[fresh - 1]) if fresh else 0
    new_terms = (changed.term_hashes[first:], changed.term_counts[first:], changed.term_ends[fresh:] - first)
    if known == 0:
        return turns, lexical.of_turns(*new_terms)
    return turns, lexical.with_turns(old.postings, *new_terms) if len(changed.row) > fresh else old.postings


def _still_claimed(old: Snapshot, segments: Segments) -> Claims:
    """The old claims whose segment still is, with segments numbered anew."""
    claims = old.claims
    if np.array_equal(old.segments.row, segments.row[: len(old.segments.row)]):
        return claims
    segment = _moved(old.segments.row, segments.row)[claims.segment]
    keep = segment >= 0
    lengths = np.diff(claims.start)
    return Claims(
        segment[keep], claims.subject[keep], claims.object[keep], claims.text[keep],
        offsets(lengths[keep]).astype(np.int32), claims.source[np.repeat(keep, lengths)],
    )  # fmt: skip


def _with_claims(
    claims: Claims, rows: ClaimRows, bound: bool, turns: Turns, segments: Segments, entities: Entities, texts: Texts
) -> Claims:
    if len(rows.row) == 0:
        return claims
    lengths = np.bincount(np.searchsorted(rows.row, rows.source_claim), minlength=len(rows.row))
    ends = _places(entities.row, rows.object) if bound else np.full(len(rows.row), -1)
    new = (_places(segments.row, rows.segment), _places(entities.row, rows.subject), ends, _places(texts.row, rows.text))
    old = (claims.segment, claims.subject, claims.object, claims.text)
    segment, subject, object_, text = (np.concatenate(pair).astype(np.int32) for pair in zip(old, new, strict=True))
    start = np.concatenate([claims.start, claims.start[-1] + np.cumsum(lengths)]).astype(np.int32)
    return Claims(segment, subject, object_, text, start, np.concatenate([claims.source, _places(turns.row, rows.source_turn)]))


def _places(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where the wanted rows stand among sorted ones, int32; -1 for row 0, which stands for none."""
    places = np.searchsorted(rows, wanted).astype(np.int32)
    places[wanted == 0] = -1
    return places


def _moved(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The new number of each old row, -1 where it is gone; one more -1 at the end, for number -1."""
    places = np.searchsorted(new, old)
    there = places < len(new)
    there[there] = new[places[there]] == old[there]
    return np.append(np.where(there, places, -1), -1).astype(np.int32)


def _last(rows: np.ndarray) -> int:
    return int(rows[-1]) if len(rows) else 0


def _empty(version: Version) -> Snapshot:
    def none(dtype: object = np.int32) -> np.ndarray:
        return np.empty(0, dtype)  # type: ignore[call-overload,no-any-return]

    nothing = Version(version.user, -1, version.generation, version.dimension)
    wide, node_id = np.int64, loading.NODE_ID
    start = np.zeros(1, np.int32)
    return Snapshot(
        nothing,
        Texts(none(wide), start, np.empty((0, version.dimension), np.float32)),
        Turns(none(wide), none(node_id), none(), none(), none(wide), none(), none(bool), none()),
        Segments(none(wide), none(node_id), none()),
        Entities(none(wide), none(node_id)),
        Claims(none(), none(), none(), none(), start, none()),
        lexical.of_turns(none(np.uint64), none(np.uint16), none(wide)),
        0, 0,
    )  # fmt: skip
