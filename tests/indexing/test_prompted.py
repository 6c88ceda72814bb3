"""The paper's pipeline with a chat model that makes no mistake, and with one that makes each mistake once."""

import json
from collections import Counter

import numpy as np
import pytest
from conversations import FRIENDS, sessions, tail, vectors
from hypothesis import given, settings

from indexing.analysing import analysed, both_modes, entities_are_mentioned, holds_together
from memorai_core.flow import Prompt
from memorai_core.indexing import extractive
from memorai_core.testing import ScriptedChatModel, faithful_reply


def said(**by_step: object) -> ScriptedChatModel:
    """A model that says the given thing at each step (a fused reply is made of the others), in JSON."""

    def reply(prompt: Prompt) -> str:
        if prompt.name == "fused":
            return json.dumps({key: value for part in ("gate", "summary", "triplets", "entities") for key, value in by_step[part].items()})
        return json.dumps(by_step[prompt.name])

    return ScriptedChatModel(reply)


PERFECT = {
    "segmentation": {"starts": [1]},
    "gate": {"kept": [3, 4, 6]},
    "summary": {"summary": "Alice tells Ben of a pottery workshop in Hanoi on 7 May 2023; Ben starts at the museum in June 2023."},
    "triplets": {
        "triplets": [
            {"subject": "Alice", "relation": "went_to", "object": "pottery workshop", "description": "Alice went.", "turns": [3]},
            {"subject": "Clara", "relation": "is_sister_of", "object": "Ben", "description": "Clara is Ben's sister.", "turns": [4]},
            {"subject": "I", "relation": "starts_job_at", "object": "museum", "description": "Ben starts.", "turns": [6]},
            {"subject": "Ben", "relation": "starts_job_in", "object": "June 2023", "description": "Ben starts in June.", "turns": [6]},
        ]
    },
    "entities": {
        "entities": [
            {"name": "Clara", "description": "Ben's sister, a potter.", "turns": [4]},
            {"name": "clara", "description": "She is funny.", "turns": [4]},
            {"name": "museum", "description": "Where Ben will work.", "turns": [6]},
        ]
    },
}


@both_modes
def test_a_segment_holds_what_the_model_said(mode):
    memory = analysed(tail(*FRIENDS), said(**PERFECT), mode)
    (segment,) = memory.segments
    made_by = {"paper": "summary@1", "fused": "fused@1"}[mode]
    assert memory.rejected == {}
    assert segment.kept == {"turn-2", "turn-3", "turn-5"}
    assert (segment.summary, segment.made_by) == (PERFECT["summary"]["summary"], made_by)
    assert [(t.subject, t.relation, t.object, t.source_turns) for t in segment.triplets] == [
        ("Alice", "went_to", "pottery workshop", ("turn-2",)),
        ("Clara", "is_sister_of", "Ben", ("turn-3",)),
        ("Ben", "starts_job_at", "museum", ("turn-5",)),
        ("Ben", "starts_job_in", "June 2023", ("turn-5",)),
    ]
    assert {(t.origin, t.made_by) for t in segment.triplets} == {("model", {"paper": "triplets@1", "fused": "fused@1"}[mode])}
    assert [(e.name, e.description, e.turn_ids) for e in segment.entities] == [
        ("Clara", "Ben's sister, a potter. She is funny.", ("turn-3",)),
        ("museum", "Where Ben will work.", ("turn-5",)),
    ]


def changed(step: str, **changes: object) -> dict[str, object]:
    return {**PERFECT, step: {**PERFECT[step], **changes}}


def triplet(**changes: object) -> dict[str, object]:
    return {"subject": "Alice", "relation": "made", "object": "bowls", "description": "Alice made bowls.", "turns": [3], **changes}


@both_modes
@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"object": "a spaceship"}, "ungrounded"),
        ({"subject": "Napoleon"}, "ungrounded"),
        ({"subject": "she"}, "ungrounded"),
        ({"turns": [4]}, "ungrounded"),
        ({"turns": [5]}, "not_kept"),
        ({"object": "ALICE"}, "of_itself"),
        ({"turns": [99]}, "out_of_range"),
        ({"turns": []}, "malformed"),
        ({"description": None}, "malformed"),
        ({"relation": "x" * 300}, "malformed"),
    ],
)
def test_a_triplet_that_cannot_stand_is_left_out_and_counted(mode, wrong, kind):
    model = said(**changed("triplets", triplets=[triplet(), triplet(**wrong)]))
    memory = analysed(tail(*FRIENDS), model, mode)
    assert [t.object for t in memory.segments[0].triplets] == ["bowls"]
    assert memory.rejected == {f"{'triplets' if mode == 'paper' else 'fused'}:{kind}": 1}


@both_modes
def test_a_triplet_keeps_only_its_kept_turns_and_is_said_once(mode):
    model = said(**changed("triplets", triplets=[triplet(turns=[3, 5]), triplet(relation="Made", turns=[3, 6], description="Again.")]))
    (only,) = analysed(tail(*FRIENDS), model, mode).segments[0].triplets
    assert (only.source_turns, only.description) == (("turn-2", "turn-5"), "Alice made bowls.")


@both_modes
def test_an_entity_that_cannot_stand_is_left_out_and_counted(mode):
    wrong = [{"name": "Godzilla", "description": "A monster.", "turns": [3]}, {"name": "Wow", "description": "A word.", "turns": [5]}]
    memory = analysed(tail(*FRIENDS), said(**changed("entities", entities=[*PERFECT["entities"]["entities"], *wrong])), mode)
    assert [e.name for e in memory.segments[0].entities] == ["Clara", "museum"]
    step = "entities" if mode == "paper" else "fused"
    assert memory.rejected == {f"{step}:ungrounded": 1, f"{step}:not_kept": 1}


