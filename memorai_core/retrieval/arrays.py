"""Ragged arrays: many short lists laid end to end."""

import numpy as np

HUB = 2048
"""Members from which on a list is cut down before it is sorted."""


def offsets(lengths: np.ndarray) -> np.ndarray:
    """Where each of the lists starts, and the end of the last: shape (lists + 1,)."""
    ends = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ends[1:])
    return ends


def members(starts: np.ndarray, lists: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of all members of some lists, and for each the number (0, 1, ...) of the list in `lists` it came from."""
    first = starts[lists]
    lengths = starts[lists + 1] - first
    owner = np.repeat(np.arange(len(lists)), lengths)
    within = np.arange(len(owner)) - np.repeat(offsets(lengths)[:-1], lengths)
    return np.repeat(first, lengths) + within, owner


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """The places of the `count` largest values above 0, in no order; ties go to the earlier place."""
    if count >= len(values):
        return np.flatnonzero(values > 0)
    least = np.partition(values, len(values) - count)[len(values) - count]
    if least <= 0:
        return np.flatnonzero(values > 0)
    above = np.flatnonzero(values > least)
    return np.concatenate([above, np.flatnonzero(values == least)[: count - len(above)]])


def largest_of_each(owner: np.ndarray, values: np.ndarray, count: int | None) -> np.ndarray:
    """The places of the `count` largest values of each owner (all for None); `owner` is sorted, ties go to the earlier place."""
    if count is None or len(owner) == 0:
        return np.arange(len(owner))
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    lengths = np.diff(np.r_[starts, len(owner)])
    likely = _without_hubs_tails(values, starts, lengths, count)
    owner, values = owner[likely], values[likely]
    order = np.lexsort((-values, owner))
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    rank = np.arange(len(owner)) - np.repeat(starts, np.diff(np.r_[starts, len(owner)]))
    chosen: np.ndarray = likely[order[rank < count]]
    return chosen


def _without_hubs_tails(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray, count: int) -> np.ndarray:
    """The places that can be among the `count` largest; long lists lose what is below that, so that sorting stays cheap."""
    keep = np.ones(len(values), bool)
    for hub in np.flatnonzero(lengths > max(HUB, count)):  # a speaker or two, not every list
        of_hub = slice(starts[hub], starts[hub] + lengths[hub])
        keep[of_hub] = values[of_hub] >= np.partition(values[of_hub], lengths[hub] - count)[lengths[hub] - count]
    return np.flatnonzero(keep)


def maximum_of_each(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The largest value of each list, 0 for an empty one; `starts` has one more entry than there are lists."""
    result = np.zeros(len(starts) - 1, values.dtype)
    filled = starts[1:] > starts[:-1]
    if filled.any():
        result[filled] = np.maximum.reduceat(values, starts[:-1][filled])
    return result
