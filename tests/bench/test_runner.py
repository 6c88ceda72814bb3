import numpy as np
import pytest

from memorai_core.bench.baselines.flat import Flat, Words
from memorai_core.bench.datasets import open_dataset
from memorai_core.bench.memory_system import MemoryFiles
from memorai_core.bench.metrics import DEPTH
from memorai_core.bench.names import SYSTEMS
from memorai_core.bench.registry import Workshop, entrant, entrants_of, memory_entrant
from memorai_core.bench.report import retrieval_report, tally
from memorai_core.bench.runner import Entrant, run
from memorai_core.bench.systems import IndexStatistics
from memorai_core.bench.units import UNITS
from memorai_core.errors import ConfigurationError
from memorai_core.settings import Settings

from .fakes import AskedEmbedder, cached, kept_in
from .generated import locomo_sample, longmemeval_instance, write_locomo, write_longmemeval


class InOrder:
    """Ranks from the first turn on, and counts what it is asked."""

    name = "in-order"

    def __init__(self, fail_at=None):
        self.indexed = []
        self.fail_at = fail_at

    def index(self, case, layout):
        if case.conversation.user_id == self.fail_at:
            raise KeyboardInterrupt
        self.indexed.append(case.conversation.user_id)
        self.layout = layout
        return IndexStatistics(
            nodes=4, edges=3, bytes=2_000_000, turns=len(layout.messages), kept=5, sessions=2, calls=4, rejected={"shape": 1}
        )

    def rank(self, query, unit, k):
        return list(range(self.layout.count(unit)))

    def close(self):
        pass


@pytest.fixture
def opened(tmp_path):
    dataset = open_dataset("locomo", write_locomo(tmp_path, locomo_sample("a"), locomo_sample("b")))
    embedder, outcomes = cached(AskedEmbedder(), tmp_path / "cache"), kept_in(tmp_path / "cache")
    return dataset, embedder, outcomes


def test_a_stopped_run_goes_on_where_it_was(opened):
    dataset, embedder, outcomes = opened
    stopped = InOrder(fail_at="b")
    with pytest.raises(KeyboardInterrupt):
        list(run(dataset, [Entrant("x", stopped, "")], embedder, outcomes))
    assert stopped.indexed == ["a"]
    again = InOrder()
    finished = list(run(dataset, [Entrant("x", again, "")], embedder, outcomes))
    assert again.indexed == ["b"]
    assert [one.case.conversation.user_id for one in finished] == ["a", "b"]
    other = InOrder()
    list(run(dataset, [Entrant("x", other, "other settings")], embedder, outcomes, limit=1))
    assert other.indexed == ["a"]


def test_kept_outcomes_are_the_same_as_fresh_ones(opened):
    dataset, embedder, outcomes = opened
    entrants = [Entrant("bm25", Flat("bm25", Words()), "")]
    fresh = [one.outcome for one in run(dataset, entrants, embedder, outcomes)]
    kept = [one.outcome for one in run(dataset, entrants, embedder, outcomes)]
    assert kept == fresh


def test_the_report_by_hand(opened):
    dataset, embedder, outcomes = opened
    entrants = [Entrant("memorai", InOrder(), ""), Entrant("bm25", Flat("bm25", Words()), "")]
    tallies, excluded = tally(run(dataset, entrants, embedder, outcomes), "locomo", frozenset("1234"))
    report = retrieval_report(dataset, tallies, excluded, {"command": "retrieval"})
    assert (report["dataset"], report["data_sha256"], report["questions"], report["excluded"]) == ("locomo", dataset.sha256, 6, 2)
    # In order: the cat at place 1; sourdough at 2 and 4; pottery at 5. Three questions of each of two equal samples.
    system = report["systems"]["memorai"]
    assert system["utterance"]["frac"] == {"3": 50.0, "5": 100.0, "10": 100.0}
    assert system["utterance"]["all"] == {"3": 33.33, "5": 100.0, "10": 100.0}
    assert system["utterance"]["any"] == {"3": 66.67, "5": 100.0, "10": 100.0}
    assert system["session"]["frac"] == {"3": 100.0, "5": 100.0, "10": 100.0}
    assert system["pair"]["any"]["3"] == 100.0
    assert set(system["by_category"]) == {"1", "2", "4"}
    assert system["by_category"]["1"]["questions"] == 2
    assert system["by_category"]["1"]["utterance"]["frac"]["3"] == 50.0
    assert set(system["latency_ms"]) >= {"p50", "p95"}
    index = system["index"]
    assert (index["nodes"], index["edges"], index["bytes"], index["density"]) == (4, 3, 2_000_000, 0.5)
    assert (index["kept"], index["calls_per_session"], index["rejected"]) == (round(10 / 14, 4), 2.0, {"shape": 2})
    low, high = system["intervals"]["utterance"]["frac"]["3"]
    assert 0 <= low <= 50 <= high <= 100
    difference = report["differences"]["memorai - bm25"]["utterance"]["frac"]["3"]
    other = report["systems"]["bm25"]["utterance"]["frac"]["3"]
    assert difference["mean"] == pytest.approx(50.0 - other, abs=0.01)
    assert difference["low"] <= difference["mean"] <= difference["high"]


