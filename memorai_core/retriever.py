"""The read path joined together: the query's vector, the user's snapshot, its ranking, and the rows as evidence."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from time import perf_counter

import numpy as np

from memorai_core.errors import ConfigurationError, UnknownUserError
from memorai_core.evidence import allowed_turns, evidence_of
from memorai_core.models import Evidence, Explanation, clean_text
from memorai_core.retrieval import rank
from memorai_core.retrieval.cache import SnapshotCache
from memorai_core.retrieval.explain import explain
from memorai_core.retrieval.snapshot import Snapshot
from memorai_core.settings import Settings
from memorai_core.storage import reading
from memorai_core.storage.database import Database
from memorai_core.storage.loading import Version, version
from memorai_core.storage.users import user_row
from memorai_core.vectors import Vectors, unit_vector


class Retriever:
    """Answers queries from the users' snapshots."""

    def __init__(self, database: Database, vectors: Vectors, snapshots: SnapshotCache) -> None:
        self._database = database
        self._vectors = vectors
        self._snapshots = snapshots

    def retrieve(
        self,
        query: str,
        user_id: str,
        k: int,
        settings: Settings,
        *,
        session_id: str | None,
        as_of: datetime | None,
        query_vector: Sequence[float] | np.ndarray | None,
    ) -> Evidence:
        """See `Memory.retrieve`."""
        _check(query, k, as_of)
        start = perf_counter()
        query = str(clean_text(query))
        with self._database.read() as db:
            dimension = _version(version(db, user_id), user_id).dimension
        vector = self._query_vector(user_id, query, query_vector, dimension)  # outside of any transaction: it may take long
        embedded = perf_counter()
        with self._database.read() as db:
            current = _version(version(db, user_id), user_id)
            snapshot = self._snapshots.get(db, current)
            if len(vector) != current.dimension:  # the user's first turns were indexed, or built anew, meanwhile
                vector = np.zeros(current.dimension, np.float32)
            allowed = allowed_turns(db, snapshot, user_id, session_id, as_of)
            ranking = rank(snapshot, query, vector, k, settings, allowed=allowed)
            found = evidence_of(db, snapshot, ranking, query, user_id, as_of)
        end = perf_counter()
        timings = {"embed": (embedded - start) * 1e3, "rank": (end - embedded) * 1e3, "total": (end - start) * 1e3}
        return replace(found, timings_ms=timings)

    def explain(self, evidence: Evidence, turn_id: str) -> Explanation:
        """See `Memory.explain`."""
        explanation = explain(evidence.trace, turn_id, query=evidence.query)
        wanted = [part.node_id for part in explanation.contributions if part.kind == "entity"]
        with self._database.read() as db:
            names = reading.names(db, user_row(db, evidence.user_id) or 0, wanted)
        labelled = (replace(part, label=names.get(part.node_id, part.label)) for part in explanation.contributions)
        return replace(explanation, contributions=tuple(labelled))

    def snapshot(self, user_id: str) -> Snapshot:
        """A user's memory as arrays, up to date. Raises UnknownUserError."""
        with self._database.read() as db:
            return self._snapshots.get(db, _version(version(db, user_id), user_id))

    def snapshot_bytes(self, user_id: str) -> int:
        """See `Memory.snapshot_bytes`."""
        return self.snapshot(user_id).nbytes

    def _query_vector(self, user_id: str, query: str, given: Sequence[float] | np.ndarray | None, dimension: int) -> np.ndarray:
        if given is not None:
            return unit_vector(given, dimension)
        if dimension == 0 or not query.strip():
            return np.zeros(dimension, np.float32)
        return self._vectors.of_query(user_id, query)


def _version(found: Version | None, user_id: str) -> Version:
    if found is None:
        raise UnknownUserError(f"nothing is stored of user {user_id!r}; append messages first, or check the id")
    return found


def _check(query: str, k: int, as_of: datetime | None) -> None:
    if not isinstance(query, str):
        raise ConfigurationError(f"query must be a string, not {query!r}")
    if not isinstance(k, int) or k < 1:
        raise ConfigurationError(f"k must be a whole number from 1 up, not {k!r}")
    if not isinstance(as_of, datetime | None):
        raise ConfigurationError(f"as_of must be a datetime, not {as_of!r}")
