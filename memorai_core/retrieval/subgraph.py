"""G_q, §3.3.1: the seeds and everything one hop away, at most `fanout` neighbours a seed (ours)."""

from dataclasses import dataclass

import numpy as np

from memorai_core.retrieval.arrays import largest_of_each, members
from memorai_core.retrieval.seeds import Seeds
from memorai_core.retrieval.similarity import Similarities
from memorai_core.retrieval.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The nodes of G_q by kind, sorted."""

    turns: np.ndarray
    entities: np.ndarray
    segments: np.ndarray


def whole_graph(snapshot: Snapshot, found: Similarities) -> Subgraph:
    """Every node that no filter refuses."""
    allowed = np.flatnonzero(found.allowed)
    return Subgraph(
        allowed, np.unique(snapshot.mentions.tail[found.allowed[snapshot.mentions.head]]),
        np.unique(snapshot.turns.segment[allowed[snapshot.turns.segment[allowed] >= 0]]),
    )  # fmt: skip


def subgraph(
    snapshot: Snapshot, found: Similarities, seeds: Seeds, turn_score: np.ndarray, *, fanout: int | None, adjacent: bool
) -> Subgraph:
    """G_q around the seeds. A seed's neighbours are ranked by their own nearness to the query: `turn_score` for turns."""
    turns = [
        seeds.turns,
        _chosen(*_turns_of_entities(snapshot, seeds.entities), turn_score, fanout),
        _chosen(*_turns_of_segments(snapshot, seeds.segments), turn_score, fanout),
    ]
    if adjacent:
        turns += [snapshot.following[seeds.turns], snapshot.preceding[seeds.turns]]
    entities = [
        seeds.entities,
        _chosen(*_entities_of_turns(snapshot, seeds.turns), found.entity, fanout),
        _chosen(*_objects_of(snapshot, seeds.entities), found.entity, fanout),
        _chosen(*_subjects_of(snapshot, seeds.entities), found.entity, fanout),
    ]
    segments = [seeds.segments, snapshot.turns.segment[seeds.turns]]
    inside = _distinct(turns)
    return Subgraph(inside[found.allowed[inside]], _distinct(entities), _distinct(segments))


def _turns_of_entities(snapshot: Snapshot, entities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    starts, places = snapshot.mentioned_by
    at, owner = members(starts, entities)
    return snapshot.mentions.head[places[at]], owner


def _turns_of_segments(snapshot: Snapshot, segments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    starts, turns = snapshot.turns_of_segment
    at, owner = members(starts, segments)
    return turns[at], owner


def _entities_of_turns(snapshot: Snapshot, turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at, owner = members(snapshot.mentions.start, turns)
    return snapshot.mentions.tail[at], owner


def _objects_of(snapshot: Snapshot, entities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at, owner = members(snapshot.relations.start, entities)
    return snapshot.relations.tail[at], owner


def _subjects_of(snapshot: Snapshot, entities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    starts, places = snapshot.related_by
    at, owner = members(starts, entities)
    return snapshot.relations.head[places[at]], owner


def _chosen(neighbours: np.ndarray, owner: np.ndarray, nearness: np.ndarray, fanout: int | None) -> np.ndarray:
    best: np.ndarray = neighbours[largest_of_each(owner, nearness[neighbours], fanout)]
    return best


def _distinct(parts: list[np.ndarray]) -> np.ndarray:
    whole = np.unique(np.concatenate(parts))
    return whole[whole >= 0]