@both_modes
def test_where_nothing_is_kept_no_triplet_is_asked_for(mode):
    model = said(**changed("gate", kept=[]) | {"triplets": {"triplets": []}, "entities": {"entities": []}})
    (segment,) = analysed(tail(*FRIENDS), model, mode).segments
    assert (segment.kept, segment.triplets, segment.entities) == (frozenset(), (), ())
    assert segment.summary == PERFECT["summary"]["summary"]
    assert "triplets" not in {prompt.name for prompt in model.prompts}


@both_modes
def test_without_a_gate_every_turn_with_words_is_kept(mode):
    session = tail(*FRIENDS, ("Alice", "  "))
    model = ScriptedChatModel(faithful_reply)
    memory = analysed(session, model, mode, gate=False)
    assert frozenset().union(*(segment.kept for segment in memory.segments)) == {turn.turn_id for turn in session.turns[:-1]}
    assert "gate" not in {prompt.name for prompt in model.prompts}


# Rejection: each step falls back to its extractive function, alone.


def test_rejected_segments_are_cut_extractively():
    session = tail(*FRIENDS)
    model = ScriptedChatModel(lambda prompt: "Sorry!" if prompt.name == "segmentation" else faithful_reply(prompt))
    memory = analysed(session, model, "paper")
    starts = extractive.segment_starts(session.turns, vectors(session))
    assert memory.rejected == {"segmentation:unreadable": 1}
    assert [len(segment.turn_ids) for segment in memory.segments] == np.diff([*starts, 6]).tolist()


@pytest.mark.parametrize("step", ["gate", "summary", "triplets", "entities"])
def test_a_rejected_step_falls_back_and_leaves_the_others_alone(step):
    session = tail(*FRIENDS)
    model = ScriptedChatModel(lambda prompt: "Sorry!" if prompt.name == step else json.dumps(PERFECT[prompt.name]))
    memory = analysed(session, model, "paper")
    assert memory.rejected == {f"{step}:unreadable": 1}
    assert Counter(prompt.name for prompt in model.prompts)[step] == 2
    (segment,) = memory.segments
    assert segment.kept == (extractive.gate(session.turns) if step == "gate" else {"turn-2", "turn-3", "turn-5"})
    fallen = extractive.summarise(session.turns, vectors(session))
    assert (segment.summary, segment.made_by) == (
        (fallen, "extractive") if step == "summary" else (PERFECT["summary"]["summary"], "summary@1")
    )
    assert bool(segment.triplets) == (step != "triplets")
    assert bool(segment.entities) == (step != "entities")


def test_a_rejected_fused_reply_falls_back_for_all():
    session = tail(*FRIENDS)
    memory = analysed(session, ScriptedChatModel(['{"starts": [1]}', "{", "{"]), "fused")
    assert memory.rejected == {"fused:unreadable": 1}
    (segment,) = memory.segments
    assert segment.kept == extractive.gate(session.turns)
    assert segment.summary == extractive.summarise(session.turns, vectors(session))
    assert (segment.triplets, segment.entities, segment.made_by) == ((), (), "extractive")


@pytest.mark.parametrize("lost", ["gate", "summary", "triplets", "entities"])
def test_the_parts_of_a_fused_reply_that_fit_are_taken(lost):
    session = tail(*FRIENDS)
    parts = {**PERFECT, lost: {}}
    memory = analysed(session, said(**parts), "fused")
    (segment,) = memory.segments
    assert memory.rejected == {"fused:unfit": 1}
    assert segment.kept == (extractive.gate(session.turns) if lost == "gate" else {"turn-2", "turn-3", "turn-5"})
    assert segment.made_by == ("extractive" if lost == "summary" else "fused@1")
    assert bool(segment.triplets) == (lost != "triplets")
    assert bool(segment.entities) == (lost != "entities")


@both_modes
def test_a_second_asking_may_be_right(mode):
    model = ScriptedChatModel(lambda prompt: faithful_reply(prompt) if "could not be used" in prompt.text else "{}")
    session = tail(*FRIENDS)
    assert analysed(session, model, mode) == analysed(session, ScriptedChatModel(faithful_reply), mode)


@both_modes
def test_words_are_not_asked_for_where_there_are_none(mode):
    model = ScriptedChatModel(['{"starts": [1, 2]}'])
    memory = analysed(tail(("Alice", ""), ("Ben", " \n")), model, mode)
    assert [(segment.kept, segment.summary) for segment in memory.segments] == [(frozenset(), "")] * 2
    assert [prompt.name for prompt in model.prompts] == ["segmentation"]


# A perfect model, over any conversation


@both_modes
@settings(max_examples=40)
@given(sessions(max_turns=14))
def test_a_perfect_model_is_taken_at_its_word(mode, session):
    model = ScriptedChatModel(faithful_reply)
    memory = analysed(session, model, mode)
    holds_together(session, memory)
    entities_are_mentioned(session, memory)
    assert memory.rejected == {}
    said = [json.loads(faithful_reply(prompt))["triplets"] for prompt in model.prompts if prompt.name in ("fused", "triplets")]
    cited = sum(len({(t["subject"], t["object"].casefold(), number) for t in triplets for number in t["turns"]}) for triplets in said)
    assert sum(len(triplet.source_turns) for segment in memory.segments for triplet in segment.triplets) == cited
