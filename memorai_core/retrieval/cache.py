"""Snapshots in memory, each user's newest, brought up to date on use and dropped by age when they grow too large together."""

import sqlite3
from collections import OrderedDict
from threading import Lock

from memorai_core.retrieval.catching_up import caught_up, load
from memorai_core.retrieval.snapshot import Snapshot
from memorai_core.storage.loading import Version

CACHE_BYTES = 2 * 1024**3
"""Bytes that all snapshots of one Memory may hold together; the newest one stays in any case."""


class SnapshotCache:
    """Keyed by user; one lock a user, so that one user's loading does not hold up another's queries."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._lock = Lock()
        self._user_locks: dict[int, Lock] = {}
        self._snapshots: OrderedDict[int, Snapshot] = OrderedDict()

    def get(self, db: sqlite3.Connection, version: Version) -> Snapshot:
        """The snapshot of a version; `db` is in a read transaction that sees this version."""
        with self._lock:
            snapshot = self._snapshots.get(version.user)
            if snapshot is not None and snapshot.version == version:
                self._snapshots.move_to_end(version.user)
                return snapshot
            user_lock = self._user_locks.setdefault(version.user, Lock())
        with user_lock:
            return self._refreshed(db, version)

    def drop(self, user: int) -> None:
        """Forgets a user's snapshot."""
        with self._lock:
            self._snapshots.pop(user, None)

    def _refreshed(self, db: sqlite3.Connection, version: Version) -> Snapshot:
        with self._lock:
            old = self._snapshots.get(version.user)
        if old is not None and old.version == version:
            return old
        if old is not None and old.version.revision > version.revision:
            return load(db, version)  # a reader whose transaction began before another's: its own, not kept
        same = old is not None and (old.version.generation, old.version.dimension) == (version.generation, version.dimension)
        snapshot = caught_up(db, old, version) if old is not None and same else load(db, version)
        with self._lock:
            self._snapshots[version.user] = snapshot
            self._snapshots.move_to_end(version.user)
            self._evict()
        return snapshot

    def _evict(self) -> None:
        total = sum(snapshot.nbytes for snapshot in self._snapshots.values())
        while total > self._limit and len(self._snapshots) > 1:
            _, oldest = self._snapshots.popitem(last=False)
            total -= oldest.nbytes
