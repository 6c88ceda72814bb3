"""Which texts of a user need embedding, and whether the embedder is the one that the user's memory was built with."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from time import perf_counter

import numpy as np

from memorai_core import identity
from memorai_core.embedding import embed_query, embed_texts
from memorai_core.embedding.windows import unit
from memorai_core.errors import ConfigurationError, EmbedderMismatchError
from memorai_core.protocols import Embedder
from memorai_core.storage.database import Database
from memorai_core.storage.derived import stored_texts, stored_vectors
from memorai_core.storage.loading import PROBE

PROBE_TEXT = "The quick brown fox jumps over the lazy dog."
SAME = 0.98
"""Cosine of two runs' probe vectors above which they come from one embedder; machines differ in the last digits."""


def unit_vector(given: Sequence[float] | np.ndarray, dimension: int) -> np.ndarray:
    """A vector given from outside, float32, of length 1; `dimension` is that of the memory it is for, 0 while it has none."""
    try:
        vector = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"query_vector must be one row of finite numbers: {error}") from error
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ConfigurationError(f"query_vector must be one row of finite numbers, not of shape {vector.shape} or with others among them")
    if dimension == 0:
        return np.zeros(0, np.float32)
    if len(vector) != dimension:
        raise EmbedderMismatchError(
            f"query_vector has {len(vector)} numbers, this memory's vectors have {dimension}: embed the query with its own embedder"
        )
    row: np.ndarray = unit(vector[None])[0]
    return row


class Vectors:
    """Embeds what a store does not hold yet, each text once."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder
        self._lock = Lock()
        self._probe: np.ndarray | None = None
        self._accepted: set[bytes] = set()
        """Stored probes that are known to come from this embedder."""
        self.seconds = 0.0
        """Time spent in the embedder so far."""

    def of_query(self, user_id: str, query: str) -> np.ndarray:
        """The query's vector, (dimension,) of length 1; raises EmbedderMismatchError for another embedder's memory."""
        self.check(user_id)
        return embed_query(self._embedder, query)

    def missing(
        self, user: int, user_id: str, bodies: Iterable[str], fresh: Mapping[bytes, np.ndarray] | None = None
    ) -> dict[bytes, np.ndarray]:
        """The (windows, dimension) vectors, by text key, of those texts that neither the user's memory nor `fresh` holds yet."""
        by_key = {key: body for body, key in identity.text_keys(bodies).items() if not fresh or key not in fresh}
        with self._database.read() as db:
            self.check_in(db, user_id)
            known = stored_texts(db, user, by_key)
        return self._embedded({key: body for key, body in by_key.items() if key not in known})

    def _embedded(self, new: dict[bytes, str]) -> dict[bytes, np.ndarray]:
        if not new:
            return {}
        start = perf_counter()
        rows = embed_texts(self._embedder, list(new.values()))
        with self._lock:
            self.seconds += perf_counter() - start
        if rows[0].shape[1] != self.dimension:
            raise ConfigurationError(
                f"{type(self._embedder).__name__} gives documents vectors of dimension {rows[0].shape[1]}, queries of {self.dimension}"
            )
        return dict(zip(new, rows, strict=True))

    def of_texts(self, user: int, user_id: str, bodies: Sequence[str], fresh: dict[bytes, np.ndarray]) -> np.ndarray:
        """One vector a text, (texts, dimension), rows of length 1, or 0 for an empty one: the mean of its windows.

        Each non-empty text is stored or among the `fresh` ones; one that was forgotten meanwhile is embedded.
        """
        keys = identity.text_keys(bodies)
        windows = fresh
        if by_key := {key: body for body, key in keys.items() if key not in fresh}:
            with self._database.read() as db:
                self.check_in(db, user_id)
                rows = stored_texts(db, user, by_key)
                stored = stored_vectors(db, list(rows.values()), self.dimension)
            windows = fresh | {key: stored[row] for key, row in rows.items()}
            windows |= self._embedded({key: body for key, body in by_key.items() if key not in rows})
        result = np.zeros((len(bodies), self.dimension), np.float32)
        for number, body in enumerate(bodies):
            if body:
                mean = windows[keys[body]].mean(axis=0)
                result[number] = mean / (float(np.linalg.norm(mean)) or 1.0)
        return result

    @property
    def probe(self) -> np.ndarray:
        """The vector of a fixed sentence, by which an embedder is known; made on first use."""
        with self._lock:
            if self._probe is None:
                self._probe = embed_query(self._embedder, PROBE_TEXT)
            return self._probe

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return len(self.probe)

    def check(self, user_id: str) -> None:
        """Raises EmbedderMismatchError where the user's memory was built with another embedder."""
        with self._database.read() as db:
            self.check_in(db, user_id)

    def check_in(self, db: sqlite3.Connection, user_id: str) -> None:
        """`check`, within a transaction: another process may have built the memory anew since the last time."""
        row = db.execute("SELECT probe FROM users WHERE user_id = ?", (user_id,)).fetchone()
        if row is None or row[0] is None or row[0] in self._accepted:
            return
        stored = np.frombuffer(row[0], PROBE)
        name = type(self._embedder).__name__
        if not _same(stored, self.probe):
            raise EmbedderMismatchError(
                f"the memory of user {user_id!r} in {str(self._database.path)!r} holds vectors of dimension {len(stored)} from another "
                f"embedder than the {name} (dimension {self.dimension}) in use; open it with that one, or build it anew with this one: "
                f"memory.index(user_id={user_id!r}, rebuild=True)"
            )
        self._accepted.add(row[0])


def _same(stored: np.ndarray, probe: np.ndarray) -> bool:
    return len(stored) == len(probe) and (float(stored @ probe) >= SAME or np.array_equal(stored, probe))  # zeros are like nothing
