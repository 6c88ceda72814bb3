"""One file: what it may be, who may open it, and that a transaction is all or nothing."""

import os
import sqlite3
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from dialogue import chat, everything, say

from memorai_core import Memory, SchemaVersionError, StoreError
from memorai_core.storage import database as database_module
from memorai_core.storage.database import APPLICATION_ID
from memorai_core.storage.migrations import MIGRATIONS
from memorai_core.testing import HashingEmbedder


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def made_by(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def filled(open_memory, tmp_path):
    """The path of a closed memory of two turns."""
    memory = open_memory("filled.db")
    memory.append(chat("river violin", "Hanoi"), user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.close()
    return tmp_path / "filled.db"


def refused(path, error, match):
    before = files(path.parent)
    with pytest.raises(error, match=match) as raised:
        Memory.open(path, embedder=HashingEmbedder())
    assert str(path) in str(raised.value)
    assert files(path.parent) == before


@pytest.mark.parametrize(
    "content",
    [b"not a database" * 500, b"{}", b"SQLite format 3\0" + bytes(84), os.urandom(8192), b"\0" * 4096, "текст".encode() * 400],
    ids=["text", "json", "half a header", "noise", "zeros", "words"],
)
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path, content):
    (tmp_path / "x.db").write_bytes(content)
    refused(tmp_path / "x.db", StoreError, "database")


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('mine')"],
        ["PRAGMA journal_mode = WAL", "CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('mine')"],
        ["CREATE TABLE turns (turn INTEGER PRIMARY KEY)", "PRAGMA user_version = 1"],
        ["PRAGMA application_id = 12345"],
        ["PRAGMA application_id = 12345", "CREATE TABLE users (user)"],
    ],
    ids=["tables", "tables and a log", "tables with our names", "an application", "an application with tables"],
)
def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path, statements):
    made_by(tmp_path / "x.db", *statements)
    refused(tmp_path / "x.db", StoreError, "another program")


def test_a_newer_memorais_file_is_refused_and_left_as_it_is(filled):
    made_by(filled, "PRAGMA user_version = 999")
    refused(filled, SchemaVersionError, "newer memorai")


def test_an_empty_file_becomes_a_memory(tmp_path):
    (tmp_path / "x.db").touch()
    made_by(tmp_path / "y.db", "PRAGMA user_version = 0", "VACUUM")
    for name in ("x.db", "y.db"):
        with Memory.open(tmp_path / name, embedder=HashingEmbedder()) as memory:
            memory.append([say("river")], user_id="u", session_id="s")
        assert sqlite3.connect(tmp_path / name).execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


