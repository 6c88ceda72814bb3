"""Dynamic Weighted PageRank, §3.3.2, Eq. 2 and 3."""

import numpy as np


def transitions(source: np.ndarray, weight: np.ndarray, nodes: int) -> np.ndarray:
    """Each edge's share of its source's out-weight (Eq. 3), shape (edges,); a node with no out-weight sends nothing."""
    out = np.bincount(source, weights=weight, minlength=nodes)
    share: np.ndarray = weight / np.where(out > 0, out, 1.0)[source]
    return share


def pagerank(
    seed: np.ndarray, source: np.ndarray, target: np.ndarray, weight: np.ndarray, *, damping: float, tolerance: float
) -> tuple[np.ndarray, int]:
    """PR(v) = (1 - d) seed(v) + d S(v), by iteration; gives (nodes,) scores and the number of iterations.

    Seeds and weights are 0 and up, seeds need not sum to 1, and a sink's score is not handed back, so scores are no
    probabilities. The fixed point is (1 - d)(I - d Pᵀ)⁻¹ seed; iteration ends when no more than `tolerance` times the seeds' sum is
    still to come.
    """
    nodes = len(seed)
    restart = (1 - damping) * seed
    flow = damping * transitions(source, weight, nodes)
    score: np.ndarray = restart.copy()
    change: np.ndarray = restart
    sent = np.empty(len(flow))
    iterations = 0
    # What one step adds is the walk one step longer; the rest of the series is at most d / (1 - d) times that.
    enough = tolerance * float(seed.sum()) * (1 - damping)
    while float(change.sum()) * damping > enough:
        np.take(change, source, out=sent, mode="clip")
        sent *= flow
        change = np.bincount(target, weights=sent, minlength=nodes)
        score += change
        iterations += 1
    return score, iterations
