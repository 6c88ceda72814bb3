import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.bench.baselines.analysis import Analyses
from memorai_core.bench.baselines.groups import segments, spread, summaries
from memorai_core.bench.baselines.ppr import Graph, PersonalizedPageRank, similar_pairs
from memorai_core.bench.baselines.trees import MemTree, Node, Raptor, central_text, cluster
from memorai_core.bench.baselines.vectors import normalised
from memorai_core.bench.systems import Query
from memorai_core.bench.units import UNITS
from memorai_core.indexing.extractive import ExtractiveAnalyzer

from .fakes import one_case

NAMES = ("segments", "summaries", "ppr", "raptor", "memtree")


def build(name, embedder):
    analyses = Analyses(lambda case: ExtractiveAnalyzer(), embedder)
    return {
        "segments": lambda: segments(analyses, embedder),
        "summaries": lambda: summaries(analyses, embedder),
        "ppr": lambda: PersonalizedPageRank(analyses, embedder),
        "raptor": lambda: Raptor(embedder),
        "memtree": lambda: MemTree(embedder),
    }[name]()


@pytest.mark.parametrize("name", NAMES)
def test_every_reading_ranks_all_turns_and_finds_the_plain_answer(tmp_path, name):
    case, layout, embedder = one_case(tmp_path)
    system = build(name, embedder)
    statistics = system.index(case, layout)
    assert (statistics.turns, statistics.sessions) == (7, 2)
    text = "My sourdough won a ribbon at the county fair"
    query = Query(text, embedder.query(text)[0])
    rankings = {unit: system.rank(query, unit, 10) for unit in UNITS}
    assert {unit: sorted(ranking) for unit, ranking in rankings.items()} == {unit: list(range(layout.count(unit))) for unit in UNITS}
    if name != "summaries":
        assert rankings["session"][0] == 1
        assert 3 in rankings["utterance"][:2]
    again = build(name, embedder)
    again.index(case, layout)
    assert again.rank(query, "utterance", 10) == rankings["utterance"]


def test_summaries_stand_for_their_segments(tmp_path):
    case, layout, embedder = one_case(tmp_path)
    analyses = Analyses(lambda case: ExtractiveAnalyzer(), embedder)
    system = summaries(analyses, embedder)
    system.index(case, layout)
    for number, segment in enumerate(analyses.of(case, layout).segments):
        ranking = system.rank(Query(segment.summary, embedder.query(segment.summary)[0]), "utterance", 10)
        assert set(ranking[: len(segment.turn_ids)]) == set(analyses.of(case, layout).places(number))


def test_the_analysis_of_a_case_is_made_once(tmp_path):
    case, layout, embedder = one_case(tmp_path)
    made = []
    analyses = Analyses(lambda case: made.append(case) or ExtractiveAnalyzer(), embedder)
    first = analyses.of(case, layout)
    assert analyses.of(case, layout) is first
    assert made == [case]
    assert [place for number in range(len(first.segments)) for place in first.places(number)] == list(range(7))
    assert first.statistics.kept == 7
    assert any(triplet.description == "Ana: Pixel already sleeps on my piano." for one in first.segments for triplet in one.triplets)


def test_spread_puts_the_closest_first_and_every_turn_once():
    closeness = np.array([0.1, 0.9, 0.5, 0.2, 0.7])
    assert spread([[2, 3], [0, 2]], closeness) == [2, 3, 0, 1, 4]


@given(st.integers(2, 8), st.data())
def test_the_walk_solves_its_equation(nodes, data):
    pair = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda ends: ends[0] < ends[1])
    links = data.draw(st.sets(pair))
    seeds = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=nodes, max_size=nodes)))
    restart = seeds / seeds.sum()
    step = np.zeros((nodes, nodes))
    for first, second in links:
        step[first, second] = step[second, first] = 1
    degrees = step.sum(axis=1)
    step = np.where(degrees[:, None] > 0, step / np.maximum(degrees, 1)[:, None], restart[None])
    solved = np.linalg.solve(np.eye(nodes) - 0.5 * step.T, 0.5 * restart)
    np.testing.assert_allclose(Graph(nodes, links).walk(seeds), solved, atol=1e-8)


def test_a_walk_from_nowhere_gives_nothing():
    assert Graph(3, [(0, 1)]).walk(np.zeros(3)).tolist() == [0, 0, 0]


def test_similar_pairs_are_all_pairs_above_the_threshold():
    vectors = normalised(np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32))
    close = vectors @ vectors.T
    expected = {(i, j) for i in range(30) for j in range(i + 1, 30) if close[i, j] >= 0.5}
    assert set(similar_pairs(vectors, 0.5, block=7)) == expected
    assert expected


def test_clusters_gather_what_points_the_same_way():
    rng = np.random.default_rng(3)
    centres = np.eye(4, dtype=np.float32)
    vectors = normalised((np.repeat(centres, 6, axis=0) + rng.normal(0, 0.05, size=(24, 4))).astype(np.float32))
    labels = cluster(vectors, 4, seed=1)
    assert labels == cluster(vectors, 4, seed=1)
    groups = {frozenset(np.flatnonzero(np.array(labels) == label).tolist()) for label in set(labels)}
    assert all(len({place // 6 for place in group}) == 1 for group in groups)


def test_central_text_is_whole_texts_in_order_within_the_bound():
    nodes = [Node(np.array([1, place / 10], dtype=np.float32), [place], f"{place}" * 500) for place in range(4)]
    text = central_text(nodes)
    assert len(text) == 500
    short = [Node(node.vector, node.leaves, node.text[:5]) for node in nodes]
    assert central_text(short) == "00000\n11111\n22222\n33333"


@pytest.mark.parametrize("tree", [Raptor, MemTree])
def test_each_turn_is_one_leaf_and_each_parent_holds_its_childrens_turns(tmp_path, tree):
    case, layout, embedder = one_case(tmp_path)
    system = tree(embedder)
    system.CLUSTER = 2
    system.index(case, layout)
    leaves = [node for node in system._nodes if not node.children]
    assert sorted(node.leaves[0] for node in leaves) == list(range(7))
    for node in system._nodes:
        if node.children:
            assert sorted(node.leaves) == sorted(leaf for child in node.children for leaf in child.leaves)
