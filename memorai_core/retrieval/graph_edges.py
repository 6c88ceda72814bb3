"""The edges within G_q and their weights, gathered for PageRank."""

from dataclasses import dataclass

import numpy as np

from memorai_core.retrieval.arrays import members
from memorai_core.retrieval.similarity import Similarities
from memorai_core.retrieval.snapshot import Snapshot
from memorai_core.retrieval.subgraph import Subgraph
from memorai_core.retrieval.weights import claim_weights, mean_of_entities, neighbour_weights
from memorai_core.settings import Settings

BACKWARD = 0.25
"""Of `Settings.adjacency`, how much goes to the turn before: answers follow questions."""


@dataclass(frozen=True, slots=True)
class WeightedEdges:
    """Directed edges between G_q's nodes, numbered turns first, then entities, then segments."""

    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray


def weighted_edges(snapshot: Snapshot, found: Similarities, graph: Subgraph, settings: Settings) -> WeightedEdges:
    """All edges of the graph that join two nodes of G_q, both ways, weighted by Eq. 1."""
    sharpness = settings.weight_sharpness
    entity_at, segment_at = len(graph.turns), len(graph.turns) + len(graph.entities)
    turn, entity, mention = _mentions(snapshot, found, graph)
    head, tail, relation = _relations(snapshot, found, graph)
    turn_in, segment, to_segment, to_turn = _segments(snapshot, found, graph, sharpness)
    mention, relation, to_turn = mention**sharpness, relation**sharpness, to_turn**sharpness
    if settings.weights == "uniform":
        mention, relation, to_segment, to_turn = (np.ones(len(part)) for part in (mention, relation, to_segment, to_turn))
    entity, head, tail, segment = entity + entity_at, head + entity_at, tail + entity_at, segment + segment_at
    sources = [turn, entity, head, tail, turn_in, segment]
    targets = [entity, turn, tail, head, segment, turn_in]
    parts = [mention, mention, relation, relation, to_segment, to_turn]
    if settings.adjacency > 0:
        out = np.bincount(np.concatenate([turn, turn_in]), weights=np.concatenate([mention, to_segment]), minlength=len(graph.turns))
        welcome = np.where(snapshot.turns.kept[graph.turns], 1.0, settings.dropped_weight)
        for before, after, share in _neighbours(snapshot, graph, settings.adjacency):
            sources.append(before)
            targets.append(after)
            parts.append(neighbour_weights(out[before], share) * welcome[after])
    return WeightedEdges(np.concatenate(sources), np.concatenate(targets), np.concatenate(parts))


def _mentions(snapshot: Snapshot, found: Similarities, graph: Subgraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Local turn, local entity and similarity of each entity-turn edge."""
    at, turn = members(snapshot.mentions.start, graph.turns)
    entity = _local(graph.entities, len(snapshot.entities.row))[snapshot.mentions.tail[at]]
    inside = entity >= 0
    return turn[inside], entity[inside], found.mention[at[inside]].astype(np.float64)


def _relations(snapshot: Snapshot, found: Similarities, graph: Subgraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Local subject, local object and similarity of each entity-entity edge."""
    relations = snapshot.relations
    at, head = members(relations.start, graph.entities)
    tail = _local(graph.entities, len(snapshot.entities.row))[relations.tail[at]]
    inside = tail >= 0
    at, head, tail = at[inside], head[inside], tail[inside]
    claims, owner = members(relations.support_start, at)
    starts = np.searchsorted(owner, np.arange(len(at) + 1))
    return head, tail, claim_weights(found.claim[relations.support[claims]], starts, np.arange(len(claims))).astype(np.float64)


def _segments(
    snapshot: Snapshot, found: Similarities, graph: Subgraph, sharpness: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Local turn, local segment, weight to the segment and similarity of the turn, of each turn-segment edge."""
    segment = _local(graph.segments, len(snapshot.segments.row))[snapshot.turns.segment[graph.turns]]
    turn = np.flatnonzero((segment >= 0) & (snapshot.turns.segment[graph.turns] >= 0))
    own = found.turn[graph.turns[turn]].astype(np.float64)
    at, owner = members(snapshot.mentions.start, graph.turns[turn])
    similar = found.entity.astype(np.float64) ** sharpness
    to_segment = mean_of_entities(similar, owner, snapshot.mentions.tail[at], own**sharpness)
    return turn, segment[turn], to_segment, own


def _neighbours(snapshot: Snapshot, graph: Subgraph, adjacency: float) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Local turn, local neighbour and share: forward, then backward."""
    following = np.append(snapshot.following, -1)[graph.turns]
    after = _local(graph.turns, len(snapshot.turns.row))[following]
    before = np.flatnonzero((after >= 0) & (following >= 0))
    return [(before, after[before], adjacency), (after[before], before, adjacency * BACKWARD)]


def _local(nodes: np.ndarray, count: int) -> np.ndarray:
    """The number within G_q of each node of a kind, -1 outside it; one more -1 at the end, for node -1."""
    local = np.full(count + 1, -1, np.int64)
    local[nodes] = np.arange(len(nodes))
    return local
