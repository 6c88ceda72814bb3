"""Threads of one memory and several processes on one file: nothing lost, nothing twice, no lock that fails."""

import subprocess
import sys
import threading
from itertools import count

import pytest
from dialogue import Counting, assert_partition, chat, everything, long_chat, say, turns_of

from memorai_core import Memory, UnknownUserError
from memorai_core.testing import HashingEmbedder


def at_once(*works):
    """Runs the works in threads that begin together; raises what any of them raised."""
    barrier, errors = threading.Barrier(len(works)), []

    def begin(work):
        barrier.wait()
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def appends(memory, name, session_id, count=20):
    def work():
        for number in range(count):
            message = say(f"{name} saw town{number} and lake{number}.", name=name, id=f"{name}{number}")
            memory.append([message], user_id="u", session_id=session_id)

    return work


def indexes(memory, times=6):
    def work():
        for _ in range(times):
            memory.index(user_id="u")

    return work


def retrieves(memory, times=30):
    def work():
        for number in range(times):
            found = memory.retrieve(f"town{number} Alice", user_id="u", k=20)
            assert len({turn.turn_id for turn in found.turns}) == len(found.turns)
            assert all(set(triplet.source_turns) & {turn.turn_id for turn in found.turns} for triplet in found.triplets)

    return work


def check(memory, names, count=20):
    memory.index(user_id="u")
    assert memory.stats("u")[0].pending == 0
    assert_partition(memory, "u")
    turns = turns_of(memory, "u")
    assert sorted(turn["source_id"] for turn in turns) == sorted(f"{name}{number}" for name in names for number in range(count))
    for session_id in {turn["session_id"] for turn in turns}:
        of_session = [turn for turn in turns if turn["session_id"] == session_id]
        assert [turn["position"] for turn in of_session] == list(range(len(of_session)))
        for name in names:
            own = [turn["source_id"] for turn in of_session if turn["speaker"] == name]
            assert own == sorted(own, key=lambda source_id: int(source_id.removeprefix(name)))


def test_threads_of_one_memory(memory):
    memory.append([say("hello", id="Carol0", name="Carol")], user_id="u", session_id="s1")
    at_once(appends(memory, "Alice", "s"), appends(memory, "Bob", "s"), indexes(memory), retrieves(memory), indexes(memory))
    memory.forget(user_id="u", session_id="s1")
    check(memory, ["Alice", "Bob"])


OTHER = """
import sys
from memorai_core import Memory, Message
from memorai_core.testing import HashingEmbedder
name = sys.argv[2]
with Memory.open(sys.argv[1], embedder=HashingEmbedder()) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(20):
        message = Message(role="user", text=f"{name} saw town{number} and lake{number}.", name=name, id=f"{name}{number}")
        memory.append([message], user_id="u", session_id="s")
        if number % 4 == 0:
            memory.index(user_id="u")
        found = memory.retrieve(f"town{number}", user_id="u", k=50)
        assert message.id in [turn.source_id for turn in found.turns]
"""


def test_processes_on_one_file(open_memory):
    memory = open_memory()
    memory.append([say("hello")], user_id="u", session_id="s0")
    command = [sys.executable, "-c", OTHER, memory._database.path]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([*command, "Bob"], text=True, **pipes) as bob, subprocess.Popen([*command, "Carol"], text=True, **pipes) as carol:
        assert [bob.stdout.readline(), carol.stdout.readline()] == ["ready\n"] * 2
        results = []
        at_once(
            appends(memory, "Alice", "s"),
            indexes(memory),
            lambda: results.append(bob.communicate("\n")),
            lambda: results.append(carol.communicate("\n")),
        )
    assert (bob.returncode, carol.returncode, results) == (0, 0, [("", ""), ("", "")])
    memory.forget(user_id="u", session_id="s0")
    check(memory, ["Alice", "Bob", "Carol"])


def test_two_who_index_the_same_turns_index_them_once(open_memory):
    embedders = [Counting(), Counting()]
    one, two = (open_memory(embedder=embedder) for embedder in embedders)
    one.append(long_chat(60), user_id="u", session_id="s1")
    one.append(long_chat(60), user_id="u", session_id="s2")
    reports = []
    at_once(lambda: reports.append(one.index(user_id="u")), lambda: reports.append(two.index(user_id="u")))
    assert sum(report.turns for report in reports) == 120
    assert sum(report.triplets for report in reports) == one.stats("u")[0].triplets
    assert_partition(one, "u")
    assert one.stats("u")[0].pending == 0


def test_the_same_messages_from_several_at_once_are_stored_once(open_memory):
    memories = [open_memory() for _ in range(4)]
    given = [[] for _ in memories]
    works = [
        lambda memory=memory, turns=turns: turns.extend(memory.append(chat(*"abcdefgh"), user_id="u", session_id="s"))
        for memory, turns in zip(memories, given, strict=True)
    ]
    at_once(*works)
    assert len(turns_of(memories[0], "u")) == 8
    assert all([turn.turn_id for turn in turns] == [turn.turn_id for turn in given[0]] for turns in given)


def test_a_session_that_grows_while_it_is_indexed_is_indexed_whole(open_memory):
    """Turns that come while a stretch is analysed wait for the next one."""
    numbers = count(100)

    class Interrupts(Counting):
        def embed_documents(self, texts):
            if len(self.texts) < 100:
                memory.append([say(f"meanwhile {next(numbers)}")], user_id="u", session_id="s")
            return super().embed_documents(texts)

    memory = open_memory(embedder=Interrupts())
    memory.append(long_chat(40), user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.index(user_id="u")
    assert memory.stats("u")[0].pending == 0
    assert_partition(memory, "u")


def test_users_come_and_go_while_others_read(open_memory):
    memory = open_memory()
    memory.append(chat("river", "violin"), user_id="stays", session_id="s")
    memory.index(user_id="stays")
    before = everything(memory, "stays")

    def come_and_go():
        for _ in range(8):
            memory.append(chat("river", "mango"), user_id="u", session_id="s")
            memory.index(user_id="u")
            memory.forget(user_id="u", everything=True)

    def read():
        for _ in range(40):
            assert {turn.text for turn in memory.retrieve("river violin", user_id="stays").turns} == {"river", "violin"}
            try:
                found = memory.retrieve("river mango", user_id="u")
            except UnknownUserError:
                continue
            assert {turn.text for turn in found.turns} <= {"river", "mango"}

    at_once(come_and_go, read, read)
    assert memory.users() == ["stays"]
    assert everything(memory, "stays") == before


def test_closing_while_others_use_the_memory_leaves_a_whole_file(open_memory, tmp_path):
    memory = open_memory()
    memory.append(long_chat(10), user_id="u", session_id="s")
    started = threading.Event()

    def use():
        for number in count():
            started.set()
            memory.append([say(f"more {number}")], user_id="u", session_id="s")
            memory.retrieve("river", user_id="u")

    def close():
        started.wait()
        memory.close()

    with pytest.raises(Exception, match="was closed"):
        at_once(use, close)
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder()) as again:
        turns = turns_of(again, "u")
        assert [turn["position"] for turn in turns] == list(range(len(turns)))
        assert len(turns) >= 10
