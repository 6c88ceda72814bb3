"""Stopped anywhere, by an error or by a kill, a memory is whole, and goes on from there."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys

import pytest
from dialogue import Counting, Fickle, Hook, assert_partition, everything, long_chat, say, scratch, turns_of

from memorai_core import Memory, Message, StoreError
from memorai_core.testing import HashingEmbedder


class Stopped(Exception):
    """What an embedder or an analyzer fails with, halfway."""


class Failing(Counting):
    """Fails at its call number `at`, counted from 1, and not again."""

    def __init__(self, at, error=Stopped):
        super().__init__()
        self.at, self.error, self.calls = at, error, 0

    def embed_documents(self, texts):
        self.calls += 1
        if self.calls == self.at:
            raise self.error("halfway")
        return super().embed_documents(texts)


class Stopping(Fickle):
    """Fails at its stretch number `at`, counted from 1, and not again."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def analyze(self, session, turn_vectors):
        self.calls += 1
        if self.calls == self.at:
            raise Stopped("halfway")
        return super().analyze(session, turn_vectors)


def fill(memory):
    memory.append(long_chat(20), user_id="u", session_id="s1")
    memory.append([say("I saw a boat. Then we had some tea.", id="a", at=3)], user_id="u", session_id="s2")
    memory.append(long_chat(230), user_id="u", session_id="s3")


@pytest.fixture(scope="module", params=[None, Fickle], ids=["extractive", "fickle"])
def undisturbed(request):
    with scratch(analyzer=request.param and request.param()) as memory:
        fill(memory)
        memory.index(user_id="u")
        return request.param, everything(memory, "u")


def stop_and_go_on(memory, error, expected):
    with pytest.raises(error, match="halfway"):
        memory.index(user_id="u")
    assert not memory._database._unsynced, "what was finished outlives a loss of power"
    finished = [turn["session_id"] for turn in turns_of(memory, "u") if turn["segment_id"]]
    assert_partition(memory, "u")
    assert len(memory.retrieve("boat tea river", user_id="u", k=300).turns) > 0
    pending = memory.stats("u")[0].pending
    assert pending == 251 - len(finished) > 0
    assert memory.index(user_id="u").turns == pending
    assert everything(memory, "u") == expected
    return finished


@pytest.mark.parametrize("error", [Stopped, KeyboardInterrupt])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_an_embedder_that_fails_leaves_what_was_finished(open_memory, undisturbed, at, error):
    analyzer, expected = undisturbed
    embedder = Failing(at, error)
    memory = open_memory(embedder=embedder, analyzer=analyzer and analyzer())
    fill(memory)
    finished = stop_and_go_on(memory, error, expected)
    assert bool(finished) == (at > 2 or (at == 2 and "s1" in finished))
    assert len(embedder.texts) <= 2 * len(set(embedder.texts))


@pytest.mark.parametrize(("at", "sessions"), [(1, set()), (2, {"s1"}), (3, {"s1", "s2"}), (4, {"s1", "s2", "s3"})])
def test_an_analyzer_that_fails_leaves_what_was_finished(open_memory, at, sessions):
    with scratch(analyzer=Fickle()) as other:
        fill(other)
        other.index(user_id="u")
        expected = everything(other, "u")
    memory = open_memory(analyzer=Stopping(at))
    fill(memory)
    assert set(stop_and_go_on(memory, Stopped, expected)) == sessions


def test_a_rebuild_that_was_stopped_goes_on_as_indexing(open_memory, undisturbed):
    analyzer, expected = undisturbed
    embedder = Failing(-1)
    memory = open_memory(embedder=embedder, analyzer=analyzer and analyzer())
    fill(memory)
    memory.index(user_id="u")
    embedder.at = embedder.calls + 3
    with pytest.raises(Stopped):
        memory.index(user_id="u", rebuild=True)
    assert 0 < memory.stats("u")[0].pending < 251
    memory.index(user_id="u")
    assert everything(memory, "u") == expected


