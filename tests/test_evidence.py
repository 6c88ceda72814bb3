"""A ranking as evidence: what goes with each turn, and what is left out because it rests on later ones."""

from datetime import timedelta

import numpy as np
import pytest
from dialogue import DAY, Fickle, chat, say, turns_of

from memorai_core import UnknownSessionError
from memorai_core.evidence import allowed_turns, evidence_of
from memorai_core.retrieval import Ranking
from memorai_core.retrieval.catching_up import load
from memorai_core.storage.loading import version


@pytest.fixture
def memory(open_memory):
    """Turns an hour apart; the first three are a segment whose first triplet cites them all."""
    memory = open_memory(analyzer=Fickle())
    memory.append(chat("river", "violin", "Hanoi", "mango"), user_id="u", session_id="s1")
    memory.append([say("undated")], user_id="u", session_id="s2")
    memory.index(user_id="u")
    return memory


def evidence(memory, turns, scores=None, filled=0, as_of=None):
    scores = np.linspace(1, 0.1, len(turns)) if scores is None else np.array(scores, float)
    with memory._database.read() as db:
        snapshot = load(db, version(db, "u"))
        ranking = Ranking(np.array(turns, np.int64), scores, filled, trace=None)
        return evidence_of(db, snapshot, ranking, "q", "u", as_of)


def test_turns_keep_the_rankings_order_and_scores(memory):
    found = evidence(memory, [3, 0, 4], [0.5, 0.25, 0.0], filled=1)
    assert [(turn.text, turn.score, turn.filled) for turn in found.turns] == [
        ("mango", 0.5, False), ("river", 0.25, False), ("undated", 0.0, True),
    ]  # fmt: skip
    assert [segment.session_id for segment in found.segments] == ["s1", "s1", "s2"]


def test_a_triplet_of_several_turns_is_listed_with_each_and_once_in_all(memory):
    found = evidence(memory, [1, 0])
    shared = [triplet for triplet in found.turns[0].triplets if len(triplet.source_turns) == 3]
    assert len(shared) == 1
    assert shared[0] in found.turns[1].triplets
    assert found.triplets.count(shared[0]) == 1
    assert found.triplets[: len(found.turns[0].triplets)] == found.turns[0].triplets
    assert [turn["turn_id"] for turn in turns_of(memory, "u")[:3]] == list(shared[0].source_turns)


def test_nothing_ranked_is_no_evidence(memory):
    found = evidence(memory, [])
    assert (found.turns, found.triplets, found.segments) == ((), (), ())


@pytest.mark.parametrize(("hours", "whole"), [(1, False), (2, True), (3, True)])
def test_a_triplet_or_summary_with_a_later_turn_is_left_out(memory, hours, whole):
    found = evidence(memory, [0, 1], as_of=DAY + timedelta(hours=hours))
    assert any(len(triplet.source_turns) == 3 for triplet in found.triplets) == whole
    assert all(turn.triplets for turn in found.turns), "those of the turn alone stay"
    assert [segment.summary for segment in found.segments] == ["Of topic riv vio Han" if whole else ""]


def mask(memory, session_id=None, as_of=None):
    with memory._database.read() as db:
        allowed = allowed_turns(db, load(db, version(db, "u")), "u", session_id, as_of)
    return None if allowed is None else allowed.tolist()


def test_filters_are_masks_over_turns(memory):
    assert mask(memory) is None
    assert mask(memory, session_id="s1") == [True, True, True, True, False]
    assert mask(memory, as_of=DAY + timedelta(hours=1)) == [True, True, False, False, True]
    assert mask(memory, as_of=DAY - timedelta(hours=1)) == [False, False, False, False, True]
    assert mask(memory, session_id="s2", as_of=DAY - timedelta(hours=1)) == [False, False, False, False, True]
    with pytest.raises(UnknownSessionError, match="'s3'"):
        mask(memory, session_id="s3")
