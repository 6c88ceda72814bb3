import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.embedding.windows import MAX_WINDOWS, Tokens, cut, embed_in_windows, first_tokens, padded, pooled, unit


def cut_step_by_step(tokens: Tokens, size: int, stride: int) -> list[Tokens]:
    windows = []
    start = 0
    while True:
        windows.append(tokens[start : start + size])
        if start + size >= len(tokens) or len(windows) == 16:
            return windows
        start += stride


@given(st.integers(0, 5000))
def test_windows_of_254_tokens_start_every_222(length: int) -> None:
    tokens = list(range(length))
    assert cut(tokens, 254) == cut_step_by_step(tokens, 254, 222)


@pytest.mark.parametrize(("length", "count"), [(0, 1), (1, 1), (254, 1), (255, 2), (476, 2), (477, 3), (3584, 16), (3585, 16), (10**5, 16)])
def test_window_counts(length: int, count: int) -> None:
    assert len(cut([7] * length, 254)) == count


@given(st.integers(0, 300), st.integers(1, 40))
def test_windows_of_any_size_cover_the_beginning_without_a_gap(length: int, size: int) -> None:
    tokens = list(range(length))
    windows = cut(tokens, size)
    assert all(len(window) <= size for window in windows)
    assert len(windows) <= MAX_WINDOWS
    seen = sorted({token for window in windows for token in window})
    assert seen == tokens[: len(seen)]
    assert len(seen) == length or len(windows) == MAX_WINDOWS


class WordsAsTokens:
    """A token a letter, but one token for a word of over 100 letters, as WordPiece has it."""

    def __init__(self) -> None:
        self.longest = 0

    def __call__(self, text: str) -> Tokens:
        self.longest = max(self.longest, len(text))
        return [ord(letter) for word in text.split() for letter in (word if len(word) <= 100 else "?")]


@given(st.lists(st.integers(1, 120), min_size=1, max_size=200), st.integers(1, 30))
def test_first_tokens_are_those_of_the_whole_text(lengths: list[int], size: int) -> None:
    text = " ".join(chr(97 + i % 26) * length for i, length in enumerate(lengths))
    whole = WordsAsTokens()(text)
    tokens = first_tokens(WordsAsTokens(), text, size)
    assert cut(tokens, size) == cut(whole, size)


def test_little_of_a_long_text_is_tokenised() -> None:
    encode = WordsAsTokens()
    first_tokens(encode, "word " * 200_000, 254)
    assert encode.longest < 30_000
    first_tokens(encode, "x" * 1_000_000, 254)
    assert encode.longest < 500_000


class Recorder:
    """Vectors that tell a window's first token and length; remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[Tokens]] = []
        self.threads: set[int] = set()

    def __call__(self, windows: list[Tokens]) -> np.ndarray:
        self.batches.append(windows)
        self.threads.add(threading.get_ident())
        return np.array([[window[0], len(window)] for window in windows], dtype=np.float32)


def split_at_bars(text: str) -> list[Tokens]:
    return [[ord(letter) for letter in part] for part in text.split("|")]


@given(st.lists(st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=4).map("|".join), max_size=30), st.integers(1, 3))
def test_vectors_come_in_the_order_of_the_texts(texts: list[str], threads: int) -> None:
    given_back = embed_in_windows(texts, split_at_bars, Recorder(), batch_size=4, batch_tokens=12, threads=threads)
    assert len(given_back) == len(texts)
    for text, windows in zip(texts, given_back, strict=True):
        assert windows.dtype == np.float32
        assert windows.tolist() == [[ord(part[0]), len(part)] for part in text.split("|")]


@given(st.lists(st.text("abc", min_size=1, max_size=20), min_size=1, max_size=40))
def test_batches_keep_to_their_bounds_and_to_like_lengths(texts: list[str]) -> None:
    recorder = Recorder()
    embed_in_windows(texts, split_at_bars, recorder, batch_size=4, batch_tokens=24)
    lengths = [[len(window) for window in batch] for batch in recorder.batches]
    assert all(len(batch) <= 4 and (len(batch) == 1 or len(batch) * max(batch) <= 24) for batch in lengths)
    flat = [length for batch in lengths for length in batch]
    assert flat == sorted((len(text) for text in set(texts)), reverse=True)


def test_the_same_text_is_embedded_once() -> None:
    recorder = Recorder()
    windows = embed_in_windows(["ab", "c", "ab", "ab"], split_at_bars, recorder, batch_size=8, batch_tokens=100)
    assert recorder.batches == [[[97, 98], [99]]]
    assert [w.tolist() for w in windows] == [[[97, 2]], [[99, 1]], [[97, 2]], [[97, 2]]]


def test_batches_run_on_other_threads_when_asked() -> None:
    recorder = Recorder()
    embed_in_windows([letter * 5 for letter in "abcdefgh"], split_at_bars, recorder, batch_size=1, batch_tokens=5, threads=2)
    assert len(recorder.batches) == 8
    assert threading.get_ident() not in recorder.threads
    assert len(recorder.threads) <= 2


def test_an_error_in_a_thread_comes_out() -> None:
    def broken(windows: list[Tokens]) -> np.ndarray:
        raise RuntimeError("no more memory")

    with pytest.raises(RuntimeError, match="no more memory"):
        embed_in_windows(["a", "b", "c"], split_at_bars, broken, batch_size=1, batch_tokens=1, threads=2)


def test_no_texts_no_vectors() -> None:
    recorder = Recorder()
    assert embed_in_windows([], split_at_bars, recorder, batch_size=1, batch_tokens=1) == []
    assert recorder.batches == []


def test_padding_is_masked() -> None:
    ids, mask = padded([[5, 6, 7], [8]], pad=9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert ids.dtype == mask.dtype == np.int64


def test_pooling_takes_the_mean_of_real_tokens_or_the_first() -> None:
    hidden = np.array([[[1, 2], [3, 4], [5, 12]], [[7, 8], [99, 99], [99, 99]]], dtype=np.float32)
    mask = np.array([[1, 1, 1], [1, 0, 0]])
    np.testing.assert_allclose(pooled(hidden, mask, "mean"), [[3, 6], [7, 8]], rtol=1e-6)
    np.testing.assert_array_equal(pooled(hidden, mask, "cls"), [[1, 2], [7, 8]])


@pytest.mark.parametrize("scale", [1e-300, 1e-10, 1.0, 1e300])
def test_rows_of_any_scale_become_length_1_and_zeros_stay(scale: float) -> None:
    rows = unit(np.array([[3.0, -4.0], [0.0, 0.0]]) * scale)
    np.testing.assert_allclose(rows, [[0.6, -0.8], [0, 0]], rtol=1e-6)
    assert rows.dtype == np.float32
