"""What an analyzer gives is checked before anything is stored of it."""

import numpy as np
import pytest
from dialogue import Fickle, chat, everything, say

from memorai_core.flow import run
from memorai_core.indexing import index_session, turn_text
from memorai_core.models import EntityDraft, SegmentMemory, SessionMemory, SessionTail, TripletDraft, Turn

TURNS = tuple(Turn(f"t{number}", None, "s", number, "user", "Alice", f"I saw town{number}.", None, True) for number in range(3))
TAIL = SessionTail("u", "s", TURNS)
ALL = ("t0", "t1", "t2")


class Given:
    def __init__(self, *segments):
        self.segments = segments

    def analyze(self, session, turn_vectors):
        return SessionMemory(self.segments)
        yield []


def segment(turn_ids=ALL, kept=("t0", "t1"), **changes):
    return SegmentMemory(tuple(turn_ids), frozenset(kept), "summary", **changes)


def triplet(**changes):
    return TripletDraft(**{"subject": "a", "relation": "r", "object": "b", "description": "d", "source_turns": ("t0",)} | changes)


def entity(**changes):
    return EntityDraft(**{"name": "a", "description": "d", "turn_ids": ("t2",)} | changes)


WRONG = {
    "no segments": [],
    "a turn lost": [segment(("t0", "t1"))],
    "a turn repeated": [segment(), segment(("t2",), ())],
    "turns out of order": [segment(("t1", "t0", "t2"))],
    "a turn of elsewhere": [segment((*ALL, "t3"))],
    "segments out of order": [segment(("t2",), ()), segment(("t0", "t1"))],
    "a kept turn of elsewhere": [segment(kept=("t3",))],
    "a kept turn of another segment": [segment(("t0",), ("t1",)), segment(("t1", "t2"), ())],
    "a triplet without turns": [segment(triplets=(triplet(source_turns=()),))],
    "a triplet of a dropped turn": [segment(triplets=(triplet(source_turns=("t0", "t2")),))],
    "a triplet of another segment's turn": [segment(("t0",), triplets=(triplet(source_turns=("t1",)),)), segment(("t1", "t2"), ("t1",))],
    "a triplet without a subject": [segment(triplets=(triplet(subject=" "),))],
    "a triplet without an object": [segment(triplets=(triplet(object=""),))],
    "a triplet without a description": [segment(triplets=(triplet(description="\n"),))],
    "an entity without turns": [segment(entities=(entity(turn_ids=()),))],
    "an entity of elsewhere": [segment(entities=(entity(turn_ids=("t3",)),))],
    "an entity without a name": [segment(entities=(entity(name=" "),))],
    "an entity without a description": [segment(entities=(entity(description=""),))],
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_an_analyzer_that_breaks_its_word_is_refused(wrong):
    with pytest.raises(ValueError, match=r"segment|triplet|entity|kept"):
        run(index_session(TAIL, np.zeros((3, 4), np.float32), Given(*WRONG[wrong])), None)


def test_what_keeps_its_word_passes_with_the_sentence_layer_on_top():
    given = segment(triplets=(triplet(source_turns=("t0", "t1")),), entities=(entity(),))
    plain = run(index_session(TAIL, np.zeros((3, 4), np.float32), Given(given), sentence_layer=False), None)
    assert plain.segments == (given,)
    layered = run(index_session(TAIL, np.zeros((3, 4), np.float32), Given(given)), None).segments[0]
    assert layered.triplets[0] == given.triplets[0]
    assert {added.source_turns for added in layered.triplets[1:]} == {("t0",), ("t1",)}
    assert (layered.turn_ids, layered.kept, layered.summary, layered.entities) == (
        given.turn_ids,
        given.kept,
        given.summary,
        given.entities,
    )


def test_nothing_is_stored_of_an_analysis_that_was_refused(open_memory):
    class Loses:
        def analyze(self, session, turn_vectors):
            return SessionMemory((SegmentMemory((session.turns[0].turn_id,), frozenset(), ""),))
            yield []

    memory = open_memory(analyzer=Loses())
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    before = everything(memory, "u")
    with pytest.raises(ValueError, match="each once and in order"):
        memory.index(user_id="u")
    assert everything(memory, "u") == before


def test_a_turn_stands_for_its_speaker_and_text_or_for_nothing():
    assert turn_text(TURNS[0]) == "Alice: I saw town0."
    assert turn_text(Turn("t", None, "s", 0, "user", "Alice", " \n", None, True)) == ""


class Looks(Fickle):
    def __init__(self):
        self.seen = []

    def analyze(self, session, turn_vectors):
        self.seen.append((session, turn_vectors))
        return super().analyze(session, turn_vectors)


def test_the_analyzer_is_given_vectors_of_length_1_or_0(open_memory):
    analyzer = Looks()
    memory = open_memory(analyzer=analyzer)
    memory.append([*chat("river", "violin"), say(" "), say("Hanoi")], user_id="u", session_id="s")
    memory.index(user_id="u")
    ((tail, vectors),) = analyzer.seen
    assert [turn.text for turn in tail.turns] == ["river", "violin", " ", "Hanoi"]
    assert (tail.user_id, tail.session_id, vectors.dtype) == ("u", "s", np.float32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 0, 1], atol=1e-6)


def test_the_analyzer_is_given_the_open_segment_again_and_the_turns_before_as_context(open_memory):
    analyzer = Looks()
    memory = open_memory(analyzer=analyzer)
    memory.append(chat(*"abcdefgh"), user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append(chat("i", "j", start=8), user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append([say("new", id="m4")], user_id="u", session_id="s")
    memory.index(user_id="u")
    given = [("".join(turn.text for turn in tail.context), [turn.text for turn in tail.turns]) for tail, _ in analyzer.seen]
    assert given == [("", list("abcdefgh")), ("cdef", list("ghij")), ("abc", ["d", "new", "f"])]
    assert all(turn.segment_id for tail, _ in analyzer.seen[1:] for turn in tail.context)