def test_all_categories_with_their_sums(opened):
    dataset, embedder, outcomes = opened
    tallies, excluded = tally(run(dataset, [Entrant("x", InOrder(), "")], embedder, outcomes), "locomo", None)
    categories = retrieval_report(dataset, tallies, excluded, {})["systems"]["x"]["by_category"]
    # Category 3 has no question with evidence, so its sums with others are not told as 1-4 and 1-5.
    assert set(categories) == {"1", "2", "4", "5"}
    assert excluded == 2


def test_sums_of_categories_where_all_are_there(tmp_path):
    sample = locomo_sample("a", qa=[{"question": f"q{n}", "answer": "a", "evidence": ["D1:1"], "category": n} for n in range(1, 6)])
    dataset = open_dataset("locomo", write_locomo(tmp_path, sample))
    embedder, outcomes = cached(AskedEmbedder(), tmp_path / "cache"), kept_in(tmp_path / "cache")
    tallies, _ = tally(run(dataset, [Entrant("x", InOrder(), "")], embedder, outcomes), "locomo", None)
    categories = retrieval_report(dataset, tallies, 0, {})["systems"]["x"]["by_category"]
    assert (categories["1-4"]["questions"], categories["1-5"]["questions"]) == (4, 5)


def test_longmemeval_is_also_judged_by_the_sessions_it_lists(tmp_path):
    dataset = open_dataset("longmemeval", write_longmemeval(tmp_path, longmemeval_instance(answer_session_ids=["s1", "s2"])))
    embedder, outcomes = cached(AskedEmbedder(), tmp_path / "cache"), kept_in(tmp_path / "cache")
    (one,) = run(dataset, [Entrant("x", InOrder(), "")], embedder, outcomes)
    assert one.case.questions[0].answer_sessions == ("s1", "s2", "s1#2")
    tallies, _ = tally([one], "longmemeval", None)
    assert np.array(tallies["x"].gold).tolist() == [[2, 2, 2, 3]]


def test_memorai_and_the_paper_rank_through_a_memory(opened):
    dataset, embedder, outcomes = opened
    workshop = Workshop(embedder)
    for name in ("memorai", "paper"):
        one = entrant(name, workshop)
        finished = list(run(dataset, [one], embedder, outcomes, limit=1))
        ranked = finished[0].outcome.ranked["a/0"]
        assert len(set(ranked.best["utterance"])) == len(ranked.best["utterance"]) <= DEPTH
        assert 0 <= ranked.measured["evidence_in_subgraph"] <= 100
        assert ranked.measured["pagerank_ms"] > 0
    statistics = finished[0].outcome.statistics
    assert (statistics.turns, statistics.sessions, statistics.kept) == (7, 2, 7)
    assert statistics.nodes > 7
    assert statistics.edges > 0


def test_a_memory_finds_the_plain_answer_in_every_unit(opened):
    dataset, embedder, outcomes = opened
    (one,) = run(dataset, [entrant("memorai", Workshop(embedder))], embedder, outcomes, limit=1)
    assert one.outcome.ranked["a/0"].best["utterance"][0] in (0, 2)
    assert {unit: one.outcome.ranked["a/0"].best[unit][0] for unit in ("pair", "session")} == {"pair": 0, "session": 0}
    assert sorted(one.outcome.ranked["a/0"].best["session"]) == [0, 1]


def test_ways_of_reading_share_an_index(opened):
    dataset, embedder, outcomes = opened
    workshop = Workshop(embedder)
    made = []
    files = MemoryFiles(lambda case, settings: made.append(settings) or workshop.analyzer_for(case, settings), embedder)
    settings = [Settings(), Settings(weights="uniform"), Settings(segmentation="turn")]
    entrants = [memory_entrant(str(number), one, workshop, files, shared=True) for number, one in enumerate(settings)]
    list(run(dataset, entrants, embedder, outcomes))
    files.close()
    assert [one.segmentation for one in made] == ["topical", "turn"] * 2


@pytest.mark.parametrize("name", [*SYSTEMS, "bm25@session", "dense@pair", "bm25-stemmed", "bm25+dense@utterance"])
def test_every_name_makes_a_system_that_ranks(opened, name):
    dataset, embedder, outcomes = opened
    (one,) = run(dataset, [entrant(name, Workshop(embedder))], embedder, outcomes, limit=1)
    assert one.entrant == name
    assert set(one.outcome.ranked["a/0"].best) == set(UNITS)


@pytest.mark.parametrize("name", ["bm26", "bm25@chapter", "memorai@session", ""])
def test_other_names_are_refused(opened, name):
    with pytest.raises(ConfigurationError, match="bm25"):
        entrant(name, Workshop(opened[1]))


def test_systems_that_need_a_model_come_once_a_model(opened):
    workshops = [Workshop(opened[1], model_name=name) for name in ("one", "two")]
    names = [one.name for one in entrants_of(["memorai", "bm25"], workshops)]
    assert names == ["memorai[one]", "bm25", "memorai[two]"]
    assert [one.name for one in entrants_of(["memorai"], workshops[:1])] == ["memorai"]
