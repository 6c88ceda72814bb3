import json
import re

import pytest

from memorai_core.bench import choice
from memorai_core.bench.answers import NO_ANSWER, Answering, answer_all, evidence_for, turns_only
from memorai_core.bench.choice import Choice, open_run
from memorai_core.bench.registry import Workshop, entrants_of
from memorai_core.bench.replies import RememberedChatModel
from memorai_core.bench.systems import Query
from memorai_core.bench.wording import token_f1, wording
from memorai_core.flow import Prompt, Reply

from .fakes import one_case, until_the_end
from .generated import longmemeval_instance, write_locomo, write_longmemeval
from .test_commands import bench


class Respondent:
    """Answers from a table of words in the question, judges by the words in common; keeps the prompts."""

    def __init__(self, answers):
        self.answers = answers
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return [Reply(self._judged(prompt.text) if prompt.name == "judge" else self._answered(prompt.text)) for prompt in prompts]

    async def agenerate(self, prompts):
        return self.generate(prompts)

    def _answered(self, text):
        question = re.findall(r"Question: (.*)", text)[-1]
        return next((answer for word, answer in self.answers.items() if word in question), "[none] It is not said.")

    def _judged(self, text):
        wanted, given = (re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)[1].lower() for name in ("reference", "response"))
        return json.dumps({"reason": "as told", "right": wanted in given or ("cannot be answered" in wanted and "not said" in given)})


ANSWERS = {"cat": "Pixel [1]", "bake": "Cake [1].", "dog": "Lisbon"}


def test_token_f1_by_hand():
    assert token_f1("The cat, Pixel!", "pixel cat") == 100.0
    assert token_f1("Pixel", "the grey Pixel") == pytest.approx(100 * 2 * 1 * 0.5 / 1.5)
    assert token_f1("dog", "cat") == 0.0
    assert token_f1("", "cat") == 0.0


def test_wording_leaves_citations_out():
    (same, other) = wording(["Pixel the cat [1][2].", "no"], ["Pixel the cat.", "yes"])
    assert (same["f1"], same["rouge1"], same["rouge2"], same["rougeL"]) == (100.0, 100.0, 100.0, 100.0)
    assert same["bleu"] == pytest.approx(100.0)
    assert other["f1"] == other["rouge1"] == 0.0


def test_answers_are_scored_by_hand(tmp_path, hashing):
    model = Respondent(ANSWERS)
    with open_run(Choice("locomo", write_locomo(tmp_path), tmp_path / "cache")) as opened:
        entrants = entrants_of(["memorai", "full-history", "bm25"], opened.workshops())
        figures = answer_all(opened, entrants, Answering(model, judge=model, k=3))
    assert set(figures) == {"memorai", "memorai, turns only", "full-history", "bm25"}
    for system in figures.values():
        categories = system["by_category"]
        # Pixel is right, cake is wrong, the two others of 1-4 are abstained from; the trap of 5 is answered.
        assert categories["4"]["f1"] == categories["4"]["judge"] == 100.0
        assert categories["1"]["judge"] == categories["1"]["f1"] == 0.0
        assert categories["1-4"]["questions"] == 4
        assert (categories["1-4"]["judge"], categories["1-4"]["abstained"]) == (25.0, 50.0)
        assert (categories["5"]["judge"], categories["5"]["abstained"], categories["5"]["trap_f1"]) == (0.0, 0.0, 100.0)
        assert "f1" not in categories["5"]
        assert system["overall"]["questions"] == 5
        assert system["answers"][0] == {"question_id": "conv-1/0", "response": "Pixel [1]", "abstained": False, "right": 1}


def test_what_is_shown_depends_on_the_system(tmp_path, hashing):
    model = Respondent({})
    with open_run(Choice("locomo", write_locomo(tmp_path), tmp_path / "cache", categories="4", analyzer="annotations")) as opened:
        figures = answer_all(opened, entrants_of(["memorai", "full-history", "bm25"], opened.workshops()), Answering(model, k=2))
    with_triplets, turns, whole, words = [prompt.text for prompt in model.prompts]
    assert "<relation " in with_triplets
    assert "<relation " not in turns
    assert [text.count("<turn n=") for text in (with_triplets, turns, whole, words)] == [2, 2, 7, 2]
    assert "judge" not in figures["memorai"]["overall"]
    assert figures["memorai"]["overall"]["abstained"] == 100.0


