"""What unruly models reply, at every step: nothing raises, no turn is lost, no triplet lacks a source, every refusal counts."""

import json
from functools import cache

import pytest
from conversations import FRIENDS, sessions, tail
from hypothesis import given, settings
from hypothesis import strategies as st
from indexing.analysing import analysed, holds_together
from sabotage import CORPUS, GOOD, SABOTAGES, STEPS

from memorai_core.flow import Prompt
from memorai_core.models import SessionMemory
from memorai_core.testing import ScriptedChatModel, faithful_reply

SESSION = tail(*FRIENDS)
KEYS = ["starts", "kept", "summary", "triplets", "entities", "subject", "relation", "object", "name", "description", "turns"]


def remembered(step: str, text: str, *, once: bool = False) -> tuple[SessionMemory, ScriptedChatModel]:
    """The memory of the session where one step replies the given text (`once`: at the first asking alone), and the others well."""

    def reply(prompt: Prompt) -> str:
        if prompt.name == step and not (once and "could not be used" in prompt.text):
            return text
        if step == "segmentation" and prompt.name != step:
            return faithful_reply(prompt)
        return '{"starts": [1]}' if prompt.name == "segmentation" != step else json.dumps(GOOD[prompt.name])

    model = ScriptedChatModel(reply)
    return analysed(SESSION, model, "fused" if step == "fused" else "paper"), model


def test_the_sabotage_corpus_is_large():
    assert len({(step, text) for step, text, _ in (param.values for param in CORPUS)}) >= 200
    assert len(SABOTAGES) >= 100


@pytest.mark.parametrize("step", STEPS)
def test_without_sabotage_nothing_is_rejected(step):
    memory = good_memory(step)
    holds_together(SESSION, memory)
    assert memory.rejected == {}
    assert all(segment.triplets and segment.entities for segment in memory.segments)
    assert len(memory.segments) == (2 if step == "segmentation" else 1)


@cache
def good_memory(step: str) -> SessionMemory:
    return remembered(step, json.dumps(GOOD[step]))[0]


@pytest.mark.parametrize(("step", "text", "fate"), CORPUS)
def test_sabotage(step, text, fate):
    memory, model = remembered(step, text)
    holds_together(SESSION, memory)
    if fate == "mended":
        assert memory == good_memory(step)
        assert not asked_again(model)
    elif fate == "refused":
        assert any(kind.startswith(f"{step}:") for kind in memory.rejected)
    elif fate == "one of both":
        assert memory.rejected or memory == good_memory(step)
    assert len(model.prompts) <= 2 * (1 + 4 * len(memory.segments))
    if asked_again(model):  # a model that does better at the second asking
        assert remembered(step, text, once=True)[0] == good_memory(step)


def asked_again(model: ScriptedChatModel) -> bool:
    return any("could not be used" in prompt.text for prompt in model.prompts)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 12)
    | st.floats(allow_nan=True)
    | st.sampled_from(["Alice", "bowls", "1", "", "she", "é\n'\""]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=24,
)
_REPLIES = st.one_of(
    _JSON.map(json.dumps),
    _JSON.map(repr),
    st.text(max_size=80),
    st.tuples(st.sampled_from(STEPS), st.integers(0, 400), st.text(alphabet="{}[]\"',:\\ a1", max_size=6)).map(
        lambda how: (text := json.dumps(GOOD[how[0]]))[: how[1] % len(text)] + how[2] + text[how[1] % len(text) + len(how[2]) :]
    ),
)


@settings(max_examples=150)
@given(st.sampled_from(["paper", "fused"]), sessions(max_turns=8), st.lists(_REPLIES, min_size=1, max_size=12))
def test_random_sabotage(mode, session, replies):
    holds_together(session, analysed(session, ScriptedChatModel(replies, cycle=True), mode))


@settings(max_examples=150)
@given(st.sampled_from(STEPS), st.data())
def test_random_sabotage_of_one_step_is_mended_or_counted(step, data):
    good = json.dumps(GOOD[step])
    lost = data.draw(st.integers(1, len(good)))
    text = good[:-lost]
    memory, _ = remembered(step, text)
    holds_together(SESSION, memory)
    cut_behind_an_element = text.endswith(("}", "]"))  # what came after it cannot be known of
    assert memory.rejected or cut_behind_an_element or memory == good_memory(step)
