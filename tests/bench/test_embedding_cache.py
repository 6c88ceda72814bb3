import asyncio

import numpy as np

from memorai_core.bench.embedding_cache import identify
from memorai_core.protocols import WindowedEmbedder

from .fakes import AskedEmbedder, cached


def test_nothing_is_embedded_twice_across_runs(tmp_path):
    first = cached(AskedEmbedder(), tmp_path)
    made = first.embed_windows(["a cat", "a dog", "a cat", "\ud800 broken"])
    first.close()
    inner = AskedEmbedder()
    second = cached(inner, tmp_path)
    inner.asked.clear()
    kept = second.embed_windows(["\ud800 broken", "a dog", "a cat"])
    assert inner.asked == []
    for new, old in zip(kept, [made[3], made[1], made[0]], strict=True):
        np.testing.assert_array_equal(new, old)
    assert np.linalg.norm(kept[0], axis=1).round(5).tolist() == [1.0]
    second.embed_windows(["a cat", "a bird"])
    assert inner.asked == ["a bird"]


def test_cost_is_that_of_embedding_however_warm_the_cache(tmp_path):
    cold = cached(AskedEmbedder(), tmp_path)
    cold.embed_windows(["one text", "another text, a longer one"])
    warm = cached(AskedEmbedder(), tmp_path)
    warm.embed_windows(["one text", "another text, a longer one"])
    assert warm.spent.texts == 2
    assert 0 < warm.spent.seconds == cold.spent.seconds
    assert warm.spent.inside > 0


def test_queries_are_kept_apart_from_documents_and_keep_their_time(tmp_path):
    inner = AskedEmbedder()
    cache = cached(inner, tmp_path)
    cache.embed_windows(["a cat"])
    inner.asked.clear()
    vector, seconds = cache.query("a cat")
    assert inner.asked == ["a cat"]
    assert cache.query("a cat")[1] == seconds > 0
    assert inner.asked == ["a cat"]
    np.testing.assert_allclose(cache.embed_query("a cat"), vector)
    assert asyncio.run(cache.aembed_query("a cat")) == cache.embed_query("a cat")


def test_embedders_do_not_share_vectors(tmp_path):
    assert identify(AskedEmbedder()) == identify(AskedEmbedder())
    assert identify(AskedEmbedder()) != identify(AskedEmbedder(dimension=32))
    cached(AskedEmbedder(), tmp_path).embed_windows(["a cat"])
    other = AskedEmbedder(dimension=32)
    cached(other, tmp_path).embed_windows(["a cat"])
    assert "a cat" in other.asked


def test_it_is_a_windowed_embedder(tmp_path):
    assert isinstance(cached(AskedEmbedder(), tmp_path), WindowedEmbedder)
