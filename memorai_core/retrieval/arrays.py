"""Ragged arrays: many short lists laid end to end."""

import numpy as np


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


def largest(values: np.ndarray, count: int, *, above: float = 0.0) -> np.ndarray:
    """The places of the `count` largest values above a bound, in no order; ties go to the earlier place."""
    places = np.flatnonzero(values > above)
    if count >= len(places):
        return places
    among = values[places]  # a filter leaves mostly zeros, and it takes long to partition equal values
    least = np.partition(among, len(among) - count)[len(among) - count]
    larger = places[among > least]
    return np.concatenate([larger, places[among == least][: count - len(larger)]])


def largest_of_each(owner: np.ndarray, values: np.ndarray, count: int | None) -> np.ndarray:
    """The places of the `count` largest values of each owner (all for None), in order; `owner` is sorted, ties go to the earlier."""
    if count is None:
        return np.arange(len(owner))
    starts = np.flatnonzero(owner[1:] != owner[:-1]) + 1
    ends = np.append(starts, len(owner))
    starts = np.insert(starts, 0, 0)
    keep = np.ones(len(owner), bool)
    for long in np.flatnonzero(ends - starts > count):  # a few hubs, not every list
        of_list = slice(starts[long], ends[long])
        keep[of_list] = False
        keep[starts[long] + largest(values[of_list], count, above=-np.inf)] = True
    return np.flatnonzero(keep)


def maximum_of_each(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The largest value of each list, 0 for an empty one; `starts` has one more entry than there are lists."""
    result = np.zeros(len(starts) - 1, values.dtype)
    filled = starts[1:] > starts[:-1]
    if filled.any():
        result[filled] = np.maximum.reduceat(values, starts[:-1][filled])
    return result
