"""What a long session costs: prompts of bounded size, few calls, and rounds that run side by side."""

import asyncio
import json
import os
import time
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conversations import FRIENDS, sessions, tail, turn, vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from indexing.analysing import MODES, Mode, analysed, both_modes, holds_together
from memorai_core.flow import Prompt, Usage, arun, run
from memorai_core.formats import read_conversations
from memorai_core.indexing import index_session
from memorai_core.indexing.prompted import PromptedAnalyzer
from memorai_core.models import SessionTail
from memorai_core.testing import ScriptedChatModel, faithful_reply


@both_modes
@settings(max_examples=40)
@given(sessions(max_turns=30), st.integers(1, 7), st.lists(st.integers(1, 7), min_size=1, max_size=6))
def test_however_a_long_session_is_cut_no_turn_is_lost(mode, session, stretch, starts):
    def reply(prompt: Prompt) -> str:
        return json.dumps({"starts": starts}) if prompt.name == "segmentation" else faithful_reply(prompt)

    model = ScriptedChatModel(reply)
    memory = analysed(session, model, mode, stretch_turns=stretch)
    holds_together(session, memory)
    assert max(prompt.cites for prompt in model.prompts if prompt.cites) <= stretch if model.prompts else True
    assert max(len(segment.turn_ids) for segment in memory.segments) <= stretch
    asked = sum(prompt.name == "segmentation" for prompt in model.prompts)
    assert asked <= 2 * (2 * len(session.turns) // stretch + 1)


def numbered(count: int, words: int = 6) -> SessionTail:
    text = " ".join(["hiking"] * words)
    return SessionTail("u", "s", tuple(turn(n, "Alice", f"topic{n // 10} {text} {n}") for n in range(count)))


@both_modes
def test_a_prompt_does_not_grow_with_the_session(mode):
    longest = {}
    for count in (60, 600):
        model = ScriptedChatModel(faithful_reply)
        analysed(numbered(count), model, mode)
        longest[count] = max(len(prompt.text) for prompt in model.prompts)
    assert longest[600] <= longest[60] * 1.1


@both_modes
def test_a_prompt_does_not_grow_with_a_turn(mode):
    session = SessionTail("u", "s", tuple(turn(n, "Alice", f"{n} " + "hiking & " * 4_000) for n in range(8)))
    model = ScriptedChatModel(faithful_reply)
    analysed(session, model, mode, stretch_characters=12_000)
    assert max(len(prompt.text) for prompt in model.prompts) < 30_000
    assert all("characters left out" in prompt.text for prompt in model.prompts)


def test_a_segment_that_runs_over_a_stretch_is_cut_with_the_next_one():
    def reply(prompt: Prompt) -> str:
        if prompt.name != "segmentation":
            return faithful_reply(prompt)
        body = prompt.text.rpartition("<conversation>")[2]
        topics = [line.partition(">topic")[2].partition(" ")[0] for line in body.split("\n") if "<turn n=" in line]
        return json.dumps({"starts": [1, *(n + 2 for n, (a, b) in enumerate(pairwise(topics)) if a != b)]})

    memory = analysed(numbered(50), ScriptedChatModel(reply), "fused", stretch_turns=25)
    assert [len(segment.turn_ids) for segment in memory.segments] == [10] * 5


def test_the_turns_before_a_segment_are_context():
    model = ScriptedChatModel(faithful_reply)
    analysed(tail(*FRIENDS, *FRIENDS, context=4), model, "fused")
    assert model.prompts[0].text.count('<turn by="') == 3
    second = model.prompts[2].text
    assert second.count('<turn by="') == 3
    assert second.rindex('<turn by="') < second.index('<turn n="1"')


def test_fixed_segmentation_asks_nothing_for_it():
    for how, expected in (("session", [6]), ("turn", [1] * 6)):
        model = ScriptedChatModel(faithful_reply)
        memory = analysed(tail(*FRIENDS), model, "fused", segmentation=how)
        assert [len(segment.turn_ids) for segment in memory.segments] == expected
        assert {prompt.name for prompt in model.prompts} == {"fused"}


# What it costs


@both_modes
def test_segments_are_asked_for_side_by_side(mode):
    model = ScriptedChatModel(faithful_reply)
    segments = len(analysed(numbered(30), model, mode).segments)
    assert segments == 5
    assert model.batches == ([1, 5] if mode == "fused" else [1, 10, 5, 5])


@settings(max_examples=40)
@given(sessions(max_turns=20), st.booleans())
def test_fused_takes_at_most_two_calls_a_segment_and_one_a_session(session, obedient):
    def reply(prompt: Prompt) -> str:
        return faithful_reply(prompt) if obedient or prompt.name == "segmentation" else "no"

    model = ScriptedChatModel(reply)
    segments = len(analysed(session, model, "fused").segments)
    assert len(model.prompts) <= 2 * segments + 1


def tokens_by_mode(tails: list[SessionTail]) -> dict[Mode, int]:
    tokenizer = Tokenizer.from_file(str(files("memorai_core.embedding") / "data" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    used: dict[Mode, int] = {}
    for mode in MODES:
        usage = Usage()
        model = ScriptedChatModel(faithful_reply, count_tokens=lambda text: len(tokenizer.encode(text).ids))
        for session in tails:
            analyzer = PromptedAnalyzer(prompting=mode)
            run(analyzer.analyze(session, np.zeros((len(session.turns), 4), np.float32)), model, usage)
        used[mode] = usage.input_tokens
    return used


def test_fused_takes_at_most_half_of_papers_input_tokens():
    used = tokens_by_mode([tail(*(FRIENDS * 4)), numbered(20), numbered(9, words=200)])
    assert used["fused"] <= 0.5 * used["paper"]


@pytest.mark.slow
def test_fused_takes_at_most_half_of_papers_input_tokens_on_real_conversations():
    folder = Path(os.environ.get("MEMORAI_DATA", "missing"))
    if not folder.is_dir():
        pytest.skip("MEMORAI_DATA names no folder")
    tails = [
        SessionTail(
            "u", session.session_id, tuple(turn(n, m.name or m.role, m.text, timestamp=m.timestamp) for n, m in enumerate(session.messages))
        )
        for conversation in read_conversations(folder / "locomo" / "locomo_dev5.json")
        for session in conversation.sessions
    ]
    assert len(tails) > 100
    used = tokens_by_mode(tails)
    print(f"input tokens on LoCoMo dev5: {used}, {used['fused'] / used['paper']:.3f}")
    assert used["fused"] <= 0.5 * used["paper"]


@pytest.mark.slow
@both_modes
async def test_sessions_side_by_side_wait_for_the_slowest_alone(mode):
    """20 sessions on a model that takes 50 ms: 1.6 times the slowest session's rounds, and the event loop is never held."""
    measured = [await side_by_side([numbered(4 + n) for n in range(20)], mode, delay=0.05) for _ in range(3)]
    print(f"{mode}: seconds, rounds and longest hold of three runs: {measured}")
    assert min(seconds / (rounds * 0.05) for seconds, rounds, _ in measured) <= 1.6
    assert min(hold for *_, hold in measured) <= 0.05


async def side_by_side(tails: list[SessionTail], mode: Mode, *, delay: float) -> tuple[float, int, float]:
    """The seconds that the sessions take together, the most rounds that one needs, and how long the event loop was held at most."""
    models = [ScriptedChatModel(faithful_reply, delay=delay) for _ in tails]
    flows = [index_session(one, vectors(one), PromptedAnalyzer(prompting=mode), sentence_layer=False) for one in tails]
    holds = [0.0]

    async def watch() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.001)
            holds.append(time.perf_counter() - start)

    watching = asyncio.create_task(watch())
    start = time.perf_counter()
    await asyncio.gather(*(arun(flow, model) for flow, model in zip(flows, models, strict=True)))
    seconds = time.perf_counter() - start
    watching.cancel()
    return seconds, max(len(model.batches) for model in models), max(holds)
