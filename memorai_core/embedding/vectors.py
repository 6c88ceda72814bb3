"""Vectors in the one form that memorai stores and compares, from any embedder."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from memorai_core.embedding.windows import unit
from memorai_core.errors import ConfigurationError
from memorai_core.models import clean_text
from memorai_core.protocols import Embedder, WindowedEmbedder


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> list[np.ndarray]:
    """Gives (windows, dimension), float32 and rows of length 1, for each text, in order; one row where the embedder knows no windows.

    A text that comes twice goes to the embedder once. A vector of zeros stays one, and is like nothing.
    Raises ConfigurationError where the embedder gives too few or too many vectors, vectors of different dimensions, or numbers
    that are not finite.
    """
    unique = list(dict.fromkeys(texts))
    if not unique:
        return []
    if isinstance(embedder, WindowedEmbedder):
        given: Sequence[object] = embedder.embed_windows(unique)
    else:
        given = [[vector] for vector in embedder.embed_documents(unique)]
    if len(given) != len(unique):
        raise ConfigurationError(f"{_name(embedder)} gave {len(given)} vectors for {len(unique)} texts")
    windows = [_array(embedder, vectors) for vectors in given]
    dimensions = {rows.shape[1] for rows in windows}
    if len(dimensions) > 1:
        raise ConfigurationError(f"{_name(embedder)} gave vectors of different dimensions: {sorted(dimensions)}")
    rows = _unit(embedder, np.concatenate(windows))
    ends = accumulate(len(of_text) for of_text in windows)
    of = {text: rows[end - len(of_text) : end] for text, of_text, end in zip(unique, windows, ends, strict=True)}
    return [of[text] for text in texts]


def embed_query(embedder: Embedder, text: str) -> np.ndarray:
    """Gives (dimension,), float32 and of length 1; raises as `embed_texts` does."""
    vector: np.ndarray = _unit(embedder, _array(embedder, [embedder.embed_query(clean_text(text))]))[0]
    return vector


def _array(embedder: Embedder, vectors: object) -> np.ndarray:
    try:
        rows = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{_name(embedder)} gave something else than vectors of one dimension: {error}") from error
    if rows.ndim != 2 or 0 in rows.shape:
        raise ConfigurationError(f"{_name(embedder)} gave an array of shape {rows.shape} where vectors were expected")
    return rows


def _unit(embedder: Embedder, rows: np.ndarray) -> np.ndarray:
    if not np.isfinite(rows).all():
        raise ConfigurationError(f"{_name(embedder)} gave a vector with numbers that are not finite")
    return unit(rows)


def _name(embedder: Embedder) -> str:
    return f"the embedder {type(embedder).__name__}"
