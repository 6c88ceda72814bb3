"""Forgetting: what goes, what stays, and that what goes is gone from the file's bytes."""

import threading

import pytest
from dialogue import Counting, Fickle, assert_partition, chat, everything, long_chat, say, segments_of, triplets_of, turns_of

from memorai_core import Settings, UnknownTurnError, UnknownUserError
from memorai_core.models import EntityDraft, SegmentMemory, SessionMemory, TripletDraft


def stored_bytes(memory):
    return b"".join(path.read_bytes() for path in memory._database.path.parent.iterdir())


@pytest.fixture
def plain(open_memory):
    """Segments of three turns, with triplets and descriptions that cite several of them, and no sentence layer."""
    memory = open_memory(analyzer=Fickle(), settings=Settings(sentence_layer=False))
    memory.append(chat("river", "violin", "Hanoi", "mango", "chess"), user_id="u", session_id="s")
    memory.index(user_id="u")
    return memory


def test_a_turn_goes_with_all_that_cites_it_and_the_rest_stays(plain):
    before = {triplet["triplet_id"]: triplet for triplet in triplets_of(plain, "u")}
    turns = turns_of(plain, "u")
    gone = turns[1]["turn_id"]
    report = plain.forget(user_id="u", turn_id=gone)
    after = {triplet["triplet_id"]: triplet for triplet in triplets_of(plain, "u")}
    citing = {triplet_id for triplet_id, triplet in before.items() if gone in triplet["source_turns"]}
    assert set(after) == set(before) - citing
    assert (report.turns, report.segments, report.triplets) == (1, 1, len(citing))
    assert [turn["text"] for turn in turns_of(plain, "u")] == ["river", "Hanoi", "mango", "chess"]
    assert all(turn["segment_id"] and turn["kept"] for turn in turns_of(plain, "u"))
    assert_partition(plain, "u")
    torn, other = segments_of(plain, "u")
    assert (torn["turn_ids"], torn["made_by"]) == ([turns[0]["turn_id"], turns[2]["turn_id"]], "extractive")
    assert torn["summary"] in ("Alice: river", "Alice: Hanoi")
    assert other["summary"].startswith("Of topic")
    assert all(triplet["segment_id"] in (torn["segment_id"], other["segment_id"]) for triplet in after.values())
    assert "violin" not in str(everything(plain, "u"))
    assert "All 3 of" not in str(everything(plain, "u")), "the descriptions of its segment were written with the turn in view"
    assert "All 2 of" in str(everything(plain, "u"))


def test_entities_that_others_speak_of_stay(plain):
    plain.append([say("violin", name="Carol")], user_id="u", session_id="s2")
    plain.index(user_id="u")
    entities = {node: data for node, data in plain.graph(user_id="u").nodes(data=True) if data["kind"] == "entity"}
    turn = next(turn for turn in turns_of(plain, "u", "s") if turn["text"] == "violin")
    plain.forget(user_id="u", turn_id=turn["turn_id"])
    left = {data["name"]: node for node, data in plain.graph(user_id="u").nodes(data=True) if data["kind"] == "entity"}
    assert entities[left["violin"]]["name"] == "violin"
    assert set(left.values()) < set(entities)
    assert "Bob" in left  # who said "mango" too


def test_a_session_goes_whole_and_only_it(plain):
    plain.append(chat("river", "saffron"), user_id="u", session_id="s2")
    plain.index(user_id="u")
    stats = plain.stats("u")[0]
    report = plain.forget(user_id="u", session_id="s2")
    left = plain.stats("u")[0]
    for name in ("turns", "segments", "triplets", "entities", "vectors"):
        assert getattr(report, name) == getattr(stats, name) - getattr(left, name), name
    assert (report.turns, report.segments, left.sessions) == (2, 1, 1)
    assert "saffron" not in str(everything(plain, "u"))


def test_everything_goes_with_the_user(plain):
    plain.append(chat("river"), user_id="other", session_id="s")
    stats = plain.stats("u")[0]
    report = plain.forget(user_id="u", everything=True)
    for name in ("turns", "segments", "triplets", "entities", "vectors"):
        assert getattr(report, name) == getattr(stats, name), name
    assert plain.users() == ["other"]
    with pytest.raises(UnknownUserError):
        plain.retrieve("river", user_id="u")
    plain.append(chat("mango"), user_id="u", session_id="s")
    plain.index(user_id="u")
    assert [turn.text for turn in plain.retrieve("river violin mango", user_id="u").turns] == ["mango"]


def test_a_turn_is_forgotten_once(plain):
    turn_id = turns_of(plain, "u")[0]["turn_id"]
    plain.forget(user_id="u", turn_id=turn_id)
    with pytest.raises(UnknownTurnError):
        plain.forget(user_id="u", turn_id=turn_id)


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_turns_may_go_one_by_one_until_none_is_left(plain, order):
    ids = [turn["turn_id"] for turn in turns_of(plain, "u")]
    for left, place in zip(range(4, -1, -1), order, strict=True):
        plain.forget(user_id="u", turn_id=ids[place])
        assert_partition(plain, "u")
        assert len(plain.retrieve("river violin Hanoi mango chess", user_id="u", k=9).turns) == left
    stats = plain.stats("u")[0]
    assert (stats.turns, stats.segments, stats.triplets, stats.entities, stats.vectors) == (0, 0, 0, 0, 0)


