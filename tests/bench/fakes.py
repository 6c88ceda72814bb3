"""A small embedder and textbook formulas to check against."""

import math
import re
import zlib
from collections import Counter

import numpy as np

from memorai_core.bench.datasets import open_dataset
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.units import lay_out

from .generated import write_locomo


class WordEmbedder:
    """Adds up a fixed random direction for each word, so that texts with common words are close; counts its calls."""

    def __init__(self, dimension=48, salt=""):
        self.dimension = dimension
        self.salt = salt
        self.asked = []

    def embed_documents(self, texts):
        self.asked += texts
        return [self._vector(text).tolist() for text in texts]

    def embed_query(self, text):
        self.asked.append(text)
        return self._vector(text).tolist()

    async def aembed_documents(self, texts):
        return self.embed_documents(texts)

    async def aembed_query(self, text):
        return self.embed_query(text)

    def _vector(self, text):
        words = re.findall(r"\w+", text.lower())
        rows = [np.random.default_rng(zlib.crc32((self.salt + word).encode())).normal(size=self.dimension) for word in words]
        return np.sum(rows, axis=0) if rows else np.ones(self.dimension)


def one_case(folder, *samples):
    """The first case of a LoCoMo file, its layout, and a cached word embedder."""
    case = next(open_dataset("locomo", write_locomo(folder, *samples)).cases())
    return case, lay_out(case.conversation), CachedEmbedder(WordEmbedder(), folder / "cache")


def textbook_bm25(documents, query, k1=1.5, b=0.75):
    """BM25 as Lucene computes it, term by term: documents and query are lists of tokens."""
    lengths = [len(document) for document in documents]
    average = sum(lengths) / len(lengths)
    scores = []
    for document, length in zip(documents, lengths, strict=True):
        counts = Counter(document)
        score = 0.0
        for term in query:
            containing = sum(term in other for other in documents)
            if counts[term]:
                rarity = math.log(1 + (len(documents) - containing + 0.5) / (containing + 0.5))
                score += rarity * counts[term] / (counts[term] + k1 * (1 - b + b * length / average))
        scores.append(score)
    return scores
