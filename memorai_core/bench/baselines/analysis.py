"""What a run's analyzer derives from a conversation, for the systems that are built on it, so that all have the same."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from memorai_core.bench.baselines.vectors import Rows, embed_rows
from memorai_core.bench.datasets import Case
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.systems import IndexStatistics, turn_text
from memorai_core.bench.units import Layout
from memorai_core.flow import Usage, run
from memorai_core.indexing import index_session
from memorai_core.models import SegmentMemory, SessionTail, Turn
from memorai_core.protocols import ChatModel, SessionAnalyzer

AnalyzerFor: TypeAlias = Callable[[Case], SessionAnalyzer]
"""Makes the analyzer of a case; most do not depend on it, but annotations come with their conversation."""


@dataclass(frozen=True, slots=True)
class Analysis:
    """A conversation's segments in order; turn ids are places in the layout, as text."""

    segments: tuple[SegmentMemory, ...]
    turns: Rows
    """The messages' vectors."""
    statistics: IndexStatistics

    def places(self, segment: int) -> list[int]:
        """The places of a segment's messages."""
        return [int(turn_id) for turn_id in self.segments[segment].turn_ids]


class Analyses:
    """Analyses conversations, with the sentence layer on top, and remembers the last one."""

    def __init__(self, analyzer_for: AnalyzerFor, embedder: CachedEmbedder, chat_model: ChatModel | None = None) -> None:
        self._analyzer_for = analyzer_for
        self._embedder = embedder
        self._chat_model = chat_model
        self._last: tuple[Case, Analysis] | None = None

    def of(self, case: Case, layout: Layout) -> Analysis:
        """The analysis of a case's conversation; its model calls are made once, however many systems ask."""
        if self._last is None or self._last[0] is not case:
            self._last = (case, self._analyse(case, layout))
        return self._last[1]

    def _analyse(self, case: Case, layout: Layout) -> Analysis:
        conversation, analyzer = case.conversation, self._analyzer_for(case)
        rows = embed_rows(self._embedder, [turn_text(message) for message in layout.messages])
        vectors = rows.means()
        usage = Usage()
        segments: list[SegmentMemory] = []
        rejected: dict[str, int] = {}
        first = 0
        for session in conversation.sessions:
            tail = session_tail(conversation.user_id, session.session_id, layout, range(first, first + len(session.messages)))
            memory = run(index_session(tail, vectors[first : first + len(session.messages)], analyzer), self._chat_model, usage)
            segments += memory.segments
            for kind, count in memory.rejected.items():
                rejected[kind] = rejected.get(kind, 0) + count
            first += len(session.messages)
        statistics = IndexStatistics(
            turns=len(layout.messages),
            kept=sum(len(segment.kept) for segment in segments),
            segments=len(segments),
            sessions=len(conversation.sessions),
            calls=usage.calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            rejected=rejected,
        )
        return Analysis(tuple(segments), rows, statistics)


def session_tail(user_id: str, session_id: str, layout: Layout, places: range) -> SessionTail:
    """A session's messages as turns to analyse, named by their places in the layout."""
    turns = tuple(
        Turn(
            turn_id=str(place),
            source_id=message.id,
            session_id=session_id,
            position=number,
            role=message.role,
            speaker=message.name or message.role,
            text=message.text,
            timestamp=message.timestamp,
            timestamp_inferred=message.timestamp is None,
        )
        for number, place in enumerate(places)
        for message in (layout.messages[place],)
    )
    return SessionTail(user_id, session_id, turns)
