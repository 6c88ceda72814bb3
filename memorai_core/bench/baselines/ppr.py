"""A reading of HippoRAG 2 (Gutiérrez et al. 2025): Personalized PageRank over phrases and passages."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memorai_core.bench.baselines.analysis import Analyses, Analysis
from memorai_core.bench.baselines.vectors import embed_rows
from memorai_core.bench.datasets import Case
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.systems import IndexStatistics, Query, Vectors, best_first
from memorai_core.bench.units import Layout, Unit
from memorai_core.identity import canonical_name

DAMPING = 0.5
SYNONYM = 0.8
"""Phrases whose names are at least this similar are joined."""
STATEMENTS = 5
"""How many statements seed the walk."""
PASSAGE_WEIGHT = 0.05
"""What a passage's own similarity counts for, against the phrases of the statements."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class PersonalizedPageRank:
    """Phrases of the triplets and turns as passages, every edge of weight 1, ranked over the whole graph.

    Statements are the distinct descriptions of triplets; the best five seed their phrases, each by its statements' mean
    similarity over the number of passages that hold it, and every passage is seeded with a twentieth of its own
    similarity. Left out: the language model that filters the statements (recognition memory), and edge counts.
    """

    name = "ppr"

    def __init__(self, analyses: Analyses, embedder: CachedEmbedder) -> None:
        self._analyses = analyses
        self._embedder = embedder

    def index(self, case: Case, layout: Layout) -> IndexStatistics:
        """Builds the graph and embeds statements and phrases."""
        self._layout = layout
        self._analysis = self._analyses.of(case, layout)
        passages = len(layout.messages)
        phrases, self._phrases_of, edges = _links(self._analysis, passages)
        names = embed_rows(self._embedder, list(phrases)).means()
        edges |= {(passages + first, passages + second) for first, second in similar_pairs(names, SYNONYM)}
        self._statements = embed_rows(self._embedder, list(self._phrases_of))
        self._graph = Graph(passages + len(phrases), edges)
        self._held = np.bincount(
            [phrase for turn, phrase in edges if turn < passages <= phrase], minlength=passages + len(phrases)
        )  # how many passages hold each phrase
        return replace(
            self._analysis.statistics,
            nodes=passages + len(phrases),
            edges=len(edges),
            bytes=self._statements.vectors.nbytes + names.nbytes + self._analysis.turns.vectors.nbytes + self._graph.nbytes,
        )

    def rank(self, query: Query, unit: Unit, k: int) -> list[int]:
        """All units."""
        passages = len(self._layout.messages)
        dense = self._analysis.turns.closeness(query.vector)
        span = float(np.ptp(dense))
        seeds = np.zeros(self._graph.nodes)
        seeds[:passages] = PASSAGE_WEIGHT * ((dense - dense.min()) / span if span > 0 else 1.0)
        close = self._statements.closeness(query.vector)
        phrases_of = list(self._phrases_of.values())
        given: dict[int, list[float]] = {}
        for statement in best_first(close)[:STATEMENTS]:
            for phrase in phrases_of[statement]:
                given.setdefault(phrase, []).append(float(close[statement]))
        for phrase, similarities in given.items():
            seeds[phrase] = max(0.0, float(np.mean(similarities))) / max(1, self._held[phrase])
        return self._layout.coarsen(best_first(self._graph.walk(seeds)[:passages]), unit)

    def close(self) -> None:
        """Holds nothing open."""


class Graph:
    """An undirected graph whose edges all weigh the same."""

    def __init__(self, nodes: int, edges: Iterable[tuple[int, int]]) -> None:
        self.nodes = nodes
        pairs = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
        self._sources: Indices = np.concatenate([pairs[:, 0], pairs[:, 1]])
        self._targets: Indices = np.concatenate([pairs[:, 1], pairs[:, 0]])
        self._degrees = np.bincount(self._sources, minlength=nodes)
        self.nbytes = self._sources.nbytes + self._targets.nbytes

    def walk(self, seeds: Floats, damping: float = DAMPING, tolerance: float = 1e-9) -> Floats:
        """Personalized PageRank from seeds that need not sum to 1; a node without edges gives its score back to the seeds."""
        total = seeds.sum()
        if total <= 0:
            return np.zeros(self.nodes)
        restart = seeds / total
        scores = restart
        shares = np.divide(1.0, self._degrees, out=np.zeros(self.nodes), where=self._degrees > 0)
        while True:
            flow = np.bincount(self._targets, weights=(scores * shares)[self._sources], minlength=self.nodes)
            stranded = float(scores[self._degrees == 0].sum())
            new = (1 - damping) * restart + damping * (flow + stranded * restart)
            if np.abs(new - scores).sum() < tolerance:
                return np.asarray(new)
            scores = new


def similar_pairs(vectors: Vectors, threshold: float, block: int = 1024) -> Iterable[tuple[int, int]]:
    """Pairs (i, j), i < j, of rows whose cosine similarity is at least `threshold`."""
    for start in range(0, len(vectors), block):
        close = vectors[start : start + block] @ vectors.T >= threshold
        rows, columns = np.nonzero(close)
        rows += start
        ahead = rows < columns
        yield from zip(rows[ahead].tolist(), columns[ahead].tolist(), strict=True)


def _links(analysis: Analysis, passages: int) -> tuple[dict[str, int], dict[str, set[int]], set[tuple[int, int]]]:
    """Phrase -> its number among phrases, statement -> the nodes of its phrases, and the edges, smaller node first.

    Nodes are the passages, then the phrases.
    """
    phrases: dict[str, int] = {}
    statements: dict[str, set[int]] = {}
    edges: set[tuple[int, int]] = set()
    for segment in analysis.segments:
        for triplet in segment.triplets:
            names = (canonical_name(triplet.subject), triplet.object_key or canonical_name(triplet.object))
            ends = [passages + phrases.setdefault(name, len(phrases)) for name in names]
            statements.setdefault(triplet.description, set()).update(ends)
            if ends[0] != ends[1]:
                edges.add((min(ends), max(ends)))
            edges |= {(int(turn_id), end) for turn_id in triplet.source_turns for end in ends}
    return phrases, statements, edges
