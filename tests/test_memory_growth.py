"""Sessions that grow after they were indexed, and sessions longer than what is analysed at once."""

import pytest
from dialogue import Counting, Fickle, assert_partition, chat, everything, long_chat, say, scratch, segments_of, sentence, texts, turns_of
from hypothesis import given, settings
from hypothesis import strategies as st

from memorai_core import Settings
from memorai_core.indexing.extractive import ExtractiveAnalyzer
from memorai_core.storage.planning import CONTEXT, LONGEST


class Watching(ExtractiveAnalyzer):
    """Notes how many turns come each time."""

    def __init__(self):
        super().__init__()
        self.stretches = []

    def analyze(self, session, turn_vectors):
        self.stretches.append(session)
        return super().analyze(session, turn_vectors)


def segments(memory):
    return [tuple(segment["turn_ids"]) for segment in segments_of(memory, "u")]


def test_turn_by_turn_no_closed_segment_is_opened_and_nothing_embedded_twice(open_memory):
    embedder = Counting()
    memory = open_memory(embedder=embedder)
    closed = set()
    for number in range(60):
        memory.append(long_chat(1, start=number), user_id="u", session_id="s")
        assert memory.index(user_id="u").turns == 1
        now = segments(memory)
        assert closed <= set(now), "a closed segment stays as it is"
        closed = set(now[:-1])
        assert_partition(memory, "u")
    assert len(turns_of(memory, "u")) == 60
    assert memory.stats("u")[0].pending == 0
    assert len(embedder.texts) == len(set(embedder.texts))
    assert len(closed) >= 60 // 16


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6))
@settings(max_examples=15)
def test_however_a_session_comes_in_every_turn_is_in_one_segment(batches):
    with scratch() as memory:
        done, closed = 0, set()
        for size in batches:
            memory.append(long_chat(size, start=done), user_id="u", session_id="s")
            done += size
            memory.index(user_id="u")
            assert closed <= set(segments(memory))
            closed = set(segments(memory)[:-1])
        assert_partition(memory, "u")
        assert [turn["position"] for turn in turns_of(memory, "u")] == list(range(done))
        assert memory.stats("u")[0].pending == 0


def test_a_thousand_turns_are_worked_through_in_stretches(open_memory):
    analyzer, embedder, seen = Watching(), Counting(), []
    memory = open_memory(analyzer=analyzer, embedder=embedder)
    messages = [say(f"I saw town{number} and lake{number // 7}.", id=str(number)) for number in range(1000)]
    memory.append(messages, user_id="u", session_id="s")
    report = memory.index(user_id="u", progress=lambda done, total: seen.append((done, total)))
    assert report.turns == report.kept == 1000
    assert len(analyzer.stretches) == 1000 // LONGEST
    assert max(len(tail.turns) for tail in analyzer.stretches) <= LONGEST + 16
    assert all(len(tail.context) == CONTEXT for tail in analyzer.stretches[1:])
    assert seen == [(done, 1000) for done in range(LONGEST, 1001, LONGEST)]
    assert_partition(memory, "u")
    assert len(embedder.texts) == len(set(embedder.texts)) == report.embedded
    found = memory.retrieve("town777", user_id="u", k=3)
    assert "777" in [turn.source_id for turn in found.turns]


@given(st.lists(st.lists(texts | st.sampled_from(["", "quilt", "same"]), min_size=1, max_size=8), min_size=1, max_size=4), st.booleans())
@settings(max_examples=15)
def test_reports_sum_up_to_what_is_stored(batches, fickle):
    with scratch(analyzer=Fickle() if fickle else None) as memory:
        reports = []
        for start, batch in enumerate(batches):
            memory.append(chat(*batch, start=start * 10), user_id="u", session_id="s")
            reports.append(memory.index(user_id="u"))
            assert reports[-1].turns == reports[-1].kept + reports[-1].dropped == len(batch)
        stats = memory.stats("u")[0]
        for name in ("turns", "segments", "kept", "dropped", "triplets", "entities"):
            assert sum(getattr(report, name) for report in reports) == getattr(stats, name), name
        assert sum(report.embedded for report in reports) == stats.vectors


def test_a_text_said_again_is_not_embedded_again(open_memory):
    embedder = Counting()
    memory = open_memory(embedder=embedder)
    for session_id in ("s1", "s2"):
        memory.append([say("I play the violin. It is old."), say("I play the violin. It is old.")], user_id="u", session_id=session_id)
        memory.index(user_id="u")
    once = len(embedder.texts)
    assert once == len(set(embedder.texts))
    memory.append([say("I play the violin. It is old.")], user_id="other", session_id="s")
    assert memory.index(user_id="other").embedded == once, "nothing is shared between users"


def test_only_what_is_pending_is_indexed(open_memory):
    analyzer = Watching()
    memory = open_memory(analyzer=analyzer)
    memory.append(long_chat(10), user_id="u", session_id="s1")
    memory.append(long_chat(10), user_id="u", session_id="s2")
    memory.append(long_chat(10), user_id="other", session_id="s1")
    memory.index(user_id="u")
    assert [tail.session_id for tail in analyzer.stretches] == ["s1", "s2"]
    before, analyzer.stretches[:] = everything(memory, "u"), []
    report = memory.index(user_id="u")
    assert (report.turns, report.sessions, report.embedded, analyzer.stretches) == (0, 0, 0, [])
    assert everything(memory, "u") == before
    assert memory.stats("other")[0].pending == 10


