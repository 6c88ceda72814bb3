"""Query-conditioned edge weights, §3.3.2, Eq. 1.

The paper weighs entity -> turn, entity -> entity and turn -> segment, and leaves the ways back open. Here turn -> entity weighs
as entity -> turn, the object as the subject, and segment -> turn as the turn's own text. One weight an entity, as Eq. 1 reads at
first, changes nothing in the ranking, since out-weights are normalised: an entity -> turn edge therefore weighs as the best of
the entity's claims that cite that turn.
"""

import numpy as np


def claim_weights(similarity: np.ndarray, support_start: np.ndarray, support: np.ndarray) -> np.ndarray:
    """The best similarity among each edge's claims, shape (edges,); every edge has at least one claim."""
    if len(support_start) <= 1:
        return np.zeros(0)
    best: np.ndarray = np.maximum.reduceat(similarity[support], support_start[:-1])
    return best


def mean_of_entities(similarity: np.ndarray, turn: np.ndarray, entity: np.ndarray, own: np.ndarray) -> np.ndarray:
    """turn -> segment: the mean similarity of the turn's entities, or the turn's own where it has none; shape (turns,).

    `turn` and `entity` are the mention edges of the turns, `own` the turns' own similarities.
    """
    count = np.bincount(turn, minlength=len(own))
    total = np.bincount(turn, weights=similarity[entity], minlength=len(own))
    mean: np.ndarray = np.where(count > 0, total / np.maximum(count, 1), own)
    return mean


def neighbour_weights(out: np.ndarray, share: float) -> np.ndarray:
    """turn -> neighbouring turn (ours): `share` times all that the turn sends elsewhere, or `share` where it sends nothing."""
    weight: np.ndarray = share * np.where(out > 0, out, 1.0)
    return weight
