"""Eq. 2 and 3 against their closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memorai_core.retrieval.pagerank import pagerank, transitions

WEIGHTS = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


@st.composite
def graphs(draw):
    """Seeds and weighted edges, self-loops, parallel edges, weights of 0 and nodes without edges among them."""
    nodes = draw(st.integers(1, 12))
    ends = draw(st.lists(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1), WEIGHTS), max_size=40))
    seed = draw(arrays.arrays(np.float64, nodes, elements=st.one_of(st.just(0.0), st.floats(1e-6, 1.0))))
    source, target, weight = (np.array([end[i] for end in ends], dtype) for i, dtype in enumerate((np.int64, np.int64, np.float64)))
    return seed, source, target, weight


def closed_form(seed, source, target, weight, damping):
    """(1 - d)(I - d Pᵀ)⁻¹ seed, with P made entry by entry."""
    nodes = len(seed)
    out = [0.0] * nodes
    for start, amount in zip(source, weight, strict=True):
        out[start] += amount
    p = np.zeros((nodes, nodes))
    for start, end, amount in zip(source, target, weight, strict=True):
        if out[start] > 0:
            p[start, end] += amount / out[start]
    return (1 - damping) * np.linalg.solve(np.eye(nodes) - damping * p.T, seed)


@given(graphs(), st.floats(0, 0.95))
def test_scores_match_the_closed_form(graph, damping):
    score, _ = pagerank(*graph, damping=damping, tolerance=1e-13)
    np.testing.assert_allclose(score, closed_form(*graph, damping), rtol=0, atol=1e-9)


@given(graphs(), st.floats(0, 0.95), st.floats(1e-9, 0.5))
def test_what_is_still_to_come_is_within_the_tolerance(graph, damping, tolerance):
    score, _ = pagerank(*graph, damping=damping, tolerance=tolerance)
    missing = closed_form(*graph, damping) - score
    assert missing.min(initial=0) > -1e-12
    assert missing.sum() <= tolerance * graph[0].sum() + 1e-12


@given(graphs(), st.floats(0, 0.95), st.randoms(use_true_random=False))
def test_the_order_of_nodes_and_edges_does_not_matter(graph, damping, random):
    seed, source, target, weight = graph
    order = random.sample(range(len(seed)), len(seed))
    edges = random.sample(range(len(source)), len(source))
    place = np.argsort(order)  # node i stands at place[i] in the shuffled order
    score, _ = pagerank(seed, source, target, weight, damping=damping, tolerance=1e-13)
    shuffled, _ = pagerank(
        seed[order], place[source[edges]].astype(np.int64), place[target[edges]].astype(np.int64), weight[edges],
        damping=damping, tolerance=1e-13,
    )  # fmt: skip
    np.testing.assert_allclose(shuffled, score[order], rtol=0, atol=1e-9)


@given(graphs(), st.floats(0, 0.95), st.floats(1e-3, 1e3))
def test_scores_scale_with_the_seeds_and_not_with_the_weights(graph, damping, factor):
    seed, source, target, weight = graph
    score, _ = pagerank(seed, source, target, weight, damping=damping, tolerance=1e-13)
    scaled, _ = pagerank(seed * factor, source, target, weight, damping=damping, tolerance=1e-13)
    same, _ = pagerank(seed, source, target, weight * factor, damping=damping, tolerance=1e-13)
    np.testing.assert_allclose(scaled, score * factor, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(same, score, rtol=1e-9, atol=1e-12)


@given(graphs())
def test_a_node_sends_all_of_its_share_or_nothing(graph):
    seed, source, _, weight = graph
    share = transitions(source, weight, len(seed))
    for node in range(len(seed)):
        sent = share[source == node].sum()
        assert sent == pytest.approx(1.0) if weight[source == node].sum() > 0 else sent == 0
    assert np.isfinite(share).all()


def test_a_sink_keeps_what_it_receives():
    """a -> b, and b sends nothing: PR(a) = 0.5 * 1, PR(b) = 0.5 * PR(a); what b holds is not handed back."""
    edge = np.array([0]), np.array([1]), np.array([3.0])
    score, _ = pagerank(np.array([1.0, 0.0]), *edge, damping=0.5, tolerance=1e-15)
    assert score.tolist() == [0.5, 0.25]


def test_two_nodes_that_send_to_each_other():
    """PR(a) = 0.4 + 0.6 PR(b) and PR(b) = 0.6 PR(a), so PR(a) = 0.4 / 0.64."""
    there_and_back = np.array([0, 1]), np.array([1, 0]), np.array([2.0, 7.0])
    score, _ = pagerank(np.array([1.0, 0.0]), *there_and_back, damping=0.6, tolerance=1e-14)
    np.testing.assert_allclose(score, [0.625, 0.375], atol=1e-12)


def test_edges_of_weight_0_carry_nothing():
    edges = np.array([0, 0, 1]), np.array([1, 2, 0]), np.zeros(3)
    score, iterations = pagerank(np.array([1.0, 2.0, 0.0]), *edges, damping=0.5, tolerance=1e-9)
    assert score.tolist() == [0.5, 1.0, 0.0]
    assert iterations <= 1


def test_without_seeds_or_damping_or_edges_nothing_flows():
    none = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    edge = np.array([0]), np.array([1]), np.array([1.0])
    assert pagerank(np.zeros(2), *edge, damping=0.6, tolerance=1e-9)[0].tolist() == [0, 0]
    assert pagerank(np.array([1.0, 0]), *edge, damping=0.0, tolerance=1e-9)[0].tolist() == [1, 0]
    assert pagerank(np.array([1.0, 0.5]), *none, damping=0.5, tolerance=1e-9)[0].tolist() == [0.5, 0.25]
    assert pagerank(np.empty(0), *none, damping=0.5, tolerance=1e-9)[0].tolist() == []


def test_a_tolerance_below_what_floats_can_tell_still_ends():
    ring = np.arange(5), np.roll(np.arange(5), -1), np.ones(5)
    score, _ = pagerank(np.array([1.0, 0, 0, 0, 0]), *ring, damping=0.9, tolerance=1e-300)
    np.testing.assert_allclose(score, closed_form(np.array([1.0, 0, 0, 0, 0]), *ring, 0.9), atol=1e-12)


def test_nothing_given_is_changed():
    seed, source, target, weight = np.array([1.0, 0.5]), np.array([0, 1]), np.array([1, 0]), np.array([1.0, 2.0])
    copies = [array.copy() for array in (seed, source, target, weight)]
    pagerank(seed, source, target, weight, damping=0.5, tolerance=1e-9)
    for array, copy in zip((seed, source, target, weight), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
