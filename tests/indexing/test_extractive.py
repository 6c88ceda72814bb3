"""The steps without a language model: segments that hold together, a gate that keeps what people say of themselves, summaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorai_core.flow import run
from memorai_core.indexing.extractive import (
    LONGEST,
    SHORTEST,
    SUMMARY_CHARACTERS,
    ExtractiveAnalyzer,
    gate,
    segment_starts,
    summarise,
)
from memorai_core.models import SessionTail, Turn

ROLES = st.sampled_from(["user", "user", "assistant", "system", "tool", "speaker_b"])
SAID = st.one_of(
    st.sampled_from(["I moved to Hanoi.", "What is the capital of France?", "", " \n", "🎻", "我住在河内", "أعيش في هانوي", "Nice!", "?"]),
    st.text(max_size=40),
)


def turn(number, text, role="user", speaker="Alice"):
    return Turn(f"t{number}", None, "s", number, role, speaker, text, None, True)


def unit(rows):
    return (rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)).astype(np.float32)


def topics(*lengths, noise=0.1):
    """Vectors of turns that stay on one topic, then another, with the indices where topics begin."""
    rng = np.random.default_rng(7)
    rows = [np.eye(len(lengths), 16)[topic] + noise * rng.normal(size=16) for topic, length in enumerate(lengths) for _ in range(length)]
    return unit(np.array(rows)), [sum(lengths[:number]) for number in range(len(lengths))]


@given(st.integers(0, 10_000), st.integers(1, 120), st.sampled_from([1, 2, 16]))
@settings(max_examples=60)
def test_segments_are_a_partition_within_bounds(seed, count, dimension):
    vectors = np.random.default_rng(seed).normal(size=(count, dimension))
    vectors[:: seed % 5 + 2] = 0
    starts = segment_starts([turn(number, "x") for number in range(count)], unit(vectors))
    assert starts[0] == 0
    lengths = np.diff([*starts, count])
    assert (lengths >= 1).all()
    assert (lengths <= LONGEST).all()
    assert (lengths[:-1] >= SHORTEST).all()


@pytest.mark.parametrize("lengths", [(8, 8), (6, 10, 7), (5, 5, 5, 5), (12, 4, 9)])
def test_segments_begin_where_topics_do(lengths):
    vectors, expected = topics(*lengths)
    starts = segment_starts([turn(number, "x") for number in range(sum(lengths))], vectors)
    near = [min(abs(start - begin) for start in starts) for begin in expected]
    assert max(near) <= 1


@pytest.mark.parametrize("count", [0, 1, SHORTEST])
def test_few_turns_are_one_segment(count):
    assert segment_starts([turn(number, "x") for number in range(count)], np.zeros((count, 4), np.float32)) == [0]


def test_a_long_run_on_one_topic_is_cut_all_the_same():
    vectors = np.tile(unit(np.ones((1, 8))), (100, 1))
    lengths = np.diff([*segment_starts([turn(number, "x") for number in range(100)], vectors), 100])
    assert lengths.max() <= LONGEST


@given(st.lists(st.tuples(ROLES, SAID), max_size=12))
def test_the_gate_keeps_no_empty_turn_and_nothing_of_machines(said):
    turns = [turn(number, text, role) for number, (role, text) in enumerate(said)]
    kept = gate(turns)
    assert kept <= {each.turn_id for each in turns}
    for each in turns:
        if each.turn_id in kept:
            assert each.text.strip()
            assert each.role not in ("assistant", "system", "tool")
    assert gate(turns) == kept


@given(st.lists(SAID, max_size=12))
def test_between_people_every_turn_with_words_is_kept(said):
    turns = [turn(number, text, speaker="Alice" if number % 2 else "Bob") for number, text in enumerate(said)]
    kept = gate(turns)
    assert {each.turn_id for each in turns if any(character.isalpha() for character in each.text)} <= kept
    assert not {each.turn_id for each in turns if not each.text.strip()} & kept


@pytest.mark.parametrize("text", ["I moved to Hanoi.", "My dog is Rex.", "我住在河内。", "أعيش في هانوي", "tôi sống ở Hà Nội"])
def test_what_a_user_says_of_themselves_to_an_assistant_is_kept(text):
    turns = [turn(0, text), turn(1, "I see, you live there. I can help.", "assistant")]
    assert gate(turns) == {"t0"}


def test_what_a_user_only_asks_an_assistant_is_dropped():
    turns = [turn(0, "What is the capital of France?"), turn(1, "The capital of France is Paris.", "assistant")]
    assert gate(turns) == frozenset()


def test_a_summary_is_what_its_most_central_turn_says():
    turns = [turn(0, "The weather is fine."), turn(1, "My violin is old.", speaker="Bob"), turn(2, "I play the violin.", speaker="Carol")]
    vectors = unit(np.array([[1.0, 0.0], [0.1, 1.0], [0.0, 1.0]]))
    assert summarise(turns, vectors) in ("Bob: My violin is old.", "Carol: I play the violin.")
    assert summarise(turns[:1], vectors[:1]) == "Alice: The weather is fine."


@given(st.lists(SAID, max_size=8))
def test_a_summary_has_the_words_of_a_turn_or_there_is_nothing_to_sum_up(said):
    turns = [turn(number, text) for number, text in enumerate(said)]
    summary = summarise(turns, unit(np.random.default_rng(1).normal(size=(len(turns), 8))))
    spoken = [each.text for each in turns if each.text.strip()]
    assert bool(summary) == bool(spoken)
    if summary:
        assert summary.removeprefix("Alice: ") in spoken


@pytest.mark.parametrize("text", ["word " * 5000, "x" * 20_000, "A sentence. " * 800, "猫" * 5000, "\n".join(["line of text"] * 900)])
def test_a_summary_is_short(text):
    summary = summarise([turn(0, text)], np.ones((1, 4), np.float32) / 2)
    assert summary.startswith("Alice: ")
    assert 1 < len(summary) <= SUMMARY_CHARACTERS + len("Alice: ")


@pytest.mark.parametrize("segmentation", ["topical", "session", "turn"])
@pytest.mark.parametrize("gated", [True, False])
def test_the_analyzer_asks_nothing_and_says_the_same_again(segmentation, gated):
    turns = tuple(turn(number, f"I saw town{number}", "user" if number % 3 else "assistant") for number in range(30))
    tail, vectors = SessionTail("u", "s", turns), topics(10, 10, 10)[0]
    analyzer = ExtractiveAnalyzer(segmentation=segmentation, gate=gated)
    memory = run(analyzer.analyze(tail, vectors), None)
    assert memory == run(ExtractiveAnalyzer(segmentation=segmentation, gate=gated).analyze(tail, vectors.copy()), None)
    assert [turn_id for segment in memory.segments for turn_id in segment.turn_ids] == [each.turn_id for each in turns]
    assert len(memory.segments) == {"session": 1, "turn": 30}.get(segmentation, len(memory.segments))
    kept = {turn_id for segment in memory.segments for turn_id in segment.kept}
    assert kept == {each.turn_id for each in turns if not gated or each.role == "user"}