async def test_stopped_while_sessions_are_indexed_side_by_side(open_memory, undisturbed):
    analyzer, expected = undisturbed
    memory = open_memory(embedder=Failing(3), analyzer=analyzer and analyzer())
    fill(memory)
    with pytest.raises(Stopped, match="halfway"):
        await memory.aindex(user_id="u")
    assert_partition(memory, "u")
    await memory.aindex(user_id="u")
    assert everything(memory, "u") == expected


@pytest.mark.parametrize("at", [1, 2, 4])
async def test_cancelled_while_sessions_are_indexed_side_by_side(open_memory, undisturbed, at):
    analyzer, expected = undisturbed
    embedder = Hook()
    memory = open_memory(embedder=embedder, analyzer=analyzer and analyzer())
    fill(memory)
    task = asyncio.ensure_future(memory.aindex(user_id="u"))
    loop = asyncio.get_running_loop()
    embedder.at, embedder.then = at, lambda: loop.call_soon_threadsafe(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert_partition(memory, "u")
    assert len(turns_of(memory, "u")) == 251
    memory.index(user_id="u")
    assert everything(memory, "u") == expected


def test_a_write_that_fails_in_the_store_leaves_nothing_of_it(open_memory):
    """As where the disk is full: the stretch is pending, and what was there before is there still."""
    memory = open_memory()
    memory.append(long_chat(20), user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append(long_chat(20, start=20), user_id="u", session_id="s")
    before = everything(memory, "u")
    memory._database._writer.execute(f"PRAGMA max_page_count = {memory._database._pragma('page_count')}")
    with pytest.raises(StoreError, match="full"):
        memory.index(user_id="u")
    assert everything(memory, "u") == before
    with pytest.raises(StoreError, match="full"):
        memory.append([say("x " * 20_000)], user_id="u", session_id="s")
    assert everything(memory, "u") == before
    memory._database._writer.execute("PRAGMA max_page_count = 1073741823")
    assert memory.index(user_id="u").turns == 20
    assert_partition(memory, "u")


WRITER = """
import sys
from memorai_core import Memory, Message
from memorai_core.testing import HashingEmbedder
memory = Memory.open(sys.argv[1], embedder=HashingEmbedder())
for number in range(int(sys.argv[2]), 100_000):
    memory.append([Message(role="user", text=f"I saw town{number} and lake{number}.", id=str(number))], user_id="u", session_id="s")
    print(number, flush=True)
    if number % 5 == 0:
        memory.index(user_id="u")
"""


@pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX's")
def test_killed_at_any_moment_the_file_is_whole_and_holds_every_append_that_returned(tmp_path):
    path, done = tmp_path / "memory.db", -1
    for lines in (37, 64):
        process = subprocess.Popen([sys.executable, "-c", WRITER, path, str(done + 1)], stdout=subprocess.PIPE, text=True)
        for _ in range(lines):
            done = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.stdout.close()
        process.wait()
        done = int(rest[-1]) if rest else done
        with Memory.open(path, embedder=HashingEmbedder()) as memory:
            stored = [turn["source_id"] for turn in turns_of(memory, "u")]
            assert stored[: done + 1] == [str(number) for number in range(done + 1)]
            assert len(stored) <= done + 2, "an append that did not return may be there, whole"
            assert_partition(memory, "u")
            memory.index(user_id="u")
            assert memory.stats("u")[0].pending == 0
            done = len(stored) - 1
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    with Memory.open(path, embedder=HashingEmbedder()) as memory, scratch() as fresh:
        said = [Message(role="user", text=f"I saw town{number} and lake{number}.", id=str(number)) for number in range(done + 1)]
        fresh.append(said, user_id="u", session_id="s")
        assert [turn["turn_id"] for turn in turns_of(memory, "u")] == [turn["turn_id"] for turn in turns_of(fresh, "u")]