def test_abstaining_is_right_where_nothing_is_said(tmp_path, hashing):
    model = Respondent({})
    data = write_longmemeval(tmp_path, longmemeval_instance("q1_abs", answer="You did not mention it, it cannot be answered."))
    with open_run(Choice("longmemeval", data, tmp_path / "cache")) as opened:
        figures = answer_all(opened, entrants_of(["bm25"], opened.workshops()), Answering(model, judge=model))
    overall = figures["bm25"]["overall"]
    assert (overall["abstained"], overall["judge"], overall["questions"]) == (100.0, 100.0, 1)
    assert "30 May 2023" in model.prompts[0].text
    assert NO_ANSWER.endswith("cannot be answered.")


def test_a_judge_whose_replies_are_refused_does_not_count(tmp_path, hashing):
    class Mute(Respondent):
        def _judged(self, text):
            return "hm"

    model = Mute(ANSWERS)
    with open_run(Choice("locomo", write_locomo(tmp_path), tmp_path / "cache")) as opened:
        figures = answer_all(opened, entrants_of(["bm25"], opened.workshops()), Answering(model, judge=model))
    assert "judge" not in figures["bm25"]["overall"]


def test_the_command(tmp_path, hashing, monkeypatch):
    monkeypatch.setattr(choice, "open_chat_model", lambda name: Respondent(ANSWERS))
    figures, output = bench(tmp_path, "answers", "--model", "x:y", "--judge", "x:y", "--systems", "memorai,bm25", "-k", "3")
    assert (figures["settings"]["judge"], figures["settings"]["k"], figures["settings"]["command"]) == ("x:y", 3, "answers")
    assert figures["questions"] == 5
    assert "memorai, turns only, 1-4" in output
    assert "rougeL" in output


def test_several_models_answer_one_after_another(tmp_path, hashing, monkeypatch):
    monkeypatch.setattr(choice, "open_chat_model", lambda name: Respondent(ANSWERS if name == "x:one" else {}))
    figures, _ = bench(tmp_path, "answers", "--models", "x:one,x:two", "--systems", "bm25")
    right = {name: one["by_category"]["4"]["f1"] for name, one in figures["systems"].items()}
    assert right == {"bm25[x:one]": 100.0, "bm25[x:two]": 0.0}


def test_evidence_of_a_system_without_triplets(tmp_path):
    case, layout, embedder = one_case(tmp_path)
    (entrant,) = entrants_of(["bm25"], [Workshop(embedder)])
    entrant.system.index(case, layout)
    evidence = evidence_for(entrant.system, Query("sourdough ribbon", embedder.query("sourdough ribbon")[0]), case, layout, 2)
    best = evidence.turns[0]
    assert (best.source_id, best.session_id, best.position, best.speaker) == ("D2:1", "session_2", 0, "Ben")
    assert len(evidence.turns) == 2
    assert turns_only(evidence) == evidence


def remembered(model, folder, identity):
    return until_the_end(RememberedChatModel(model, folder, identity))


def test_replies_are_remembered_with_what_they_cost(tmp_path):
    class Once:
        calls = 0

        def generate(self, prompts):
            self.calls += len(prompts)
            return [Reply(prompt.text.upper(), 5, 1) for prompt in prompts]

        async def agenerate(self, prompts):
            return self.generate(prompts)

    inner = Once()
    prompts = [Prompt(text, "p", "1") for text in ("a", "b")]
    first = remembered(inner, tmp_path, "model")
    assert [reply.text for reply in first.generate(prompts)] == ["A", "B"]
    first.close()
    second = remembered(inner, tmp_path, "model")
    again = second.generate([*prompts[::-1], Prompt("c", "p", "1")])
    assert [(reply.text, reply.input_tokens) for reply in again] == [("B", 5), ("A", 5), ("C", 5)]
    assert inner.calls == 3
    other = remembered(inner, tmp_path, "another model")
    other.generate(prompts)
    assert inner.calls == 5


async def test_replies_are_remembered_in_the_async_world_too(tmp_path):
    class Once:
        def generate(self, prompts):
            raise AssertionError

        async def agenerate(self, prompts):
            return [Reply(prompt.text, 1, 1) for prompt in prompts]

    model = remembered(Once(), tmp_path, "model")
    await model.agenerate([Prompt("a", "p", "1")])
    assert model.generate([Prompt("a", "p", "1")])[0].text == "a"
