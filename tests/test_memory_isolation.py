"""Two users with the same session ids, source ids and texts never meet."""

import pytest
from dialogue import everything, say, scratch, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from memorai_core import UnknownIdError, UnknownSessionError, UnknownTurnError

SAID = st.lists(st.tuples(st.sampled_from(["s1", "s2"]), st.none() | st.sampled_from("abc"), texts), min_size=1, max_size=6)


def fill(memory, user_id, said):
    for session_id, source_id, text in said:
        memory.append([say(text, id=source_id)], user_id=user_id, session_id=session_id)


def ids(memory, user_id):
    graph = memory.graph(user_id=user_id)
    triplets = {data["triplet_id"] for *_, data in graph.edges(data=True) if data["kind"] == "relation"}
    return set(graph.nodes) | triplets


def seen(memory, user_id, query):
    """Every id that a query brings to light."""
    evidence = memory.retrieve(query, user_id=user_id, k=50)
    found = {node.tobytes().hex() for node in evidence.trace.node_id}
    for turn in evidence.turns:
        found |= {turn.turn_id, turn.segment_id} | {triplet.triplet_id for triplet in turn.triplets}
        for triplet in turn.triplets:
            found |= {*triplet.source_turns, triplet.segment_id}
        if not turn.filled:
            found |= {part.node_id for part in memory.explain(evidence, turn.turn_id).contributions}
    return (found | {segment.segment_id for segment in evidence.segments}) - {None}


@given(SAID, SAID, st.booleans())
@settings(max_examples=12)
def test_users_never_see_each_others_rows(mine, theirs, indexed):
    with scratch() as memory, scratch() as alone:
        fill(memory, "me", mine)
        fill(alone, "me", mine)
        fill(memory, "them", [*theirs, *mine])
        memory.index(user_id="me")
        alone.index(user_id="me")
        if indexed:
            memory.index(user_id="them")
        assert everything(memory, "me") == everything(alone, "me")
        assert memory.stats("me") == alone.stats("me")
        own, others = ids(memory, "me"), ids(memory, "them")
        assert not own & others
        for _, _, text in [*mine, *theirs]:
            assert seen(memory, "me", text) <= own
            assert seen(memory, "them", text) <= others
            found, expected = (each.retrieve(text, user_id="me", k=50) for each in (memory, alone))
            assert [(turn.turn_id, turn.score) for turn in found.turns] == [
                (turn.turn_id, pytest.approx(turn.score, rel=1e-6)) for turn in expected.turns
            ]


@given(SAID, st.sampled_from(["turn", "session", "everything"]))
@settings(max_examples=15)
def test_what_one_forgets_another_keeps(said, what):
    with scratch() as memory:
        for user_id in ("me", "them"):
            fill(memory, user_id, said)
            memory.index(user_id=user_id)
        before = everything(memory, "them")
        session_id = said[0][0]
        turn_id = memory.retrieve(said[0][2], user_id="me", k=1).turns[0].turn_id
        choice = {"turn": {"turn_id": turn_id}, "session": {"session_id": session_id}, "everything": {"everything": True}}[what]
        memory.forget(user_id="me", **choice)
        assert everything(memory, "them") == before
        assert len(memory.retrieve(said[0][2], user_id="them", k=1).turns) == 1


@pytest.fixture
def two(memory):
    for user_id in ("me", "them"):
        fill(memory, user_id, [("s1", "a", "I play the violin"), ("s1", "b", "Hanoi is warm")])
        memory.index(user_id=user_id)
    memory.append([say("secret mango", id="c")], user_id="them", session_id="only theirs")
    memory.index(user_id="them")
    return memory


def test_another_users_ids_are_unknown(two):
    for theirs in sorted(ids(two, "them")):
        assert two.show(theirs, user_id="them").user_id == two.show(theirs).user_id == "them"
        with pytest.raises(UnknownIdError, match="nothing has the id"):
            two.show(theirs, user_id="me")
    before = everything(two, "them")
    turn = two.retrieve("mango", user_id="them", k=1).turns[0]
    with pytest.raises(UnknownTurnError):
        two.forget(user_id="me", turn_id=turn.turn_id)
    with pytest.raises(UnknownSessionError):
        two.forget(user_id="me", session_id="only theirs")
    with pytest.raises(UnknownSessionError):
        two.retrieve("mango", user_id="me", session_id="only theirs")
    with pytest.raises(UnknownTurnError):
        two.explain(two.retrieve("mango", user_id="me"), turn.turn_id)
    assert everything(two, "them") == before


def test_names_with_a_meaning_in_sql_or_in_patterns_are_names(memory):
    users = ["me", "ME", "m_", "m%", "me ", "' OR 1=1 --", "me\n", "*", "数据", "é", "e\u0301"]
    for number, user_id in enumerate(users):
        memory.append([say(f"I am number{number}")], user_id=user_id, session_id=user_id)
        memory.index(user_id=user_id)
    assert memory.users() == sorted(users)
    for number, user_id in enumerate(users):
        assert [turn.text for turn in memory.retrieve("number", user_id=user_id, session_id=user_id).turns] == [f"I am number{number}"]
        assert [each.user_id for each in memory.stats(user_id)] == [user_id]
    memory.forget(user_id="' OR 1=1 --", everything=True)
    assert len(memory.users()) == len(users) - 1


def test_words_of_others_do_not_change_what_a_word_is_worth(memory):
    """Document frequencies are the user's own."""
    memory.append([say("violin river", id="a"), say("river", id="b")], user_id="me", session_id="s")
    alone = memory.retrieve("violin river", user_id="me")
    memory.append([say("violin") for _ in range(50)], user_id="them", session_id="s")
    again = memory.retrieve("violin river", user_id="me")
    assert [(turn.turn_id, turn.score) for turn in again.turns] == [(turn.turn_id, turn.score) for turn in alone.turns]
