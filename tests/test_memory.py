"""What a user of Memory relies on: what is appended is found, at once, whole and by whoever said it."""

from dialogue import say

from memorai_core import Settings


def test_a_turn_is_found_by_its_words_before_it_is_indexed(memory):
    (turn,) = memory.append([say("I moved to Hanoi", id="m0")], user_id="u", session_id="s")
    memory.append([say("The violin is broken")], user_id="u", session_id="s")
    found = memory.retrieve("Who lives in Hanoi?", user_id="u")
    assert found.turns[0].turn_id == turn.turn_id
    assert found.turns[0].kept is None
    assert found.turns[0].segment_id is None
    assert found.turns[0].score > 0


def test_words_alone_find_nothing_where_they_have_no_weight(open_memory):
    memory = open_memory(settings=Settings(lexical=0))
    memory.append([say("I moved to Hanoi")], user_id="u", session_id="s")
    assert memory.retrieve("Hanoi", user_id="u").turns == ()
