import contextvars
import logging
from threading import Event, Thread, active_count

import pytest

from memorai_core import Memory, Message, UnknownUserError
from memorai_core.background import BackgroundIndexer
from memorai_core.testing import HashingEmbedder


class Gated:
    """Indexes once it is let to, and writes down whom."""

    def __init__(self) -> None:
        self.started, self.go = Event(), Event()
        self.indexed: list[str] = []

    def __call__(self, user_id: str) -> None:
        self.started.set()
        assert self.go.wait(10)
        self.indexed.append(user_id)


def test_users_are_indexed_in_order_and_once_however_often_they_wait():
    gated = Gated()
    indexer = BackgroundIndexer(gated)
    indexer.submit("a")
    assert gated.started.wait(10)
    for user_id in ["b", "c", "b", "b"]:
        indexer.submit(user_id)
    gated.go.set()
    indexer.drain()
    assert gated.indexed == ["a", "b", "c"]


def test_a_user_submitted_while_at_work_is_indexed_again():
    gated = Gated()
    indexer = BackgroundIndexer(gated)
    indexer.submit("a")
    assert gated.started.wait(10)
    indexer.submit("a")
    gated.go.set()
    indexer.drain()
    assert gated.indexed == ["a", "a"]


def test_drain_gives_up_after_its_timeout_and_the_work_goes_on():
    gated = Gated()
    indexer = BackgroundIndexer(gated)
    indexer.submit("a")
    with pytest.raises(TimeoutError, match=r"0\.01 s"):
        indexer.drain(timeout=0.01)
    gated.go.set()
    indexer.drain(timeout=10)
    assert gated.indexed == ["a"]


def test_an_error_is_logged_and_raised_by_the_next_drain_only(caplog):
    def index(user_id: str) -> None:
        if user_id != "good":
            raise OSError(f"no network for {user_id}")

    indexer = BackgroundIndexer(index)
    with caplog.at_level(logging.ERROR, "memorai_core.background"):
        for user_id in ["bad", "good", "worse"]:
            indexer.submit(user_id)
        with pytest.raises(OSError, match="no network for bad"):
            indexer.drain()
    indexer.drain()
    assert [record.exc_info[1].args[0] for record in caplog.records] == ["no network for bad", "no network for worse"]


def test_a_user_forgotten_while_waiting_is_no_error(caplog):
    def index(user_id: str) -> None:
        raise UnknownUserError(user_id)

    indexer = BackgroundIndexer(index)
    indexer.submit("gone")
    indexer.drain()
    assert not caplog.records


def test_close_finishes_what_waits_and_accepts_no_more():
    gated = Gated()
    indexer = BackgroundIndexer(gated)
    indexer.submit("a")
    indexer.submit("b")
    closing = Thread(target=indexer.close)
    closing.start()
    gated.go.set()
    closing.join(10)
    indexer.submit("c")
    indexer.close()
    assert gated.indexed == ["a", "b"]


def test_the_worker_ends_with_the_work():
    before = active_count()
    indexer = BackgroundIndexer(lambda user_id: None)
    for _ in range(20):
        indexer.submit("a")
        indexer.drain()
    indexer.close()
    assert active_count() <= before + 1  # the last one may be just ending


def test_the_caller_s_context_does_not_reach_the_worker():
    callbacks = contextvars.ContextVar("callbacks", default="none")
    seen = []
    indexer = BackgroundIndexer(lambda user_id: seen.append(callbacks.get()))
    callbacks.set("of the caller")
    indexer.submit("a")
    indexer.drain()
    assert seen == ["none"]


async def test_memory_indexes_soon_and_close_waits_for_it(tmp_path):
    messages = [Message(role="user", text="I live in Hanoi with Minh."), Message(role="user", text="Minh bakes bread.")]
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder()) as memory:
        memory.append(messages[:1], user_id="alice", session_id="s")
        memory.index_soon(user_id="alice")
        await memory.adrain()
        assert memory.stats("alice")[0].pending == 0
        memory.append(messages[1:], user_id="alice", session_id="s")
        memory.index_soon(user_id="alice")
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder()) as memory:
        assert memory.stats("alice")[0].pending == 0
