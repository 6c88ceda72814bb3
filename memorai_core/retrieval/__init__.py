"""The read path, §3.3: a query and a snapshot become ranked turns and a trace."""

from dataclasses import dataclass

import numpy as np

from memorai_core.retrieval.graph_edges import weighted_edges
from memorai_core.retrieval.pagerank import pagerank
from memorai_core.retrieval.seeds import seeds
from memorai_core.retrieval.similarity import Similarities, seed_of_turns, similarities
from memorai_core.retrieval.snapshot import Snapshot
from memorai_core.retrieval.subgraph import Subgraph, subgraph, whole_graph
from memorai_core.retrieval.trace import Trace
from memorai_core.settings import Settings


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best turns, best first, and how they were found."""

    turns: np.ndarray
    """Turn numbers of the snapshot, at most k."""
    scores: np.ndarray
    filled: int
    """How many of the last turns lie outside G_q and were added by similarity alone."""
    trace: Trace


def rank(
    snapshot: Snapshot, query: str, query_vector: np.ndarray, k: int, settings: Settings, *, allowed: np.ndarray | None = None
) -> Ranking:
    """Ranks a user's turns for a query (§3.3); `allowed` is a mask over the snapshot's turns, or None for all of them."""
    found = similarities(snapshot, query, query_vector, allowed)
    turn_seed = seed_of_turns(found, sharpness=settings.sharpness, lexical=settings.lexical)
    if settings.subgraph:
        chosen = seeds(snapshot, found, aspect_k=settings.aspect_k, turn_aspect=settings.turn_aspect, lexical=settings.lexical > 0)
        graph = subgraph(snapshot, found, chosen, turn_seed, fanout=settings.fanout, adjacent=settings.adjacency > 0)
    else:
        graph = whole_graph(snapshot, found)
    trace = _walk(snapshot, found, graph, turn_seed, settings)
    return _best(graph, trace, turn_seed, found, k)


def _walk(snapshot: Snapshot, found: Similarities, graph: Subgraph, turn_seed: np.ndarray, settings: Settings) -> Trace:
    """PageRank over G_q, every node seeded with its similarity to the query."""
    edges = weighted_edges(snapshot, found, graph, settings)
    gate = np.where(snapshot.turns.kept[graph.turns], 1.0, settings.dropped_weight)
    entity, segment = found.entity[graph.entities].astype(np.float64), found.segment[graph.segments].astype(np.float64)
    seed = np.concatenate([turn_seed[graph.turns] * gate, entity**settings.sharpness, segment**settings.sharpness])
    score, iterations = pagerank(
        seed, edges.source, edges.target, edges.weight, damping=settings.damping, tolerance=settings.tolerance
    )  # fmt: skip
    node_id = np.concatenate(
        [snapshot.turns.node_id[graph.turns], snapshot.entities.node_id[graph.entities], snapshot.segments.node_id[graph.segments]]
    )
    return Trace(
        node_id, len(graph.turns), len(graph.entities), seed, edges.source, edges.target, edges.weight, score, settings.damping, iterations
    )  # fmt: skip


def _best(graph: Subgraph, trace: Trace, turn_seed: np.ndarray, found: Similarities, k: int) -> Ranking:
    """The k turns of the highest score, ties in order of arrival, and where G_q has fewer, the nearest of the rest."""
    score = trace.score[: trace.turns]
    order = np.lexsort((graph.turns, -score))
    order = order[score[order] > 0][:k]
    turns, scores = graph.turns[order], score[order]
    missing = k - len(turns)
    if missing <= 0:
        return Ranking(turns, scores, 0, trace)
    rest = turn_seed.copy()
    rest[turns] = 0
    rest[~found.allowed] = 0
    near = np.lexsort((np.arange(len(rest)), -rest))[:missing]
    near = near[rest[near] > 0]
    return Ranking(np.concatenate([turns, near]), np.concatenate([scores, np.zeros(len(near))]), len(near), trace)
