"""One SQLite file and its connections: one that writes, and as many that read as are reading at once."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic

from memorai_core.errors import SchemaVersionError, StoreError
from memorai_core.storage.migrations import MIGRATIONS

APPLICATION_ID = 0x6D656D6F
"""Marks a file as memorai's own."""
BUSY_SECONDS = 60.0
"""How long a writer waits for another process's transaction."""


class Database:
    """Opens or makes the file, brings its schema up to date, and hands out transactions.

    `:memory:` gives a private temporary file that goes with `close`.
    Raises StoreError where the path or the file is no use, SchemaVersionError where a newer memorai wrote it; such a file
    is left as it was.
    """

    def __init__(self, path: str | Path) -> None:
        self._temporary = Path(tempfile.mkdtemp(prefix="memorai-")) if str(path) == ":memory:" else None
        self.path = self._temporary / "memory.db" if self._temporary else Path(path).expanduser()
        self._idle: list[sqlite3.Connection] = []
        self._idle_lock = Lock()
        self._write_lock = Lock()
        self._closed = False
        self._synced, self._unsynced = monotonic(), False
        _refuse_unusable(self.path)
        with self._errors():
            self._writer = self._connect()
            try:
                version = self._check()
                self._writer.execute("PRAGMA journal_mode = WAL")
                if version < len(MIGRATIONS):
                    self._migrate()
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def write(self, *, sync_seconds: float = 0.0) -> Iterator[sqlite3.Connection]:
        """One write transaction: durable when the block ends, nothing of it where the block raises.

        Within `sync_seconds` of the last durable one it outlives this process alone; with the next durable one, or `sync`, it
        outlives a loss of power too.
        """
        with self._write_lock, self._errors():
            self._refuse_closed()
            durable = monotonic() - self._synced >= sync_seconds
            self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            with self._transaction():
                yield self._writer
            self._lasting(durable)

    def sync(self) -> None:
        """Makes every transaction so far durable."""
        if not self._unsynced:
            return
        with self.write() as db:  # only a transaction that writes waits for the disk
            db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")

    def _lasting(self, durable: bool) -> None:
        self._unsynced = not durable
        self._synced = monotonic() if durable else self._synced

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One read transaction: everything read in the block is of one moment."""
        with self._errors():
            self._refuse_closed()
            with self._idle_lock:
                connection = self._idle.pop() if self._idle else None
            connection = connection or self._connect()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                with self._idle_lock:
                    if not self._closed:
                        self._idle.append(connection)
                        connection = None
                if connection:
                    connection.close()

    def scrub(self) -> None:
        """Writes the log into the file and empties it, so that forgotten text stands in neither."""
        with self._write_lock, self._errors():
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Closes every connection; a second call does nothing."""
        with self._write_lock, self._idle_lock:
            if self._closed:
                return
            self._closed = True
            for connection in [*self._idle, self._writer]:
                connection.close()
            self._idle.clear()
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA cache_size = -16384")
            connection.execute("PRAGMA mmap_size = 1073741824")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self) -> int:
        """The version of the file's schema; raises where the file is not ours to use."""
        sql = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id, pragma_user_version"
        application, version, tables = self._writer.execute(sql).fetchone()  # at once: another process may be making the file
        if application != APPLICATION_ID and (application or tables):
            raise StoreError(f"{str(self.path)!r} is a SQLite database of another program; give another path")
        if version > len(MIGRATIONS):
            raise SchemaVersionError(
                f"{str(self.path)!r} has schema version {version}, this memorai knows versions up to {len(MIGRATIONS)}: "
                "it was written by a newer memorai; upgrade with pip install -U memorai-plugins"
            )
        return int(version)

    def _migrate(self) -> None:
        with self._transaction():
            version = self._pragma("user_version")
            for statements in MIGRATIONS[version:]:
                for statement in statements:
                    self._writer.execute(statement)
            self._writer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._writer.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._writer.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")
            raise

    def _pragma(self, name: str) -> int:
        return int(self._writer.execute(f"PRAGMA {name}").fetchone()[0])

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError(f"{str(self.path)!r} was closed; open it again with Memory.open")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{str(self.path)!r} cannot be used: {error}; is it a memorai database, whole, readable and writable?"
            ) from error


def _refuse_unusable(path: Path) -> None:
    try:
        if b"\0" in str(path).encode():
            what = "is no path"
        elif path.is_dir():
            what = "is a folder"
        else:
            what = "" if path.parent.is_dir() else f"cannot be made: there is no folder {str(path.parent)!r}"
    except (OSError, UnicodeEncodeError) as error:
        what = f"is no path: {error}"
    if what:
        raise StoreError(f"{str(path)!r} {what}; give the path of a database file in a folder that exists")
