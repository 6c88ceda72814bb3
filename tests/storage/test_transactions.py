"""Transactions: all or nothing, and each reader's own moment."""

import threading

import pytest

from memorai_core import StoreError
from memorai_core.storage.database import Database


def write(database, *statements, then=None):
    with database.write() as db:
        for statement in statements:
            db.execute(statement)
        if then:
            raise then


def counts(database):
    with database.read() as db:
        return db.execute("SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM sessions)").fetchone()


def test_a_transaction_that_raises_leaves_nothing(tmp_path):
    database, insert = Database(tmp_path / "x.db"), "INSERT INTO users (user_id) VALUES ('u')"
    with pytest.raises(KeyboardInterrupt):
        write(database, insert, then=KeyboardInterrupt())
    with pytest.raises(StoreError, match="UNIQUE"):
        write(database, insert, insert)
    assert counts(database) == (0, 0)
    database.close()


def test_a_commit_that_fails_leaves_nothing_and_the_next_one_succeeds(tmp_path):
    database = Database(tmp_path / "x.db")
    with pytest.raises(StoreError, match="FOREIGN KEY"):
        write(database, "PRAGMA defer_foreign_keys = ON", "INSERT INTO sessions (user, session_id) VALUES (99, 's')")
    write(database, "INSERT INTO users (user_id) VALUES ('u')")
    assert counts(database) == (1, 0)
    database.close()


def test_a_reader_sees_one_moment(tmp_path):
    database = Database(tmp_path / "x.db")
    with database.read() as before:
        assert before.execute("SELECT count(*) FROM users").fetchone() == (0,)
        with database.write() as db:
            db.execute("INSERT INTO users (user_id) VALUES ('u')")
        assert before.execute("SELECT count(*) FROM users").fetchone() == (0,)
        with database.read() as after:
            assert after.execute("SELECT count(*) FROM users").fetchone() == (1,)
    database.close()


def test_closing_while_another_reads_lets_it_finish(tmp_path):
    database = Database(tmp_path / "x.db")
    with database.read() as db:
        closing = threading.Thread(target=database.close)
        closing.start()
        closing.join()
        assert db.execute("SELECT count(*) FROM users").fetchone() == (0,)
    assert [path.name for path in tmp_path.iterdir()] == ["x.db"]
