"""Sentences and key phrases: nothing invented, nothing lost, in any script, in time that grows with the text."""

import re
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorai_core.indexing.sentences import LONGEST, PHRASES_A_SENTENCE, SENTENCES_A_TURN, key_phrases, sentences, with_sentences
from memorai_core.models import SegmentMemory, TripletDraft, Turn

PARTS = [
    "I", "moved", "to", "Hanoi", ".", "!", "?", "...", "Dr.", "e.g.", "3.", "-", "*", "🎻", "昨日", "川へ", "行きました", "。", "مرحبا",
    "؟", "it's", "<b>", "\n", " ",
]  # fmt: skip
PROSE = st.lists(st.sampled_from(PARTS), max_size=30).map(" ".join)
ANY = st.one_of(PROSE, st.text(max_size=200))


def words(text):
    return re.findall(r"\w", text)


@given(ANY)
def test_sentences_hold_the_words_of_the_text_in_order_and_no_others(text):
    found = sentences(text)
    assert words("".join(found)) == words(text)
    position = 0
    for piece in " ".join(found).split():
        position = text.index(piece, position) + len(piece)


@given(ANY)
def test_sentences_are_trimmed_and_bounded(text):
    for sentence in sentences(text):
        assert sentence.strip() == sentence != ""
        assert words(sentence)
        assert len(sentence) <= 2 * LONGEST + 50
    assert sentences(text) == sentences(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I moved to Hanoi. It is warm there!", ["I moved to Hanoi.", "It is warm there!"]),
        ("Dr. Nguyen came at 5 p.m. on Monday.", ["Dr. Nguyen came at 5 p.m. on Monday."]),
        ("My name is J. Smith and I cook.", ["My name is J. Smith and I cook."]),
        ("Version 3.5 costs 9.99 dollars.", ["Version 3.5 costs 9.99 dollars."]),
        ('She said "I am moving to Hue." Then she left us.', ['She said "I am moving to Hue."', "Then she left us."]),
        ("我昨天去了河内旅行。天气非常好非常暖和！", ["我昨天去了河内旅行。", "天气非常好非常暖和！"]),
        ("هل ما زلت تعيش في هانوي؟ نعم أعيش هنا منذ سنوات.", ["هل ما زلت تعيش في هانوي؟", "نعم أعيش هنا منذ سنوات."]),
        (
            "- a loaf of bread and some butter\n* two jars of very sweet honey",
            ["a loaf of bread and some butter", "two jars of very sweet honey"],
        ),
        ("Wow! I moved to Hanoi.", ["Wow! I moved to Hanoi."]),
        ("", []),
        ("  \n ", []),
        ("?!", []),
        ("🎻🎻", []),
    ],
)
def test_where_sentences_end(text, expected):
    assert sentences(text) == expected


LONG = ["a. ", "Mr. ", "!?", "...... ", ".)", '!"', "x", "Hi! ", "word ", "\n", "猫", "。", "a'", "\u0300", "\u200d", "👩‍👧 ", "ا"]


@pytest.mark.parametrize("part", LONG, ids=repr)
def test_half_a_megabyte_of_anything_is_read_in_a_moment(part):
    text = part * (500_000 // len(part))
    start = perf_counter()
    for sentence in sentences(text)[:SENTENCES_A_TURN]:
        assert len(key_phrases(sentence)) <= PHRASES_A_SENTENCE
    assert perf_counter() - start < 10


@given(ANY)
def test_key_phrases_are_of_the_sentence_and_each_once(sentence):
    phrases = key_phrases(sentence)
    assert len(phrases) <= PHRASES_A_SENTENCE
    assert len({phrase.key for phrase in phrases}) == len(phrases)
    said = re.sub(r"[^\w]", "", sentence.replace("’", "'"))
    for phrase in phrases:
        assert phrase.key.strip() == phrase.key != ""
        for word in phrase.text.split():
            assert re.sub(r"[^\w]", "", word) in said


def turn(number, text, speaker="Alice"):
    return Turn(f"t{number}", None, "s", number, "user", speaker, text, None, True)


def layer(turns, kept=None, triplets=()):
    kept = frozenset(turn.turn_id for turn in turns) if kept is None else frozenset(kept)
    return with_sentences(SegmentMemory(tuple(turn.turn_id for turn in turns), kept, "", tuple(triplets)), turns).triplets


def test_each_key_phrase_of_a_kept_turns_sentence_is_a_triplet_of_the_speaker():
    turns = [turn(0, "I moved to Hanoi."), turn(1, "The violin broke.", "Bob")]
    assert {(t.subject, t.object, t.description, t.source_turns) for t in layer(turns, {"t0"})} == {
        ("Alice", "moved", "Alice: I moved to Hanoi.", ("t0",)),
        ("Alice", "Hanoi", "Alice: I moved to Hanoi.", ("t0",)),
    }


def test_what_is_said_twice_is_one_triplet():
    once = layer([turn(0, "I love Hanoi a lot.")])
    assert layer([turn(0, "I love Hanoi a lot. I love Hanoi a lot.")]) == once
    assert layer([turn(0, "I love Hanoi a lot.")], triplets=[*once, *once]) == once
    assert len(layer([turn(0, "I love Hanoi a lot."), turn(1, "I love Hanoi a lot.")])) == 2 * len(once)


def test_no_triplet_goes_from_a_speaker_to_the_same_name():
    for text in ("Alice is here.", "ALICE and alice.", "This is Alice's house."):
        assert all(t.object.casefold() not in ("alice", "alice's") for t in layer([turn(0, text)])), text


@given(st.lists(ANY, max_size=4), st.sets(st.integers(0, 3)))
@settings(max_examples=50)
def test_triplets_cite_one_kept_turn_that_holds_their_sentence_and_come_after_the_analyzers(texts, kept):
    turns = [turn(number, text) for number, text in enumerate(texts)]
    kept = {f"t{number}" for number in kept if number < len(turns)}
    first = TripletDraft("x", "r", "y", "z", ("t0",), origin="model")
    given, *added = layer(turns, kept, [first])
    assert given == first
    for triplet in added:
        (cited,) = triplet.source_turns
        assert cited in kept
        assert triplet.origin == "extractive"
        sentence = triplet.description.removeprefix("Alice: ")
        assert sentence in sentences(turns[int(cited[1:])].text)
        assert triplet.object
        assert triplet.object_key


def test_a_very_long_turn_has_a_bounded_number_of_triplets():
    text = " ".join(f"I visited town{number} and lake{number} today." for number in range(500))
    assert len({t.description for t in layer([turn(0, text)])}) == SENTENCES_A_TURN
