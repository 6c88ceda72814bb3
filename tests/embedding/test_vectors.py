import numpy as np
import pytest

from embedding.fakes import FakeEmbedder, FakeWindowedEmbedder
from memorai_core.embedding import embed_query, embed_texts
from memorai_core.errors import ConfigurationError


def length_and_capitals(text: str) -> list[float]:
    return [float(len(text)), float(sum(letter.isupper() for letter in text))]


def test_any_embedder_gives_one_row_of_length_1_a_text_in_order() -> None:
    vectors = embed_texts(FakeEmbedder(length_and_capitals), ["aaaaA", "bb", "CC"])
    assert [v.shape for v in vectors] == [(1, 2)] * 3
    assert all(v.dtype == np.float32 for v in vectors)
    np.testing.assert_allclose(np.vstack(vectors), [[5 / 26**0.5, 1 / 26**0.5], [1, 0], [0.5**0.5, 0.5**0.5]], rtol=1e-6)


def test_an_embedder_that_knows_windows_gives_several_rows() -> None:
    vectors = embed_texts(FakeWindowedEmbedder(length_and_capitals), ["abC", "d"])
    np.testing.assert_allclose(vectors[0] * 10**0.5, [[3, 1], [1, 3]], rtol=1e-6)
    assert vectors[1].tolist() == [[1, 0], [0, 1]]


def test_the_same_text_goes_to_the_embedder_once() -> None:
    embedder = FakeEmbedder(length_and_capitals)
    vectors = embed_texts(embedder, ["a", "B", "a"])
    assert embedder.asked == [["a", "B"]]
    assert vectors[0].tolist() == vectors[2].tolist() != vectors[1].tolist()


def test_no_texts_ask_nothing() -> None:
    embedder = FakeEmbedder(length_and_capitals)
    assert embed_texts(embedder, []) == []
    assert embedder.asked == []


def test_a_vector_of_zeros_stays_one() -> None:
    embedder = FakeEmbedder(lambda text: [0.0, 0.0])
    assert embed_texts(embedder, ["x"])[0].tolist() == [[0, 0]]
    assert embed_query(embedder, "x").tolist() == [0, 0]


def test_a_query_is_one_vector_of_length_1_of_clean_text() -> None:
    embedder = FakeEmbedder(length_and_capitals)
    vector = embed_query(embedder, "aB\0\ud800")
    assert embedder.asked == [["aB\ufffd"]]
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, [3 / 10**0.5, 1 / 10**0.5], rtol=1e-6)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    embedder = FakeEmbedder(lambda text: [1.0, number])
    with pytest.raises(ConfigurationError, match=r"FakeEmbedder .*not finite"):
        embed_texts(embedder, ["x"])
    with pytest.raises(ConfigurationError, match=r"FakeEmbedder .*not finite"):
        embed_query(embedder, "x")


def test_different_dimensions_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"FakeEmbedder .*different dimensions: \[1, 2\]"):
        embed_texts(FakeEmbedder(lambda text: [1.0] * len(text)), ["x", "xx"])


@pytest.mark.parametrize("vector", [[], [[1.0, 2.0]], ["one"], None, [1.0, [2.0]]])
def test_what_is_no_vector_is_refused(vector: object) -> None:
    embedder = FakeEmbedder(length_and_capitals)
    embedder.embed_documents = lambda texts: [vector for _ in texts]  # type: ignore[method-assign,misc,return-value]
    with pytest.raises(ConfigurationError, match="FakeEmbedder"):
        embed_texts(embedder, ["x"])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_wrong_counts_are_refused(count: int) -> None:
    embedder = FakeEmbedder(length_and_capitals)
    embedder.embed_documents = lambda texts: [[1.0, 2.0]] * count  # type: ignore[method-assign]
    with pytest.raises(ConfigurationError, match=rf"FakeEmbedder gave {count} vectors for 2 texts"):
        embed_texts(embedder, ["x", "y"])
