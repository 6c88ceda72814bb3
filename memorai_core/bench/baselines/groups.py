"""Systems that retrieve groups of turns: topical segments, and summaries of them."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memorai_core.bench.baselines.analysis import Analyses, Analysis
from memorai_core.bench.baselines.vectors import embed_rows
from memorai_core.bench.datasets import Case
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.systems import IndexStatistics, Query, best_first, turn_text
from memorai_core.bench.units import Layout, Unit


class Groups:
    """Ranks segments by the closeness of a text that stands for each; turns follow their segment, the closest first."""

    def __init__(self, name: str, analyses: Analyses, embedder: CachedEmbedder, text_of: Callable[[Analysis, Layout, int], str]) -> None:
        self.name = name
        self._analyses = analyses
        self._embedder = embedder
        self._text_of = text_of

    def index(self, case: Case, layout: Layout) -> IndexStatistics:
        """Embeds the segments' texts."""
        self._layout = layout
        self._analysis = self._analyses.of(case, layout)
        numbers = range(len(self._analysis.segments))
        self._rows = embed_rows(self._embedder, [self._text_of(self._analysis, layout, number) for number in numbers])
        return replace(self._analysis.statistics, bytes=self._rows.vectors.nbytes)

    def rank(self, query: Query, unit: Unit, k: int) -> list[int]:
        """All units."""
        order = best_first(self._rows.closeness(query.vector))
        turns = spread((self._analysis.places(segment) for segment in order), self._analysis.turns.closeness(query.vector))
        return self._layout.coarsen(turns, unit)

    def close(self) -> None:
        """Holds nothing open."""


def segments(analyses: Analyses, embedder: CachedEmbedder) -> Groups:
    """A reading of SeCom (Pan et al. 2025): the unit of retrieval is a topical segment, found through its denoised text.

    The memory gate takes the place of the compression by LLMLingua-2: a segment is embedded by the turns it kept, or by
    all where it kept none.
    """

    def text(analysis: Analysis, layout: Layout, number: int) -> str:
        segment = analysis.segments[number]
        turn_ids = [turn_id for turn_id in segment.turn_ids if turn_id in segment.kept] or segment.turn_ids
        return "\n".join(turn_text(layout.messages[int(turn_id)]) for turn_id in turn_ids)

    return Groups("segments", analyses, embedder, text)


def summaries(analyses: Analyses, embedder: CachedEmbedder) -> Groups:
    """A reading of LLM-RSum (Wang et al. 2025): a conversation is remembered by summaries alone.

    The paper rewrites one summary from session to session and gives it to the model whole; nothing is retrieved, so here
    each segment's summary is kept as it was written and stands for its turns. The rewriting is left out.
    """
    return Groups("summaries", analyses, embedder, lambda analysis, _, number: analysis.segments[number].summary)


def spread(groups: Iterable[Iterable[int]], closeness: NDArray[np.float64]) -> list[int]:
    """Turns in the order of the groups they belong to, within a group the closest first; a turn stands once.

    Turns of no group follow at the end.
    """
    turns: dict[int, None] = {}
    for group in groups:
        turns |= dict.fromkeys(sorted(group, key=lambda place: -closeness[place]))
    return list(turns | dict.fromkeys(best_first(closeness)))