def test_a_session_goes_on_after_a_turn_of_it_was_forgotten(open_memory):
    memory = open_memory()
    turns = memory.append(long_chat(30), user_id="u", session_id="s")
    memory.index(user_id="u")
    for place in (3, 14, 29):
        memory.forget(user_id="u", turn_id=turns[place].turn_id)
    memory.append(long_chat(10, start=30), user_id="u", session_id="s")
    memory.index(user_id="u")
    assert_partition(memory, "u")
    assert [turn["source_id"] for turn in turns_of(memory, "u")] == [f"m{n}" for n in range(40) if n not in (3, 14, 29)]
    assert memory.stats("u")[0].pending == 0


LONG = "padding " * 3000


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "pending"])
@pytest.mark.parametrize("text", ["I keep secret0 close", f"{LONG} secret0 {LONG}", "secret0"], ids=["short", "long", "alone"])
def test_no_byte_of_a_forgotten_turn_is_left(memory, text, indexed):
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    (turn,) = memory.append([say(text, id="secret1", name="secret2")], user_id="u", session_id="s")
    memory.append(chat("Hanoi", start=3), user_id="u", session_id="s")
    if indexed:
        memory.index(user_id="u")
        memory.retrieve("secret0", user_id="u")
    assert b"secret0" in stored_bytes(memory)
    memory.forget(user_id="u", turn_id=turn.turn_id)
    assert b"secret" not in stored_bytes(memory)
    assert turn.turn_id.encode() not in stored_bytes(memory)


def test_no_byte_of_an_earlier_wording_of_a_forgotten_turn_is_left(memory):
    (turn,) = memory.append([say("I keep secret0 close", id="a")], user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append([say("I keep secret1 close", id="a")], user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append([say("I keep nothing", id="a")], user_id="u", session_id="s")
    memory.forget(user_id="u", turn_id=turn.turn_id)
    assert b"secret" not in stored_bytes(memory)


def test_no_byte_of_a_forgotten_session_or_user_is_left(memory):
    for user_id, session_id in (("u", "secret-session"), ("u", "s"), ("secret-user", "s")):
        memory.append(
            [say(f"secret of {user_id} in {session_id}", name="secret name", id="secret id")], user_id=user_id, session_id=session_id
        )
        memory.index(user_id=user_id)
    memory.forget(user_id="u", session_id="secret-session")
    assert b"secret-session" not in stored_bytes(memory)
    memory.forget(user_id="secret-user", everything=True)
    assert b"secret-user" not in stored_bytes(memory)
    memory.forget(user_id="u", everything=True)
    assert b"secret" not in stored_bytes(memory)


def test_what_a_model_said_of_a_forgotten_turn_goes_with_it(open_memory):
    class Writes:
        def analyze(self, session, turn_vectors):
            ids = tuple(turn.turn_id for turn in session.turns)
            triplet = TripletDraft("secret1", "secret2", "secret3", "secret4", ids, origin="model", made_by="m@1")
            entity = EntityDraft("secret5", "secret6", ids[:1])
            return SessionMemory((SegmentMemory(ids, frozenset(ids), "secret7", (triplet,), (entity,), "m@1"),))
            yield []

    memory = open_memory(analyzer=Writes())
    turns = memory.append(chat("river", "violin"), user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.forget(user_id="u", turn_id=turns[1].turn_id)
    assert b"secret" not in stored_bytes(memory)
    assert [turn.text for turn in memory.retrieve("river", user_id="u").turns] == ["river"]


def test_forgetting_embeds_nothing_that_is_stored(open_memory):
    embedder = Counting()
    memory = open_memory(embedder=embedder)
    turns = memory.append(chat("river", "violin", "Hanoi"), user_id="u", session_id="s")
    memory.index(user_id="u")
    embedder.texts.clear()
    memory.forget(user_id="u", turn_id=turns[0].turn_id)
    memory.forget(user_id="u", session_id="s")
    assert embedder.texts == []


def test_another_who_has_the_memory_open_does_not_see_it_any_more(memory, open_memory):
    turns = memory.append(chat("river", "violin"), user_id="u", session_id="s")
    memory.index(user_id="u")
    other = open_memory()
    assert len(other.retrieve("river", user_id="u").turns) == 2
    memory.forget(user_id="u", turn_id=turns[0].turn_id)
    assert [turn.text for turn in other.retrieve("river violin", user_id="u").turns] == ["violin"]
    memory.forget(user_id="u", everything=True)
    with pytest.raises(UnknownUserError):
        other.retrieve("river", user_id="u")


def test_a_forgotten_user_who_comes_back_meets_no_old_snapshot(memory, open_memory):
    other = open_memory()
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    memory.index(user_id="u")
    other.retrieve("river", user_id="u")
    memory.forget(user_id="u", everything=True)
    memory.append(chat("river", "mango"), user_id="u", session_id="s")
    memory.index(user_id="u")
    assert {turn.text for turn in other.retrieve("river violin mango", user_id="u").turns} == {"river", "mango"}


def test_forgetting_while_others_read_and_write(memory, open_memory):
    turns = memory.append(long_chat(16), user_id="u", session_id="s")
    memory.index(user_id="u")
    stop, errors = threading.Event(), []

    def busy():
        other, number = open_memory(), 0
        try:
            while not stop.is_set():
                other.retrieve("river violin", user_id="u")
                other.append([say(f"more {number}")], user_id="u", session_id="s2")
                number += 1
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=busy)
    thread.start()
    for turn in turns[:5]:
        memory.forget(user_id="u", turn_id=turn.turn_id)
    stop.set()
    thread.join()
    assert errors == []
    assert [turn["source_id"] for turn in turns_of(memory, "u", "s")] == [f"m{number}" for number in range(5, 16)]
    assert b"number3." not in stored_bytes(memory)
