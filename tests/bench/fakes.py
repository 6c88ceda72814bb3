"""An embedder that remembers, and textbook formulas to check against."""

import math
from collections import Counter

from memorai_core.bench.datasets import open_dataset
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.outcomes import Outcomes
from memorai_core.bench.units import lay_out
from memorai_core.testing import HashingEmbedder

from .generated import write_locomo


class AskedEmbedder(HashingEmbedder):
    """Remembers what it was asked to embed."""

    def __init__(self, dimension=256):
        super().__init__(dimension)
        self.asked = []  # by embed_documents too, which asks embed_query

    def embed_query(self, text):
        self.asked.append(text)
        return super().embed_query(text)


OPEN = []
"""What the fixture of every test closes at its end."""


def until_the_end(one):
    OPEN.append(one)
    return one


def cached(embedder, folder):
    return until_the_end(CachedEmbedder(embedder, folder))


def kept_in(folder):
    return until_the_end(Outcomes(folder))


def one_case(folder, *samples):
    """The first case of a LoCoMo file, its layout, and a cached word embedder."""
    case = next(open_dataset("locomo", write_locomo(folder, *samples)).cases())
    return case, lay_out(case.conversation), cached(AskedEmbedder(), folder / "cache")


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
