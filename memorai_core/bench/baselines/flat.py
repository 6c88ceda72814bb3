"""Rankings without any structure: by words, by vectors, by both, and in the order of the conversation."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import Stemmer
from numpy.typing import NDArray

from memorai_core.bench.baselines.vectors import Rows, embed_rows
from memorai_core.bench.datasets import Case
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.extras import require
from memorai_core.bench.systems import IndexStatistics, Query, best_first, project, turn_text
from memorai_core.bench.units import UNITS, Layout, Unit

Floats = NDArray[np.float64]


class Scorer(Protocol):
    """Scores every unit of a conversation for a query, higher is better."""

    def index(self, layout: Layout, units: Sequence[Unit]) -> int:
        """Takes in a conversation; gives the bytes that takes."""
        ...

    def score(self, query: Query, unit: Unit) -> Floats:
        """One score a unit; asked only for the units named to `index`."""
        ...


class _Bm25(Protocol):
    """What is used of bm25s.BM25."""

    scores: dict[str, object]

    def index(self, corpus: list[list[str]], *, show_progress: bool) -> None: ...

    def get_scores(self, query_tokens: list[str]) -> NDArray[np.float32]: ...


class Words:
    """BM25 (Lucene's variant, k1 1.5, b 0.75) over the texts of the units, by the library bm25s.

    Tokens are lower-cased runs of two or more word characters without English stop words; stems where `stemmed`.
    """

    def __init__(self, *, stemmed: bool = False) -> None:
        self._bm25s = require("bm25s")
        self._stemmer = Stemmer.Stemmer("english") if stemmed else None
        self._indexes: dict[Unit, tuple[_Bm25 | None, int]] = {}

    def index(self, layout: Layout, units: Sequence[Unit]) -> int:
        """Indexes each kind of unit by itself: a session is one text."""
        texts = [turn_text(message) for message in layout.messages]
        self._indexes = {
            unit: self._indexed([" ".join(texts[place] for place in group) for group in layout.members(unit)]) for unit in units
        }
        arrays = [array for index, _ in self._indexes.values() if index for array in index.scores.values() if isinstance(array, np.ndarray)]
        return sum(array.nbytes for array in arrays)

    def score(self, query: Query, unit: Unit) -> Floats:
        """Zero throughout where the query shares no token with the conversation."""
        index, count = self._indexes[unit]
        tokens = self._tokens([query.text])[0]
        if index is None or not tokens:
            return np.zeros(count)
        return np.asarray(index.get_scores(tokens), dtype=np.float64)

    def _indexed(self, texts: list[str]) -> tuple[_Bm25 | None, int]:
        tokens = self._tokens(texts)
        if not any(tokens):
            return None, len(texts)
        index: _Bm25 = self._bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        index.index(tokens, show_progress=False)
        return index, len(texts)

    def _tokens(self, texts: list[str]) -> list[list[str]]:
        tokens: list[list[str]] = self._bm25s.tokenize(texts, stopwords="en", stemmer=self._stemmer, return_ids=False, show_progress=False)
        return tokens


class Closeness:
    """Cosine similarity of the query to a unit's closest window.

    A unit is the text of all its messages where `whole`; else its messages, each embedded alone, so that a pair or a
    session is as close as the closest of them.
    """

    def __init__(self, embedder: CachedEmbedder, *, whole: bool = False) -> None:
        self._embedder = embedder
        self._whole = whole
        self._rows: dict[Unit, Rows] = {}

    def index(self, layout: Layout, units: Sequence[Unit]) -> int:
        """Embeds what is not in the cache."""
        texts = [turn_text(message) for message in layout.messages]
        kinds: Sequence[Unit] = units if self._whole else ("utterance",)
        self._rows = {
            kind: embed_rows(self._embedder, ["\n".join(texts[place] for place in group) for group in layout.members(kind)])
            for kind in kinds
        }
        self._layout = layout
        return sum(rows.vectors.nbytes for rows in self._rows.values())

    def score(self, query: Query, unit: Unit) -> Floats:
        """Between -1 and 1."""
        kind: Unit = unit if self._whole else "utterance"
        close = self._rows[kind].closeness(query.vector)
        if kind == unit:
            return close
        best = np.full(self._layout.count(unit), -np.inf)
        np.maximum.at(best, self._layout.of[unit], close)
        return best


class Both:
    """The sum of the z-scores of two scorers, over the units of the conversation."""

    def __init__(self, first: Scorer, second: Scorer) -> None:
        self._scorers = (first, second)

    def index(self, layout: Layout, units: Sequence[Unit]) -> int:
        """Indexes with both."""
        return sum(scorer.index(layout, units) for scorer in self._scorers)

    def score(self, query: Query, unit: Unit) -> Floats:
        """Around 0."""
        first, second = (standardise(scorer.score(query, unit)) for scorer in self._scorers)
        return first + second


class Flat:
    """Ranks by a scorer: each kind of unit by its own scores, or all by those of the one kind that `over` names."""

    def __init__(self, name: str, scorer: Scorer, over: Unit | None = None) -> None:
        self.name = name
        self._scorer = scorer
        self._over = over

    def index(self, case: Case, layout: Layout) -> IndexStatistics:
        """Indexes with the scorer."""
        self._layout = layout
        size = self._scorer.index(layout, (self._over,) if self._over else UNITS)
        return IndexStatistics(bytes=size, turns=len(layout.messages), sessions=len(case.conversation.sessions))

    def rank(self, query: Query, unit: Unit, k: int) -> list[int]:
        """All units."""
        over = self._over or unit
        return project(best_first(self._scorer.score(query, over)), self._layout, over, unit)

    def close(self) -> None:
        """Holds nothing open."""


class FullHistory:
    """All turns in the order of the conversation: what a model sees that is given everything."""

    name = "full-history"

    def index(self, case: Case, layout: Layout) -> IndexStatistics:
        """Keeps the layout."""
        self._layout = layout
        return IndexStatistics(turns=len(layout.messages), sessions=len(case.conversation.sessions))

    def rank(self, query: Query, unit: Unit, k: int) -> list[int]:
        """All units, the oldest first."""
        return list(range(self._layout.count(unit)))

    def close(self) -> None:
        """Holds nothing open."""


def standardise(scores: Floats) -> Floats:
    """z-scores; zeros where all are equal."""
    spread = scores.std()
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros_like(scores)
