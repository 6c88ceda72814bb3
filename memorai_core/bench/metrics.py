"""Recall and NDCG of rankings, and bootstrap intervals over questions, for a whole run at once.

Rows are questions. A score array has shape (questions, len(METRICS), len(KS)), in percent.
"""

from collections.abc import Collection, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Metric = Literal["frac", "all", "any", "ndcg"]

KS: tuple[int, ...] = (3, 5, 10)
METRICS: tuple[Metric, ...] = ("frac", "all", "any", "ndcg")
LEVEL, RESAMPLES, SEED = 0.95, 2000, 0
"""Of the bootstrap intervals."""
DEPTH = max(KS)
"""No metric looks further down a ranking than this."""

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


def hits(ranking: Sequence[int], gold: Collection[int]) -> Booleans:
    """Which of the first DEPTH places hold evidence, shape (DEPTH,); a ranking that repeats itself is refused."""
    top = list(ranking[:DEPTH])
    if len(set(top)) != len(top):
        raise ValueError("a ranking names a unit twice")
    row = np.zeros(DEPTH, dtype=np.bool_)
    row[: len(top)] = [unit in gold for unit in top]
    return row


def scores(hit_rows: Booleans, gold_counts: NDArray[np.int64]) -> Floats:
    """Every metric at every k for each question, in percent; each question has at least one piece of evidence.

    frac: the share of the evidence found; all: every piece found, so 0 where there are more than k; any: at least one
    found; ndcg: binary relevance, over the best ranking that k places allow.
    """
    if gold_counts.size and gold_counts.min() < 1:
        raise ValueError("a question without evidence cannot be scored")
    at = np.array(KS) - 1
    discounts = 1.0 / np.log2(np.arange(2, DEPTH + 2))
    found = np.cumsum(hit_rows, axis=1)[:, at]
    gained = np.cumsum(hit_rows * discounts, axis=1)[:, at]
    ideal = np.cumsum(discounts)[np.minimum(gold_counts[:, None], np.array(KS)) - 1]
    wanted = gold_counts[:, None]
    return 100.0 * np.stack([found / wanted, found == wanted, found > 0, gained / ideal], axis=1)


def intervals(values: Floats, *, seed: int = SEED, resamples: int = RESAMPLES, level: float = LEVEL) -> Floats:
    """The percentile bootstrap interval of each column's mean, shape (2, ...): low and high, over resampled rows.

    Two calls with the same seed and number of rows resample the same rows, so the interval of a difference is paired
    when the difference of two systems' rows is passed.
    """
    rows = len(values)
    if rows == 0:
        return np.full((2, *values.shape[1:]), np.nan)
    drawn = np.random.default_rng(seed).integers(rows, size=(resamples, rows))
    drawn += rows * np.arange(resamples)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=resamples * rows).reshape(resamples, rows)
    means = counts @ values.reshape(rows, -1) / rows
    tail = 50.0 * (1.0 - level)
    bounds = np.percentile(means, [tail, 100.0 - tail], axis=0)
    return np.asarray(bounds).reshape(2, *values.shape[1:])
