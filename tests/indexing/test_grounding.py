import pytest
from conversations import START, turn

from memorai_core.indexing.grounding import Ground
from memorai_core.prompts import Passage

SAID = (
    turn(0, "Alice", "I adopted two kittens yesterday, isn't that great?"),
    turn(1, "Ben", "Clara's painting classes begin in June; The Who play there.", role="friend"),
    turn(2, "Alice", "我住在北京大学附近"),
    turn(3, "Alice", "Моя сестра переехала в Краков"),
    turn(4, "Ben", "That was six years ago.", timestamp=None),
    turn(5, "Ben", "", timestamp=START),
)
GROUND = Ground(Passage(SAID[1:], SAID[:1]))
WHOLE = Ground(Passage(SAID))


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("kittens", 0),
        ("kitten", 0),
        ("her two cats, the kittens", 0),
        ("KITTENS", 0),
        ("Alice", 5),
        ("alice", 1),
        ("Ben", 0),
        ("friend", 0),
        ("Clara", 1),
        ("paint", 1),
        ("The Who", 1),
        ("北京大学", 2),
        ("сестре", 3),
        ("Краков", 3),
        ("7 May 2023", 0),
        ("May 2023", 0),
        ("7 mai 2023", 0),
        ("2023-05-07", 0),
        ("2023", 0),
        ("2017", 0),
        ("last Friday", 0),
        ("the week before 9 June 2023", 1),
        ("early summer", 1),
        ("8 May 2023 13:56", 5),
    ],
)
def test_what_is_in_the_cited_turn_holds(name, number):
    assert WHOLE.holds(name, [f"turn-{number}"])


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("unicorn", 0),
        ("kittens", 1),
        ("she", 0),
        ("it", 1),
        ("that", 0),
        ("I", 0),
        ("unknown", 1),
        ("...", 0),
        ("", 0),
        ("上海", 2),
        ("Варшава", 3),
        ("7 May 1923", 0),
        ("7 May 2023", 4),
        ("World Cup 2022", 0),
        ("two", 5),
        ("days", 0),
    ],
)
def test_what_is_not_in_the_cited_turn_does_not(name, number):
    assert not WHOLE.holds(name, [f"turn-{number}"])


def test_one_of_the_cited_turns_is_enough():
    assert WHOLE.holds("kittens", ["turn-1", "turn-0"])


def test_the_speaker_of_a_context_turn_is_known():
    assert GROUND.holds("Alice", ["turn-1"])


def test_who_says_i_is_the_speaker_if_it_is_one():
    assert WHOLE.resolved("I", ["turn-0", "turn-2"]) == "Alice"
    assert WHOLE.resolved(" Me ", ["turn-1"]) == "Ben"
    assert WHOLE.resolved("I", ["turn-0", "turn-1"]) == "I"
    assert WHOLE.resolved("she", ["turn-0"]) == "she"
