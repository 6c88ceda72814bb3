"""The cache of snapshots: the version asked for and no other, one load at a time a user, and a limit."""

from threading import Barrier, Thread

import pytest
from dialogue import chat

from memorai_core.retrieval import cache as cache_module
from memorai_core.retrieval.cache import SnapshotCache
from memorai_core.storage.loading import version


@pytest.fixture
def loads(monkeypatch):
    """Which users were loaded anew, in order."""
    seen = []

    def counted(db, current):
        seen.append(current.user)
        return real(db, current)

    real = cache_module.load
    monkeypatch.setattr(cache_module, "load", counted)
    return seen


def get(cache, memory, user_id="u"):
    with memory._database.read() as db:
        return cache.get(db, version(db, user_id))


def test_the_same_version_is_the_same_snapshot(memory, loads):
    memory.append(chat("river"), user_id="u", session_id="s")
    cache = SnapshotCache()
    assert get(cache, memory) is get(cache, memory)
    assert len(loads) == 1


def test_appending_and_indexing_extend_a_snapshot_while_edits_and_forgetting_load_it_anew(memory, loads):
    cache = SnapshotCache()
    memory.append(chat("river", "violin", "Hanoi"), user_id="u", session_id="s")
    memory.index(user_id="u")
    get(cache, memory)
    memory.append(chat("marathon", "bakery", start=3), user_id="u", session_id="s")
    get(cache, memory)
    memory.index(user_id="u")
    get(cache, memory)
    assert len(loads) == 1
    (edited,) = memory.append(chat("orchid"), user_id="u", session_id="s")
    get(cache, memory)
    assert len(loads) == 2
    memory.forget(user_id="u", turn_id=edited.turn_id)
    get(cache, memory)
    assert len(loads) == 3


def test_a_reader_whose_moment_is_past_gets_its_own_and_the_newer_one_stays(memory, loads):
    cache = SnapshotCache()
    memory.append(chat("river"), user_id="u", session_id="s")
    with memory._database.read() as before:
        early = version(before, "u")
        memory.append(chat("violin", start=1), user_id="u", session_id="s")
        newest = get(cache, memory)
        old = cache.get(before, early)
    assert (len(old.turns.row), len(newest.turns.row)) == (1, 2)
    assert get(cache, memory) is newest


def test_the_least_recently_used_snapshots_go_first(memory, loads):
    for user_id in "abc":
        memory.append(chat("river", "violin"), user_id=user_id, session_id="s")
    one = get(SnapshotCache(), memory, "a").nbytes
    cache = SnapshotCache(limit=int(one * 2.5))
    for user_id in "abac":
        get(cache, memory, user_id)
    loads.clear()
    get(cache, memory, "a")
    get(cache, memory, "c")
    assert loads == []
    get(cache, memory, "b")
    assert len(loads) == 1


def test_a_snapshot_larger_than_the_limit_is_kept_alone(memory, loads):
    cache = SnapshotCache(limit=1)
    memory.append(chat("river"), user_id="a", session_id="s")
    memory.append(chat("river"), user_id="b", session_id="s")
    assert get(cache, memory, "a") is get(cache, memory, "a")
    get(cache, memory, "b")
    get(cache, memory, "b")
    assert len(loads) == 2


def test_several_readers_load_a_user_once(memory, loads):
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    cache, barrier, found = SnapshotCache(), Barrier(6), []

    def look():
        barrier.wait()
        found.append(get(cache, memory))

    threads = [Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert {id(snapshot) for snapshot in found} == {id(found[0])}


def test_a_dropped_user_is_loaded_anew(memory, loads):
    memory.append(chat("river"), user_id="u", session_id="s")
    cache = SnapshotCache()
    snapshot = get(cache, memory)
    cache.drop(snapshot.version.user)
    cache.drop(12345)
    assert get(cache, memory) is not snapshot
