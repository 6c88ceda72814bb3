"""What a ranking leaves behind, so that every score can be explained."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """G_q with its seeds, edges and scores. Nodes are numbered 0, 1, ...: turns first, then entities, then segments.

    A trace equals itself alone: arrays have no one truth to compare by.
    """

    node_id: np.ndarray
    """(nodes,), 16 bytes each; `.tobytes().hex()` gives the id."""
    turns: int
    entities: int
    seed: np.ndarray
    """(nodes,): seed(v) of Eq. 2."""
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    """(edges,): w(source -> target) of Eq. 1, before the out-weights are normalised."""
    score: np.ndarray
    """(nodes,): PR of Eq. 2."""
    damping: float
    iterations: int
