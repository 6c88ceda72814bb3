"""Texts as rows of vectors, several where a text is longer than the embedder's window."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.systems import Vectors


@dataclass(frozen=True, slots=True)
class Rows:
    """The windows of several texts under one another."""

    vectors: Vectors
    """(windows, dimension), rows of length 1; a text without a word has one row of zeros."""
    starts: NDArray[np.int64]
    """Where each text's windows begin."""

    def closeness(self, vector: Vectors) -> NDArray[np.float64]:
        """The cosine similarity of each text's closest window to a vector of length 1; shape (texts,)."""
        if not len(self.starts):
            return np.zeros(0)
        return np.maximum.reduceat(self.vectors @ vector, self.starts).astype(np.float64)

    def means(self) -> Vectors:
        """The mean of each text's windows, of length 1 or 0; shape (texts, dimension)."""
        if not len(self.starts):
            return self.vectors
        return normalised(np.add.reduceat(self.vectors, self.starts, axis=0))


def embed_rows(embedder: CachedEmbedder, texts: Sequence[str]) -> Rows:
    """The rows of texts, in order; those without a word are not embedded."""
    told = [text for text in texts if text.strip()]
    found = iter(embedder.embed_windows(told))
    windows = [next(found) if text.strip() else None for text in texts]
    dimension = next((len(window[0]) for window in windows if window is not None), 1)
    arrays = [np.zeros((1, dimension), dtype=np.float32) if window is None else window for window in windows]
    counts = np.array([len(array) for array in arrays], dtype=np.int64)
    starts = np.cumsum(counts) - counts
    return Rows(np.concatenate(arrays) if arrays else np.zeros((0, dimension), dtype=np.float32), starts)


def normalised(vectors: Vectors) -> Vectors:
    """The rows scaled to length 1; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
