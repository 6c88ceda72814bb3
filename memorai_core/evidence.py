"""A ranking as evidence: the turns' rows, the triplets that cite them, their segments (§3.3.2)."""

import sqlite3
from collections import defaultdict
from datetime import datetime

import numpy as np

from memorai_core.errors import UnknownSessionError
from memorai_core.models import Evidence, EvidenceSegment, EvidenceTurn, Triplet, Turn
from memorai_core.retrieval import Ranking
from memorai_core.retrieval.snapshot import Snapshot
from memorai_core.storage.reading import column, later_segments, later_turns, summaries, triplets_citing, turns_by_row
from memorai_core.storage.turns import microseconds


def allowed_turns(
    db: sqlite3.Connection, snapshot: Snapshot, user_id: str, session_id: str | None, as_of: datetime | None
) -> np.ndarray | None:
    """A mask over the snapshot's turns for the filters of `retrieve`, or None without any. Raises UnknownSessionError."""
    if session_id is None and as_of is None:
        return None
    allowed = np.ones(len(snapshot.turns.row), bool)
    if session_id is not None:
        session = column(db, "SELECT session FROM sessions WHERE user = ? AND session_id = ?", snapshot.version.user, session_id)
        if not session:
            raise UnknownSessionError(f"user {user_id!r} has no session {session_id!r}")
        allowed &= snapshot.turns.session == session[0]
    if as_of is not None:
        allowed &= snapshot.turns.timestamp <= microseconds(as_of)
    return allowed


def evidence_of(db: sqlite3.Connection, snapshot: Snapshot, ranking: Ranking, query: str, user_id: str, as_of: datetime | None) -> Evidence:
    """The evidence for a ranking; triplets and summaries that also rest on a turn later than `as_of` are left out."""
    rows = snapshot.turns.row[ranking.turns].tolist()
    turns = turns_by_row(db, rows)
    triplets = triplets_citing(db, rows)
    held = dict.fromkeys((turn.segment_id, turn.session_id) for turn in turns if turn.segment_id)
    summary = summaries(db, snapshot.version.user, [segment_id for segment_id, _ in held if segment_id])
    if as_of is not None:
        user, moment = snapshot.version.user, microseconds(as_of)
        late_turns = later_turns(db, user, moment, {turn_id for triplet in triplets for turn_id in triplet.source_turns})
        late_segments = later_segments(db, user, moment, summary)
        triplets = [triplet for triplet in triplets if late_turns.isdisjoint(triplet.source_turns)]
        summary = {segment: text for segment, text in summary.items() if segment not in late_segments}
    citing: dict[str, list[Triplet]] = defaultdict(list)
    for triplet in triplets:
        for turn_id in triplet.source_turns:
            citing[turn_id].append(triplet)
    graph_turns = len(rows) - ranking.filled
    found = tuple(
        _evidence_turn(turn, float(score), number >= graph_turns, tuple(citing[turn.turn_id]))
        for number, (turn, score) in enumerate(zip(turns, ranking.scores, strict=True))
    )
    ranked = {triplet.triplet_id: triplet for turn in found for triplet in turn.triplets}
    segments = tuple(EvidenceSegment(segment, session, summary.get(segment, "")) for segment, session in held if segment)
    return Evidence(query, user_id, found, tuple(ranked.values()), segments, ranking.trace)


def _evidence_turn(turn: Turn, score: float, filled: bool, triplets: tuple[Triplet, ...]) -> EvidenceTurn:
    return EvidenceTurn(
        turn.turn_id, turn.source_id, turn.session_id, turn.segment_id, turn.position, turn.role, turn.speaker, turn.text,
        turn.timestamp, turn.timestamp_inferred, turn.kept, score, filled, triplets,
    )  # fmt: skip
