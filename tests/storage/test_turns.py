"""Appending: durable, in order, idempotent by source id, edits in place."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from dialogue import DAY, assert_partition, chat, everything, long_chat, say, scratch, segments_of, texts, triplets_of, turns_of
from hypothesis import given, settings
from hypothesis import strategies as st

from memorai_core import Message


def revision(memory, user_id="u"):
    with memory._database.read() as db:
        return db.execute("SELECT revision, generation FROM users WHERE user_id = ?", (user_id,)).fetchone()


def test_turns_are_given_as_stored(memory):
    turns = memory.append(
        [Message(role="user", text="I moved", name="Alice", timestamp=DAY, id="a"), Message(role="assistant", text="Where to?")],
        user_id="u",
        session_id="s",
    )
    assert [(t.source_id, t.session_id, t.position, t.role, t.speaker, t.text, t.timestamp, t.timestamp_inferred) for t in turns] == [
        ("a", "s", 0, "user", "Alice", "I moved", DAY, False),
        (None, "s", 1, "assistant", "assistant", "Where to?", DAY, True),
    ]
    assert all((turn.segment_id, turn.kept) == (None, None) for turn in turns)
    assert memory.append([say("I moved", id="a")], user_id="u", session_id="s") == turns[:1]


def test_yes_twice_is_two_turns(memory):
    first, second = memory.append([say("yes"), say("yes")], user_id="u", session_id="s")
    (third,) = memory.append([say("yes")], user_id="u", session_id="s")
    assert len({turn.turn_id for turn in (first, second, third)}) == 3
    assert [turn.position for turn in (first, second, third)] == [0, 1, 2]


@given(st.lists(st.tuples(st.sampled_from("abcd"), texts), max_size=8), st.booleans())
@settings(max_examples=20)
def test_appending_the_same_again_changes_nothing(said, indexed):
    messages = [say(text, id=source_id, at=number) for number, (source_id, text) in enumerate(dict(said).items())]
    with scratch() as memory:
        memory.append([say("hello", id="z"), *messages], user_id="u", session_id="s")
        if indexed:
            memory.index(user_id="u")
        before = (revision(memory), everything(memory, "u"), memory.stats("u"))
        again = memory.append(messages, user_id="u", session_id="s")
        assert [turn.text for turn in again] == [message.text for message in messages]
        assert all((turn.segment_id is not None) == indexed for turn in again)
        unnamed = [message.model_copy(update={"name": None, "timestamp": None}) for message in messages]
        memory.append(reversed(unnamed), user_id="u", session_id="s")
        assert (revision(memory), everything(memory, "u"), memory.stats("u")) == before


def test_an_edit_keeps_id_and_place_and_is_indexed_again(memory):
    turns = memory.append(long_chat(24), user_id="u", session_id="s")
    memory.index(user_id="u")
    closed = [segment["turn_ids"] for segment in segments_of(memory, "u") if turns[5].turn_id not in segment["turn_ids"]]
    (edited,) = memory.append([say("I sold the zeppelin", id="m5", name=None)], user_id="u", session_id="s")
    assert (edited.turn_id, edited.position, edited.speaker) == (turns[5].turn_id, 5, "Bob")
    assert (edited.text, edited.timestamp, edited.segment_id, edited.kept) == ("I sold the zeppelin", turns[5].timestamp, None, None)
    assert [segment["turn_ids"] for segment in segments_of(memory, "u")] == closed
    assert not [triplet for triplet in triplets_of(memory, "u") if edited.turn_id in triplet["source_turns"]]
    assert edited.turn_id in [turn.turn_id for turn in memory.retrieve("zeppelin", user_id="u").turns]
    report = memory.index(user_id="u")
    assert 1 <= report.turns <= 16
    assert_partition(memory, "u")
    assert memory.stats("u")[0].pending == 0
    texts = [turn["text"] for turn in turns_of(memory, "u")]
    assert (texts[5], len(texts)) == ("I sold the zeppelin", 24)
    assert "number5." not in str(everything(memory, "u"))


def test_an_edit_leaves_nothing_of_what_was_said_before(memory):
    """Neither the entities that only the old text spoke of, nor its triplets, summary and words."""
    memory.append([say("I saw the Eiffel tower", id="m0")], user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append([say("I ate potatoes", id="m0")], user_id="u", session_id="s")
    assert "Eiffel" not in str(everything(memory, "u"))
    memory.index(user_id="u")
    assert "Eiffel" not in str(everything(memory, "u"))
    assert memory.retrieve("Eiffel", user_id="u").trace.seed.max(initial=0) < 0.5


def test_an_edited_memory_is_the_one_that_was_right_from_the_start(memory):
    right = chat("I play the violin", "Bob likes orchids", "I moved to Hanoi")
    wrong = [right[0], say("Bob breeds falcons", id="m1", name="Bobby"), right[2]]
    memory.append(wrong, user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append(right, user_id="u", session_id="s")
    memory.index(user_id="u")
    with scratch() as fresh:
        fresh.append(right, user_id="u", session_id="s")
        fresh.index(user_id="u")
        assert everything(memory, "u") == everything(fresh, "u")


TOMORROW = DAY + timedelta(days=1)


@pytest.mark.parametrize(
    ("change", "stored"),
    [
        ({"text": "new"}, {"text": "new"}),
        ({"role": "assistant"}, {"role": "assistant", "speaker": "Alice"}),
        ({"name": "Alicia"}, {"speaker": "Alicia"}),
        ({"timestamp": TOMORROW}, {"timestamp": TOMORROW, "timestamp_inferred": False}),
        ({"timestamp": TOMORROW.replace(tzinfo=None)}, {"timestamp": TOMORROW, "timestamp_inferred": True}),
    ],
    ids=["text", "role", "name", "timestamp", "naive timestamp"],
)
def test_each_field_can_be_edited(memory, change, stored):
    first = say("old", id="a", at=0)
    (turn,) = memory.append([first], user_id="u", session_id="s")
    memory.index(user_id="u")
    edited = memory.append([first.model_copy(update=change)], user_id="u", session_id="s")
    assert edited == [replace(turn, **stored)]
    assert memory.stats("u")[0].pending == 1
    assert memory.append([first.model_copy(update=change)], user_id="u", session_id="s") == edited


def test_a_speaker_without_a_name_is_called_by_the_role_of_the_day(memory):
    memory.append([Message(role="user", text="hi", id="a")], user_id="u", session_id="s")
    (changed,) = memory.append([Message(role="assistant", text="hi", id="a")], user_id="u", session_id="s")
    (named,) = memory.append([Message(role="user", text="hi", id="a", name="Alice")], user_id="u", session_id="s")
    (kept,) = memory.append([Message(role="assistant", text="hi", id="a")], user_id="u", session_id="s")
    assert [turn.speaker for turn in (changed, named, kept)] == ["assistant", "Alice", "Alice"]


def test_the_same_id_twice_in_one_call_is_an_edit(memory):
    first, second = memory.append([say("one", id="a"), say("two", id="a")], user_id="u", session_id="s")
    assert first.turn_id == second.turn_id
    assert [turn["text"] for turn in turns_of(memory, "u")] == ["two"]
    (third,) = memory.append([say("three")], user_id="u", session_id="s")
    assert third.position == 1


def test_the_same_id_in_another_session_is_another_turn(memory):
    (one,) = memory.append([say("one", id="a")], user_id="u", session_id="s1")
    (two,) = memory.append([say("two", id="a")], user_id="u", session_id="s2")
    assert one.turn_id != two.turn_id
    assert [turn["text"] for turn in turns_of(memory, "u")] == ["one", "two"]


def test_ids_are_the_same_in_every_store(memory, open_memory):
    other = open_memory("other.db")
    assert [turn.turn_id for turn in memory.append(chat("a", "b", ids=False), user_id="u", session_id="s")] == [
        turn.turn_id for turn in other.append(chat("a", "b", ids=False), user_id="u", session_id="s")
    ]


def test_times_are_utc_and_missing_ones_are_taken_from_the_turn_before(memory):
    east = timezone(timedelta(hours=7))
    messages = [
        say("undated"),
        Message(role="user", text="dated", timestamp=datetime(2024, 5, 1, 9, 0, tzinfo=east)),
        say("follows"),
        Message(role="user", text="naive", timestamp=datetime(2024, 5, 2)),
        say("follows too"),
    ]
    turns = memory.append(messages, user_id="u", session_id="s") + memory.append([say("later call")], user_id="u", session_id="s")
    dated, naive = datetime(2024, 5, 1, 2, 0, tzinfo=UTC), datetime(2024, 5, 2, tzinfo=UTC)
    assert [(turn.timestamp, turn.timestamp_inferred) for turn in turns] == [
        (None, True), (dated, False), (dated, True), (naive, True), (naive, True), (naive, True),
    ]  # fmt: skip
    (apart,) = memory.append([say("another session")], user_id="u", session_id="s2")
    assert apart.timestamp is None


def test_what_was_appended_is_there_after_reopening(open_memory):
    memory = open_memory()
    turns = memory.append(chat("river", "violin"), user_id="u", session_id="s")
    memory.close()
    again = open_memory()
    assert [turn["turn_id"] for turn in turns_of(again, "u")] == [turn.turn_id for turn in turns]
    assert again.append(chat("river", "violin"), user_id="u", session_id="s") == turns


def test_a_place_that_was_forgotten_is_not_given_again(memory):
    turns = memory.append([say("one"), say("two")], user_id="u", session_id="s")
    memory.forget(user_id="u", turn_id=turns[1].turn_id)
    (third,) = memory.append([say("three")], user_id="u", session_id="s")
    assert third.position == 2
    assert third.turn_id != turns[1].turn_id


@pytest.mark.parametrize("at", [None, 0], ids=["undated", "dated"])
def test_appending_to_a_long_session_costs_what_it_costs_in_a_short_one(memory, at):
    """In steps of the database's own machine, so that no clock decides."""
    steps = [0]

    def count():
        steps[0] += 1

    def cost():
        steps[0] = 0
        memory.append([say("one more"), say("and one more", at=at)], user_id="u", session_id="s")
        return steps[0]

    memory.append([say("first", at=at)], user_id="u", session_id="s")
    memory._database._writer.set_progress_handler(count, 10)
    short = cost()
    memory.append([say("x", at=at) for _ in range(2000)], user_id="u", session_id="s")
    assert cost() <= 2 * short
