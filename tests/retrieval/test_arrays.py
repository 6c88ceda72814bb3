"""Ragged arrays against loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.retrieval.arrays import largest, largest_of_each, maximum_of_each, members, offsets

LENGTHS = st.lists(st.integers(0, 5), max_size=10)
VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), max_size=30)


@given(LENGTHS)
def test_offsets(lengths):
    starts = offsets(np.array(lengths, np.int64)).tolist()
    assert starts == [sum(lengths[:place]) for place in range(len(lengths) + 1)]


@given(st.data(), LENGTHS.filter(bool))
def test_members(data, lengths):
    starts = offsets(np.array(lengths, np.int64))
    lists = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=12))
    places, owner = members(starts, np.array(lists, np.int64))
    expected = [(place, number) for number, each in enumerate(lists) for place in range(starts[each], starts[each + 1])]
    assert list(zip(places.tolist(), owner.tolist(), strict=True)) == expected


@given(VALUES, st.integers(1, 35))
def test_largest(values, count):
    """The earlier place wins among equals, and 0 is never among the largest."""
    ranked = sorted((-value, place) for place, value in enumerate(values) if value > 0)
    assert sorted(largest(np.array(values), count).tolist()) == sorted(place for _, place in ranked[:count])


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 1.0])), max_size=30), st.none() | st.integers(1, 6))
def test_largest_of_each(pairs, count):
    pairs = sorted(pairs, key=lambda pair: pair[0])
    owner, values = np.array([pair[0] for pair in pairs], np.int64), np.array([pair[1] for pair in pairs])
    expected = []
    for one in range(5):
        places = [place for place, pair in enumerate(pairs) if pair[0] == one]
        expected += sorted(places, key=lambda place: (-values[place], place))[:count]
    assert sorted(largest_of_each(owner, values, count).tolist()) == sorted(expected)


@given(st.lists(st.lists(st.floats(0, 1), max_size=4), max_size=8))
def test_maximum_of_each(lists):
    flat = np.array([value for each in lists for value in each])
    starts = offsets(np.array([len(each) for each in lists], np.int64))
    assert maximum_of_each(flat, starts).tolist() == [max(each, default=0.0) for each in lists]
