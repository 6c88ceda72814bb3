"""Texts as windows of tokens, windows as batches, and batches as vectors: what every encoder here has in common."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np

Pooling = Literal["mean", "cls"]
Tokens = list[int]

MAX_WINDOWS = 16
"""Windows of one text; what lies behind them is not embedded."""
_OVERLAP = 32
"""Tokens that neighbouring windows share; a quarter of a window where that is less."""
_CHARACTERS_A_TOKEN = 128
"""A text is read no further than this times the tokens wanted; only runs of blanks or unknown letters have fewer tokens."""
_MARGIN = 128
"""More tokens than any one word becomes in a WordPiece tokenizer, which takes a word of over 100 characters as unknown."""


def cut(tokens: Tokens, size: int) -> list[Tokens]:
    """The overlapping stretches of at most `size` tokens that a text is embedded in: at least one, at most `MAX_WINDOWS`."""
    starts = range(0, max(1, len(tokens) - _overlap(size)), size - _overlap(size))
    return [tokens[start : start + size] for start in starts[:MAX_WINDOWS]]


def first_tokens(encode: Callable[[str], Tokens], text: str, size: int) -> Tokens:
    """As many of a text's tokens as its windows can hold, from as little of the text as that takes.

    A tokenizer given only the beginning of a text can go wrong in the word that was cut, so the beginning is lengthened until
    it has a margin of tokens to spare.
    """
    enough = size + (MAX_WINDOWS - 1) * (size - _overlap(size))
    text = text[: _CHARACTERS_A_TOKEN * enough]
    length = 8 * enough
    while True:
        tokens = encode(text[:length])
        if length >= len(text) or len(tokens) >= enough + _MARGIN:
            return tokens[:enough]
        length *= 4


def embed_in_windows(
    texts: Sequence[str],
    windows_of: Callable[[str], list[Tokens]],
    vectors_of: Callable[[list[Tokens]], np.ndarray],
    *,
    batch_size: int,
    batch_tokens: int,
    threads: int = 1,
) -> list[np.ndarray]:
    """Gives (windows, dimension) for each text, in order; a text that comes twice is embedded once.

    Windows go to `vectors_of` with others of about their length, so that little of a batch is padding: at most `batch_size`
    of them, and at most `batch_tokens` tokens unless a single window has more.
    """
    windows = {text: windows_of(text) for text in dict.fromkeys(texts)}
    flat = [window for of_text in windows.values() for window in of_text]
    if not flat:
        return []
    batches = _batches([len(window) for window in flat], batch_size, batch_tokens)

    def embed(batch: list[int]) -> np.ndarray:
        return vectors_of([flat[i] for i in batch])

    if threads > 1 and len(batches) > 1:
        with ThreadPoolExecutor(min(threads, len(batches))) as pool:
            parts = list(pool.map(embed, batches))
    else:
        parts = [embed(batch) for batch in batches]
    vectors = np.empty((len(flat), parts[0].shape[1]), dtype=np.float32)
    for batch, part in zip(batches, parts, strict=True):
        vectors[batch] = part
    ends = np.cumsum([len(of_text) for of_text in windows.values()])
    of = dict(zip(windows, np.split(vectors, ends[:-1]), strict=True))
    return [of[text] for text in texts]


def padded(windows: list[Tokens], pad: int) -> tuple[np.ndarray, np.ndarray]:
    """Token ids and attention mask, both (windows, longest) and int64."""
    ids = np.full((len(windows), max(map(len, windows))), pad, dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, window in enumerate(windows):
        ids[row, : len(window)] = window
        mask[row, : len(window)] = 1
    return ids, mask


def pooled(hidden: np.ndarray, mask: np.ndarray, pooling: Pooling) -> np.ndarray:
    """One vector a window, from the hidden states (windows, tokens, dimension) of its tokens."""
    if pooling == "cls":
        return hidden[:, 0]
    weights = mask / mask.sum(axis=1, keepdims=True)
    vectors: np.ndarray = np.einsum("wt,wtd->wd", weights.astype(hidden.dtype), hidden)
    return vectors


def unit(rows: np.ndarray) -> np.ndarray:
    """The rows scaled to length 1, as float32; a row of zeros stays one."""
    # Scaled by the largest component first, so that no square over- or underflows.
    peaks = np.abs(rows).max(axis=-1, keepdims=True)
    scaled = rows / np.where(peaks == 0, 1, peaks)
    lengths = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.asarray(scaled / np.where(lengths == 0, 1, lengths), dtype=np.float32)


def _overlap(size: int) -> int:
    return min(_OVERLAP, size // 4)


def _batches(lengths: Sequence[int], batch_size: int, batch_tokens: int) -> list[list[int]]:
    """Indices in batches, longest windows first: the largest batch then sets the peak of memory at once."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batches: list[list[int]] = []
    start = 0
    while start < len(order):
        count = max(1, min(batch_size, batch_tokens // lengths[order[start]]))
        batches.append(order[start : start + count])
        start += count
    return batches