DAMAGED = {
    "all but the first page": lambda whole: whole[:4096] + b"\xff" * (len(whole) - 4096),
    "the second half": lambda whole: whole[: len(whole) // 2] + b"\xff" * (len(whole) - len(whole) // 2),
    "cut off": lambda whole: whole[: len(whole) // 2],
    "the header": lambda whole: b"\xff" * 100 + whole[100:],
}


def use(path):
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        memory.stats()
        memory.retrieve("river", user_id="u")
        memory.graph(user_id="u")
        memory.forget(user_id="u", everything=True)


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_says_so(filled, damage):
    filled.write_bytes(DAMAGED[damage](filled.read_bytes()))
    with pytest.raises(StoreError, match="cannot be used"):
        use(filled)


@contextmanager
def as_nobody():
    """As a user to whom file modes apply: to root none do."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
def test_a_file_that_may_not_be_written_is_refused_and_left_as_it_is(filled):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "readonly.db").write_bytes(filled.read_bytes())
        (folder / "readonly.db").chmod(0o444)
        folder.chmod(0o555)
        with as_nobody():
            refused(folder / "readonly.db", StoreError, "cannot be used")
            refused(folder / "new.db", StoreError, "cannot be used")
        folder.chmod(0o755)


def test_a_memory_in_memory_is_private_and_goes_with_close():
    with Memory.open(":memory:", embedder=HashingEmbedder()) as one, Memory.open(":memory:", embedder=HashingEmbedder()) as two:
        one.append([say("river")], user_id="u", session_id="s")
        one.index(user_id="u")
        assert (one.users(), two.users()) == (["u"], [])
        folder = one._database.path.parent
        assert folder.is_dir()
    assert not folder.exists()


def test_opening_and_reading_write_nothing_and_leave_one_file(filled):
    before = filled.read_bytes()
    with Memory.open(filled, embedder=HashingEmbedder()) as memory:
        memory.retrieve("river", user_id="u")
    assert list(files(filled.parent)) == ["filled.db"]
    assert filled.read_bytes() == before


def test_a_path_may_have_any_characters(tmp_path):
    for name in ("with space.db", "q?mode=ro&x=1.db", "a#b%41.db", "数据库.db", "'quoted'.db"):
        with Memory.open(str(tmp_path / name), embedder=HashingEmbedder()) as memory:
            memory.append([say("river")], user_id="u", session_id="s")
        assert (tmp_path / name).is_file()
    assert len(list(tmp_path.iterdir())) == 5


CALLS = {
    "append": lambda memory: memory.append([say("x")], user_id="u", session_id="s"),
    "index": lambda memory: memory.index(user_id="u"),
    "rebuild": lambda memory: memory.index(user_id="u", rebuild=True),
    "retrieve": lambda memory: memory.retrieve("x", user_id="u"),
    "graph": lambda memory: memory.graph(user_id="u"),
    "forget": lambda memory: memory.forget(user_id="u", everything=True),
    "show": lambda memory: memory.show("ab"),
    "stats": lambda memory: memory.stats(),
    "users": lambda memory: memory.users(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_memory_says_so(filled, call):
    before = filled.read_bytes()
    memory = Memory.open(filled, embedder=HashingEmbedder())
    evidence = memory.retrieve("river", user_id="u")
    turn_id = evidence.turns[0].turn_id
    memory.close()
    memory.close()
    with pytest.raises(StoreError, match="was closed"):
        CALLS[call](memory)
    with pytest.raises(StoreError, match="was closed"):
        memory.explain(evidence, turn_id)
    assert filled.read_bytes() == before


def test_every_connection_is_closed(tmp_path, monkeypatch):
    """After use by several threads at once, and where opening fails."""
    opened, connect = [], sqlite3.connect

    class Watched(sqlite3.Connection):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            opened.append(self)

        def close(self):
            super().close()
            opened.remove(self)

    monkeypatch.setattr(sqlite3, "connect", lambda *arguments, **options: connect(*arguments, factory=Watched, **options))
    with Memory.open(tmp_path / "x.db", embedder=HashingEmbedder()) as memory:
        memory.append(chat("river", "violin"), user_id="u", session_id="s")
        threads = [threading.Thread(target=lambda: memory.retrieve("river", user_id="u")) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        memory.index(user_id="u")
        with pytest.raises(StoreError), memory._database.read() as db:
            db.execute("SELECT nonsense")
        assert opened
    assert opened == []
    (tmp_path / "y.db").write_bytes(b"no database" * 100)
    with pytest.raises(StoreError):
        Memory.open(tmp_path / "y.db", embedder=HashingEmbedder())
    monkeypatch.setattr(database_module, "MIGRATIONS", (*MIGRATIONS, ("DROP TABLE nothing",)))
    with pytest.raises(StoreError):
        Memory.open(tmp_path / "x.db", embedder=HashingEmbedder())
    assert opened == []


def test_a_file_of_an_older_memorai_is_brought_up_to_date(filled, monkeypatch):
    monkeypatch.setattr(database_module, "MIGRATIONS", (*MIGRATIONS, ("ALTER TABLE turns ADD COLUMN mood TEXT", "CREATE TABLE moods (x)")))
    with Memory.open(filled, embedder=HashingEmbedder()) as memory:
        assert len(memory.retrieve("river", user_id="u").turns) == 2
    version = sqlite3.connect(filled).execute("PRAGMA user_version").fetchone()[0]
    assert version == len(MIGRATIONS) + 1
    with Memory.open(filled, embedder=HashingEmbedder()) as memory:
        assert memory.stats("u")[0].turns == 2


def test_a_migration_that_fails_changes_nothing(filled, monkeypatch):
    monkeypatch.setattr(database_module, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE moods (x)", "DROP TABLE nothing_of_that_name")))
    refused(filled, StoreError, "nothing_of_that_name")
    monkeypatch.undo()
    with Memory.open(filled, embedder=HashingEmbedder()) as memory:
        assert memory.stats("u")[0].turns == 2


def test_opening_does_not_wait_for_a_writer(filled):
    with Memory.open(filled, embedder=HashingEmbedder()) as memory, memory._database.write() as db:
        db.execute("DELETE FROM users WHERE user_id = 'nobody'")
        with Memory.open(filled, embedder=HashingEmbedder()) as other:
            assert len(other.retrieve("river", user_id="u").turns) == 2


def test_many_who_make_the_file_at_once_share_it(tmp_path):
    barrier, errors = threading.Barrier(6), []

    def make(number):
        barrier.wait()
        try:
            with Memory.open(tmp_path / "x.db", embedder=HashingEmbedder()) as memory:
                memory.append([say(f"turn {number}")], user_id="u", session_id="s")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with Memory.open(tmp_path / "x.db", embedder=HashingEmbedder()) as memory:
        assert memory.stats("u")[0].turns == 6
        assert len(everything(memory, "u")[0]) == 6
