"""An embedder that never embeds a text twice, also across runs, and knows what each text cost."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memorai_core.embedding import embed_query, embed_texts
from memorai_core.protocols import Embedder

Vectors = NDArray[np.float32]
T = TypeVar("T")

BATCH = 256
"""Texts embedded between two commits, so that a stopped run loses little."""
PROBE = "The quick brown fox told Ana on 8 May 2023 that it had moved to Hanoi."

SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    text BLOB NOT NULL, purpose TEXT NOT NULL, windows INTEGER NOT NULL, vectors BLOB NOT NULL, seconds REAL NOT NULL,
    PRIMARY KEY (text, purpose)
)
"""


@dataclass(slots=True)
class Spent:
    """Running totals of a cached embedder."""

    texts: int = 0
    seconds: float = 0.0
    """What the texts asked for cost, or cost when they were embedded first."""
    inside: float = 0.0
    """Wall-clock seconds spent in calls, mostly reading where the cache is warm."""


class CachedEmbedder:
    """A windowed embedder with its vectors in one SQLite file an embedder, under `folder`.

    Texts are known by their sha256, embedders by their class and what they make of a probe sentence.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self.identity = identify(embedder)
        self.spent = Spent()
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(folder / f"embeddings-{self.identity[:16]}.sqlite", timeout=60, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(SCHEMA)

    def embed_windows(self, texts: list[str]) -> list[Vectors]:
        """One array of (windows, dimension) for each text, rows of length 1."""
        began = time.perf_counter()
        with self._lock:
            known = self._read(texts, "document")
            missing = [text for text in dict.fromkeys(texts) if key(text) not in known]
            for batch in batches(missing, BATCH):
                known |= self._embed(batch)
            found = [known[key(text)] for text in texts]
            self.spent.texts += len(texts)
            self.spent.seconds += sum(seconds for _, seconds in found)
            self.spent.inside += time.perf_counter() - began
        return [vectors for vectors, _ in found]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The embedder's own, one vector a text, not cached."""
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query, of length 1."""
        vector: list[float] = self.query(text)[0].tolist()
        return vector

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As `embed_documents`, in a thread."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`, in a thread."""
        return await asyncio.to_thread(self.embed_query, text)

    def query(self, text: str) -> tuple[Vectors, float]:
        """The vector of a query, of length 1, and the seconds it took to embed it when it was embedded."""
        with self._lock:
            known = self._read([text], "query")
            if key(text) not in known:
                began = time.perf_counter()
                vector = np.asarray(embed_query(self._embedder, text), dtype=np.float32)
                known = {key(text): (vector[None], time.perf_counter() - began)}
                self._write(known, "query")
            vectors, seconds = known[key(text)]
        return vectors[0], seconds

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def _embed(self, texts: list[str]) -> dict[bytes, tuple[Vectors, float]]:
        began = time.perf_counter()
        arrays = embed_texts(self._embedder, texts)
        seconds = time.perf_counter() - began
        letters = sum(len(text) + 1 for text in texts)
        new = {
            key(text): (np.asarray(array, dtype=np.float32), seconds * (len(text) + 1) / letters)
            for text, array in zip(texts, arrays, strict=True)
        }
        self._write(new, "document")
        return new

    def _read(self, texts: Sequence[str], purpose: str) -> dict[bytes, tuple[Vectors, float]]:
        found: dict[bytes, tuple[Vectors, float]] = {}
        for batch in batches(list({key(text) for text in texts}), 500):
            marks = ",".join("?" * len(batch))
            rows = self._connection.execute(
                f"SELECT text, windows, vectors, seconds FROM vectors WHERE purpose = ? AND text IN ({marks})", [purpose, *batch]
            )
            for text, windows, data, seconds in rows:
                found[text] = (np.frombuffer(data, dtype=np.float32).reshape(windows, -1), seconds)
        return found

    def _write(self, new: dict[bytes, tuple[Vectors, float]], purpose: str) -> None:
        rows = [(text, purpose, len(array), array.tobytes(), seconds) for text, (array, seconds) in new.items()]
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)


def identify(embedder: Embedder) -> str:
    """A sha256 that is the same for the same model, in every process: of its class and its vector of a probe sentence."""
    vector = np.asarray(embed_query(embedder, PROBE), dtype=np.float64)
    name = f"{type(embedder).__module__}.{type(embedder).__qualname__}"
    return sha256(name.encode() + np.round(vector, 3).astype("<f4").tobytes()).hexdigest()


def key(text: str) -> bytes:
    """What a text is known by."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def batches(values: list[T], size: int) -> Iterator[list[T]]:
    """Consecutive slices of at most `size`."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
