import json

import pytest
from typer.testing import CliRunner

from memorai_core.bench import choice
from memorai_core.bench.ablations import FULL, VARIANTS, ablations
from memorai_core.bench.choice import Choice
from memorai_core.bench.cli import app
from memorai_core.errors import ConfigurationError
from memorai_core.flow import Reply
from memorai_core.settings import Settings

from .generated import locomo_sample, longmemeval_instance, write_locomo, write_longmemeval


def bench(tmp_path, command, *options, data=None, dataset="locomo"):
    out = tmp_path / f"{command}.json"
    where = ["--dataset", dataset, "--data", str(data or write_locomo(tmp_path))]
    cache = [] if command == "stats" else ["--cache", str(tmp_path / "cache")]
    result = CliRunner().invoke(app, [command, *where, *cache, "--json", str(out), *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(out.read_text()), result.output


def test_retrieval_writes_the_shape_that_was_promised(tmp_path, hashing):
    figures, output = bench(tmp_path, "retrieval", "--categories", "1-4", "--systems", "memorai,bm25", "--plot", str(tmp_path / "plots"))
    assert set(figures) >= {"dataset", "data_sha256", "questions", "excluded", "settings", "systems"}
    assert (figures["dataset"], figures["questions"], figures["excluded"]) == ("locomo", 3, 1)
    for system in figures["systems"].values():
        for unit in ("utterance", "pair", "session"):
            assert {metric: set(by_k) for metric, by_k in system[unit].items()} == {
                metric: {"3", "5", "10"} for metric in ("frac", "all", "any", "ndcg")
            }
        assert set(system["latency_ms"]) >= {"p50", "p95"}
        assert {"seconds", "bytes", "nodes", "edges", "kept", "calls_per_session"} <= set(system["index"])
    assert figures["settings"]["categories"] == "1-4"
    assert json.loads(figures["settings"]["systems"]["memorai"])["settings"] == Settings().model_dump()
    assert "bm25" in output
    assert "95 % bootstrap intervals" in output
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == [
        f"locomo-retrieval-{name}.png" for name in ("graph-complexity", "latency-by-graph", "recall-by-category", "recall-by-k")
    ]


def test_annotations_are_told_to_be_the_data_sets_own(tmp_path, hashing):
    figures, output = bench(tmp_path, "retrieval", "--analyzer", "annotations", "--systems", "memorai")
    assert "LoCoMo's own published annotations" in figures["settings"]["annotations"]
    assert "LoCoMo's own" in output


def test_longmemeval_runs_alike(tmp_path, hashing):
    data = write_longmemeval(tmp_path, longmemeval_instance(), longmemeval_instance("q2_abs"))
    figures, _ = bench(tmp_path, "retrieval", "--systems", "memorai,bm25+dense", data=data, dataset="longmemeval")
    assert (figures["questions"], figures["excluded"]) == (1, 1)
    assert figures["systems"]["memorai"]["answer_session"]["any"]["3"] == 100.0
    assert set(figures["systems"]["memorai"]["by_category"]) == {"single-session-user"}


def test_ablations_leave_out_one_part_at_a_time(tmp_path, hashing):
    figures, output = bench(tmp_path, "ablations")
    assert set(figures["systems"]) == {*VARIANTS, "bm25", "bm25+dense"}
    assert set(figures["differences"]) == {f"{FULL} - {name}" for name in figures["systems"] if name != FULL}
    size = {name: (one["index"]["nodes"], one["index"]["edges"]) for name, one in figures["systems"].items()}
    assert size["no sentence layer"][1] < size[FULL][1]
    assert size["segment = turn"][0] > size["segment = session"][0]
    assert figures["systems"]["full graph"]["measured"]["evidence_in_subgraph"] == 100.0
    assert "PageRank ms" in output


def test_ablations_of_the_paper_drop_what_changes_nothing(tmp_path, hashing):
    figures = ablations(Choice("locomo", write_locomo(tmp_path), tmp_path / "cache"), paper=True)
    assert set(figures["systems"]) == {
        FULL, "segment = session", "segment = turn", "no memory gate", "uniform weights", "full graph", "bm25", "bm25+dense",
    }  # fmt: skip


def test_statistics_count_the_file(tmp_path):
    figures, output = bench(tmp_path, "stats", data=write_locomo(tmp_path, locomo_sample("a"), locomo_sample("b")))
    assert figures["totals"]["conversations"] == 2
    assert (figures["totals"]["sessions"], figures["totals"]["turns"], figures["totals"]["questions"]) == (4, 14, 10)
    assert (figures["totals"]["to abstain from"], figures["totals"]["evidence turns"]) == (2, 10)
    assert figures["per_conversation"]["turns"] == 7
    assert figures["categories"]["3"] == {"questions": 2, "without_evidence": 2}
    assert "without evidence" in output


class Stubborn:
    """A chat model that always says the same, and that it cost 10 tokens in and 2 out."""

    def __init__(self, text="not what was asked for"):
        self.text = text
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return [Reply(self.text, 10, 2) for _ in prompts]

    async def agenerate(self, prompts):
        return self.generate(prompts)


def test_cost_and_robustness_count_what_a_model_was_asked(tmp_path, hashing, monkeypatch):
    model = Stubborn()
    monkeypatch.setattr(choice, "open_chat_model", lambda name: model)
    cost, output = bench(tmp_path, "cost", "--model", "some:model", "--systems", "memorai")
    spent = cost["systems"]["memorai"]
    assert spent["sessions"] == 2
    assert spent["calls"] == len(model.prompts) > 0
    assert spent["input_tokens_per_session"] == 10 * spent["calls_per_session"]
    assert spent["output_tokens_per_session"] == 2 * spent["calls_per_session"]
    assert "tokens/session" in output
    asked = len(model.prompts)
    robustness, output = bench(tmp_path, "robustness", "--model", "some:model", "--systems", "memorai")
    assert len(model.prompts) == asked  # the replies were kept
    found = robustness["systems"]["memorai"]
    assert found["calls"] == found["structured"] == sum(found["refused"].values()) == spent["calls"]
    assert (found["error_rate"], found["malformed_rate"]) == (100.0, 100.0)
    assert all(kind.endswith(":unreadable") for kind in found["refused"])
    assert found["rejected"]
    assert "refused %" in output


def test_models_repeat_the_run(tmp_path, hashing, monkeypatch):
    monkeypatch.setattr(choice, "open_chat_model", lambda name: Stubborn(name))
    figures, _ = bench(tmp_path, "retrieval", "--analyzer", "prompted", "--models", "x:one,x:two", "--systems", "memorai,bm25")
    assert set(figures["systems"]) == {"memorai[x:one]", "bm25", "memorai[x:two]"}


@pytest.mark.parametrize("options", [["--dataset", "locomotive"], ["--analyzer", "magic"], ["--limit", "0"], []])
def test_wrong_usage_is_told(tmp_path, options):
    result = CliRunner().invoke(app, ["retrieval", "--data", str(write_locomo(tmp_path)), *options])
    assert result.exit_code == 2


def test_a_prompted_run_needs_a_model(tmp_path, hashing):
    with pytest.raises(ConfigurationError, match="--model"):
        bench(tmp_path, "retrieval", "--analyzer", "prompted")