def test_rebuilding_gives_the_same_memory(open_memory):
    embedder = Counting()
    memory = open_memory(embedder=embedder)
    memory.append(long_chat(40), user_id="u", session_id="s1")
    memory.append(chat("river", "violin"), user_id="u", session_id="s2")
    memory.append(long_chat(5), user_id="other", session_id="s1")
    memory.index(user_id="u")
    memory.index(user_id="other")
    before, others, texts = everything(memory, "u"), everything(memory, "other"), len(embedder.texts)
    report = memory.index(user_id="u", rebuild=True)
    assert report.turns == 42
    assert everything(memory, "u") == before
    assert everything(memory, "other") == others
    assert len(embedder.texts) == texts + report.embedded


def test_an_edit_in_the_middle_leaves_the_open_segment_open(memory):
    memory.append(long_chat(30), user_id="u", session_id="s")
    memory.index(user_id="u")
    _, *others, last = segments(memory)
    memory.append([say("I sold the boat", id="m1")], user_id="u", session_id="s")
    memory.index(user_id="u")
    assert {*others, last} <= set(segments(memory))
    memory.append(long_chat(1, start=30), user_id="u", session_id="s")
    memory.index(user_id="u")
    assert set(others) <= set(segments(memory))
    assert last not in segments(memory), "the last segment was open still, and grew"
    assert_partition(memory, "u")
    assert [turn["source_id"] for turn in turns_of(memory, "u")] == [f"m{number}" for number in range(31)]
    assert turns_of(memory, "u")[1]["text"] == "I sold the boat"


def test_a_segment_that_was_edited_in_the_middle_is_closed(memory):
    """So that it does not open again when the segment behind it is edited."""
    memory.append(long_chat(30), user_id="u", session_id="s")
    memory.index(user_id="u")
    where = {turn["turn_id"]: turn["source_id"] for turn in turns_of(memory, "u")}
    *_, before_last, last = segments(memory)
    memory.append([say("I sold the boat", id=where[before_last[-1]])], user_id="u", session_id="s")
    memory.index(user_id="u")
    closed = [segment for segment in segments(memory) if segment != last]
    memory.append([say("I bought it back", id=where[last[0]])], user_id="u", session_id="s")
    memory.index(user_id="u")
    assert set(closed) <= set(segments(memory))
    assert_partition(memory, "u")


def test_edits_on_both_sides_of_a_segment_are_two_stretches(open_memory):
    analyzer = Watching()
    memory = open_memory(analyzer=analyzer)
    memory.append(long_chat(60), user_id="u", session_id="s")
    memory.index(user_id="u")
    ids = segments(memory)
    assert len(ids) >= 4
    analyzer.stretches.clear()
    where = {turn["turn_id"]: turn["source_id"] for turn in turns_of(memory, "u")}
    for segment in (ids[0], ids[2]):
        memory.append([say(f"edited {where[segment[0]]}", id=where[segment[0]])], user_id="u", session_id="s")
    memory.index(user_id="u")
    assert [[turn.turn_id for turn in tail.turns] for tail in analyzer.stretches] == [list(ids[0]), list(ids[2])]
    assert_partition(memory, "u")


@pytest.mark.parametrize("gap", ["nothing", "a closed segment"])
def test_new_turns_join_the_open_segment_alone(open_memory, gap):
    """Where the open segment was edited, the turns before it are closed and stay so."""
    memory = open_memory()
    memory.append(long_chat(25), user_id="u", session_id="s")
    memory.index(user_id="u")
    *closed, opened = segments(memory)
    if gap == "a closed segment":
        source = next(turn["source_id"] for turn in turns_of(memory, "u") if turn["turn_id"] == opened[-1])
        memory.append([say("edited", id=source)], user_id="u", session_id="s")
    memory.append(long_chat(3, start=25), user_id="u", session_id="s")
    memory.index(user_id="u")
    assert segments(memory)[: len(closed)] == closed
    assert_partition(memory, "u")


def test_a_segment_that_was_replaced_is_no_node_any_more(memory):
    memory.append([say(sentence(1))], user_id="u", session_id="s")
    memory.index(user_id="u")
    ((first, *_),) = [segment["turn_ids"] for segment in segments_of(memory, "u")]
    (old,) = [segment["segment_id"] for segment in segments_of(memory, "u")]
    memory.retrieve(sentence(1), user_id="u")
    memory.append([say(sentence(2)), say(sentence(3))], user_id="u", session_id="s")
    memory.index(user_id="u")
    evidence = memory.retrieve(sentence(1), user_id="u")
    assert evidence.turns[0].turn_id == first
    nodes = {node.tobytes().hex() for node in evidence.trace.node_id}
    assert nodes <= set(memory.graph(user_id="u").nodes)
    assert old not in nodes


def test_entities_of_a_grown_segment_that_nothing_speaks_of_any_more_go(open_memory):
    """The first two turns had a topic of their own, until a third one joined them."""
    memory = open_memory(analyzer=Fickle())
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append(chat("Hanoi", start=2), user_id="u", session_id="s")
    memory.index(user_id="u")
    names = [data["name"] for _, data in memory.graph(user_id="u").nodes(data=True) if data["kind"] == "entity"]
    assert "topic riv vio Han" in names
    assert "topic riv vio" not in names


@pytest.mark.parametrize("segmentation", ["session", "turn"])
def test_segments_may_be_sessions_or_turns_for_comparison(open_memory, segmentation):
    memory = open_memory(settings=Settings(segmentation=segmentation, gate=False))
    memory.append(long_chat(250), user_id="u", session_id="s")
    assert memory.index(user_id="u").kept == 250
    assert [len(segment) for segment in segments(memory)] == ([250] if segmentation == "session" else [1] * 250)
    assert_partition(memory, "u")
