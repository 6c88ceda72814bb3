import subprocess
import sys
import time

import numpy as np
import pytest

from memorai_core.errors import ConfigurationError
from memorai_core.protocols import Embedder
from memorai_core.testing import HashingEmbedder


def cosine(a: str, b: str, dimension: int = 256) -> float:
    embedder = HashingEmbedder(dimension)
    return float(np.dot(embedder.embed_query(a), embedder.embed_query(b)))


@pytest.mark.parametrize(
    ("text", "like", "unlike"),
    [
        ("Alice lives in Hanoi", "alice LIVES in Hanoi!", "The recipe needs two eggs"),
        ("Alice lives in Hanoi", "Where does Alice live?", "The recipe needs two eggs"),
        ("Алиса живёт в Ханое", "Где живёт Алиса?", "Для рецепта нужны два яйца"),
        ("我去年搬到了河内", "你什么时候搬到河内", "食谱需要两个鸡蛋"),
        ("انتقلت إلى هانوي", "متى انتقلت إلى هانوي", "الوصفة تحتاج بيضتين"),
        ("😀🎉", "what a day 🎉", "😢"),
    ],
)
def test_like_texts_have_like_vectors(text: str, like: str, unlike: str) -> None:
    assert cosine(text, like) > cosine(text, unlike) + 0.15


@pytest.mark.parametrize("text", ["Alice lives in Hanoi", "猫", "😀", "lone \ud83d surrogate"])
def test_vectors_have_the_dimension_and_length_1(text: str) -> None:
    for dimension in (1, 8, 64):
        vector = HashingEmbedder(dimension).embed_query(text)
        assert len(vector) == dimension
        assert np.linalg.norm(vector) == pytest.approx(1) or not any(vector)
    assert any(HashingEmbedder().embed_query(text))


@pytest.mark.parametrize("text", ["", "  ", "?!..."])
def test_no_words_no_direction(text: str) -> None:
    assert HashingEmbedder(4).embed_query(text) == [0, 0, 0, 0]


def test_the_same_in_every_process() -> None:
    code = "from memorai_core.testing import HashingEmbedder; print(HashingEmbedder(8).embed_query('Alice lives in 河内'))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout.strip() == str(HashingEmbedder(8).embed_query("Alice lives in 河内"))


async def test_all_four_methods_agree() -> None:
    embedder = HashingEmbedder()
    assert isinstance(embedder, Embedder)
    texts = ["one", "two words", "one"]
    documents = embedder.embed_documents(texts)
    assert documents == [embedder.embed_query(text) for text in texts] == await embedder.aembed_documents(texts)
    assert await embedder.aembed_query("one") == documents[0] == documents[2]


def test_it_is_fast() -> None:
    texts = [f"turn {n} about the weather in town {n % 97} and dinner" for n in range(2000)]
    start = time.process_time()
    HashingEmbedder().embed_documents(texts)
    assert time.process_time() - start < 1


def test_a_dimension_must_be_some() -> None:
    with pytest.raises(ConfigurationError, match="dimension must be at least 1"):
        HashingEmbedder(0)
