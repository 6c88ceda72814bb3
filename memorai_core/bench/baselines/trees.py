"""Trees of ever wider nodes over the turns, searched at all levels at once: readings of RAPTOR and MemTree."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memorai_core.bench.baselines.groups import spread
from memorai_core.bench.baselines.vectors import embed_rows, normalised
from memorai_core.bench.datasets import Case
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.systems import IndexStatistics, Query, Vectors, best_first, turn_text
from memorai_core.bench.units import Layout, Unit

SUMMARY_CHARACTERS = 800


@dataclass(slots=True)
class Node:
    """A node of a tree: a turn, or what stands for several."""

    vector: Vectors
    leaves: list[int]
    """Places of the turns below, or its own."""
    text: str = ""
    children: list["Node"] = field(default_factory=list)


class Tree:
    """Collapsed retrieval: all nodes by similarity, each giving the turns below it, the closest first."""

    name: str

    def __init__(self, embedder: CachedEmbedder) -> None:
        self._embedder = embedder

    def index(self, case: Case, layout: Layout) -> IndexStatistics:
        """Builds the tree over the turns that have words."""
        self._layout = layout
        texts = [turn_text(message) for message in layout.messages]
        self._turns = embed_rows(self._embedder, texts)
        vectors = self._turns.means()
        leaves = [Node(vectors[place], [place], text) for place, text in enumerate(texts) if text]
        self._nodes = self._grow(leaves)
        self._vectors = np.stack([node.vector for node in self._nodes]) if self._nodes else np.zeros((0, vectors.shape[1]), np.float32)
        return IndexStatistics(
            nodes=len(self._nodes),
            edges=sum(len(node.children) for node in self._nodes),
            bytes=self._vectors.nbytes,
            turns=len(texts),
            sessions=len(case.conversation.sessions),
        )

    def rank(self, query: Query, unit: Unit, k: int) -> list[int]:
        """All units."""
        order = best_first(self._vectors @ query.vector)
        turns = spread((self._nodes[number].leaves for number in order), self._turns.closeness(query.vector))
        return self._layout.coarsen(turns, unit)

    def close(self) -> None:
        """Holds nothing open."""

    def _grow(self, leaves: list[Node]) -> list[Node]:
        raise NotImplementedError


class Raptor(Tree):
    """A reading of RAPTOR (Sarthi et al. 2024): clusters of turns are summarised, the summaries clustered, and so on.

    Clusters come from spherical k-means, about eight nodes to a cluster, in place of Gaussian mixtures over reduced
    dimensions, and a node belongs to one of them; a summary is the cluster's most central texts, in place of a language
    model's.
    """

    name = "raptor"
    CLUSTER = 8
    LEVELS = 4

    def _grow(self, leaves: list[Node]) -> list[Node]:
        nodes, level = list(leaves), leaves
        for _ in range(self.LEVELS):
            if len(level) <= self.CLUSTER:
                break
            labels = cluster(np.stack([node.vector for node in level]), -(-len(level) // self.CLUSTER))
            members = [[node for node, label in zip(level, labels, strict=True) if label == number] for number in range(max(labels) + 1)]
            members = [group for group in members if group]
            texts = [central_text(group) for group in members]
            vectors = embed_rows(self._embedder, texts).means()
            level = [
                Node(vector, [leaf for node in group for leaf in node.leaves], text, group)
                for vector, group, text in zip(vectors, members, texts, strict=True)
            ]
            nodes += level
        return nodes


class MemTree(Tree):
    """A reading of MemTree (Rezazadeh et al. 2024): a tree that grows turn by turn.

    A new turn descends to the most similar child as long as that child is similar enough, more so the deeper it is, and
    becomes a child where it stops; a leaf that it stops at becomes a parent of both. A parent's vector is the mean of
    its turns', in place of the embedding of a language model's summary; the thresholds are ours.
    """

    name = "memtree"
    THRESHOLD = 0.4
    RISE = 1.25
    """By how much the threshold grows from level to level."""

    def _grow(self, leaves: list[Node]) -> list[Node]:
        root = Node(np.zeros(0, dtype=np.float32), [])
        for leaf in leaves:
            self._insert(root, leaf)
        nodes: list[Node] = []
        waiting = list(root.children)
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            waiting += node.children
        return nodes

    def _insert(self, root: Node, leaf: Node) -> None:
        node, threshold = root, self.THRESHOLD
        while node.children:
            similarities = np.stack([child.vector for child in node.children]) @ leaf.vector
            nearest = int(np.argmax(similarities))
            if similarities[nearest] < threshold:
                break
            node, threshold = node.children[nearest], threshold * self.RISE
            held = Node(node.vector, node.leaves, node.text)
            was_leaf = not node.children
            node.vector = normalised((node.vector * len(node.leaves) + leaf.vector)[None])[0]
            node.leaves = node.leaves + leaf.leaves
            if was_leaf:
                node.children = [held]
                break
        node.children.append(leaf)


def cluster(vectors: Vectors, count: int, *, seed: int = 0, rounds: int = 20) -> list[int]:
    """Spherical k-means: for each row the number of its cluster, of at most `count`; the same for the same rows."""
    centres = vectors[_first_centres(vectors, count, np.random.default_rng(seed))]
    labels: NDArray[np.int64] = np.full(len(vectors), -1)
    for _ in range(rounds):
        nearest = np.argmax(vectors @ centres.T, axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, vectors)
        centres = np.where(np.any(sums != 0, axis=1, keepdims=True), normalised(sums), centres)
    return [int(label) for label in labels]


def _first_centres(vectors: Vectors, count: int, rng: np.random.Generator) -> list[int]:
    """Rows to begin with, as k-means++ draws them: each the likelier, the farther it is from those drawn before."""
    chosen = [int(rng.integers(len(vectors)))]
    distance = np.full(len(vectors), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, np.clip(1.0 - vectors @ vectors[chosen[-1]], 0.0, None).astype(np.float64))
        if not distance.any():
            break
        chosen.append(int(rng.choice(len(vectors), p=distance / distance.sum())))
    return chosen


def central_text(group: Sequence[Node]) -> str:
    """The texts nearest to a group's mean, whole, in their order, up to SUMMARY_CHARACTERS and at least one."""
    vectors = np.stack([node.vector for node in group])
    chosen: list[int] = []
    length = 0
    for place in best_first(vectors @ vectors.mean(axis=0)):
        if chosen and length + len(group[place].text) > SUMMARY_CHARACTERS:
            break
        chosen.append(place)
        length += len(group[place].text)
    return "\n".join(group[place].text for place in sorted(chosen))
