import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.bench.metrics import DEPTH, KS, METRICS, hits, intervals, scores


def score(ranking, gold):
    rows = scores(hits(ranking, gold)[None], np.array([len(gold)]))
    return {metric: dict(zip(KS, rows[0, place], strict=True)) for place, metric in enumerate(METRICS)}


def test_hand_counted_two_pieces():
    # Evidence 7 and 9; 7 comes second, 9 comes fourth.
    counted = score([1, 7, 2, 9, 3], {7, 9})
    assert counted["frac"] == {3: 50.0, 5: 100.0, 10: 100.0}
    assert counted["all"] == {3: 0.0, 5: 100.0, 10: 100.0}
    assert counted["any"] == {3: 100.0, 5: 100.0, 10: 100.0}
    ideal = 1 + 1 / np.log2(3)
    assert counted["ndcg"][3] == pytest.approx(100 * (1 / np.log2(3)) / ideal)
    assert counted["ndcg"][5] == pytest.approx(100 * (1 / np.log2(3) + 1 / np.log2(5)) / ideal)


def test_hand_counted_more_evidence_than_places():
    counted = score([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], set(range(4)))
    assert counted["frac"] == {3: 75.0, 5: 100.0, 10: 100.0}
    assert counted["all"] == {3: 0.0, 5: 100.0, 10: 100.0}
    assert counted["ndcg"] == {3: 100.0, 5: 100.0, 10: 100.0}


def test_hand_counted_miss_and_short_ranking():
    assert all(set(by_k.values()) == {0.0} for by_k in score([1, 2], {3}).values())
    assert all(set(by_k.values()) == {0.0} for by_k in score([], {3}).values())
    assert score([3], {3})["ndcg"] == {3: 100.0, 5: 100.0, 10: 100.0}
    assert score(list(range(10)), {9})["any"] == {3: 0.0, 5: 0.0, 10: 100.0}
    assert score(list(range(11)), {10})["any"] == {3: 0.0, 5: 0.0, 10: 0.0}


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(ValueError, match="twice"):
        hits([1, 2, 1], {1})
    with pytest.raises(ValueError, match="without evidence"):
        scores(np.zeros((1, DEPTH), dtype=bool), np.array([0]))


def plain_scores(ranking, gold, k):
    found = [place for place, unit in enumerate(ranking[:k]) if unit in gold]
    gain = sum(1 / np.log2(place + 2) for place in found)
    ideal = sum(1 / np.log2(place + 2) for place in range(min(k, len(gold))))
    return [len(found) / len(gold), float(len(found) == len(gold)), float(bool(found)), gain / ideal]


@given(st.lists(st.tuples(st.permutations(range(15)), st.sets(st.integers(0, 20), min_size=1)), min_size=1, max_size=5))
def test_all_questions_at_once_agree_with_one_at_a_time(questions):
    rows = np.stack([hits(ranking, gold) for ranking, gold in questions])
    together = scores(rows, np.array([len(gold) for _, gold in questions]))
    alone = [[plain_scores(ranking, gold, k) for k in KS] for ranking, gold in questions]
    np.testing.assert_allclose(together, 100 * np.array(alone).transpose(0, 2, 1))


def test_intervals_are_seeded_and_hold_the_mean():
    values = np.random.default_rng(1).normal(50, 20, size=(400, 2, 3))
    low, high = intervals(values)
    assert low.shape == (2, 3)
    assert (low < values.mean(axis=0)).all()
    assert (values.mean(axis=0) < high).all()
    np.testing.assert_array_equal(intervals(values), intervals(values))
    assert not np.array_equal(intervals(values), intervals(values, seed=1))
    # The standard error of a mean of 400 with deviation 20 is 1, so the interval is about 3.9 wide.
    np.testing.assert_allclose(high - low, 3.92, atol=0.6)


def test_a_paired_difference_is_narrower_than_its_parts():
    rng = np.random.default_rng(2)
    first = rng.normal(50, 20, size=(300, 1))
    second = first - 1 + rng.normal(0, 1, size=(300, 1))
    low, high = intervals(first - second)
    assert 0.8 < low[0] < high[0] < 1.2
    assert (intervals(first)[1] - intervals(first)[0] > 3).all()


def test_intervals_of_nothing_are_not_numbers():
    assert np.isnan(intervals(np.zeros((0, 4)))).all()
