"""memorai itself as a system of the benchmark, under any settings."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from memorai_core.bench.datasets import Case
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.inspection import InspectedChatModel
from memorai_core.bench.systems import IndexStatistics, Query
from memorai_core.bench.units import Layout, Unit
from memorai_core.memory import Memory
from memorai_core.models import Evidence
from memorai_core.protocols import ChatModel, SessionAnalyzer
from memorai_core.reports import IndexReport
from memorai_core.retrieval.pagerank import pagerank
from memorai_core.settings import Settings

AnalyzerFor: TypeAlias = Callable[[Case, Settings], SessionAnalyzer]
"""Makes the analyzer of a case; most depend on the settings alone, but annotations come with their conversation."""

WRITING = frozenset({"segmentation", "gate", "sentence_layer", "prompting"})
"""The settings that an index depends on; all others are of reading alone."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A conversation in a memory's file."""

    path: Path
    places: dict[str, int]
    """Turn id -> place in the layout."""
    statistics: IndexStatistics


class MemoryFiles:
    """Memories of one case at a time, one file for each way of writing, so that ways of reading can share them."""

    def __init__(self, analyzer_for: AnalyzerFor, embedder: CachedEmbedder, chat_model: ChatModel | None = None) -> None:
        self.embedder = embedder
        self.chat_model = chat_model
        self._analyzer_for = analyzer_for
        self._folder: TemporaryDirectory[str] | None = None
        self._case: Case | None = None
        self._indexed: dict[str, Indexed] = {}

    def of(self, case: Case, settings: Settings) -> Indexed:
        """The case's conversation, appended and indexed session by session under the settings of writing."""
        if self._case is not case:
            self.close()
            self._case = case
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="memorai-bench-")
        key = settings.model_dump_json(include=set(WRITING))
        if key not in self._indexed:
            folder = Path(self._folder.name) / str(len(self._indexed))
            folder.mkdir()
            self._indexed[key] = self._index(case, settings, folder / "memory.db")
        return self._indexed[key]

    def close(self) -> None:
        """Deletes the files."""
        self._case, self._indexed = None, {}
        if self._folder:
            self._folder.cleanup()
            self._folder = None

    def _index(self, case: Case, settings: Settings, path: Path) -> Indexed:
        user_id, places = case.conversation.user_id, dict[str, int]()
        analyzer = self._analyzer_for(case, settings)
        inspected = InspectedChatModel(self.chat_model) if self.chat_model else None
        with Memory.open(path, settings=settings, embedder=self.embedder, analyzer=analyzer, chat_model=inspected) as memory:
            for session in case.conversation.sessions:
                for turn in memory.append(session.messages, user_id=user_id, session_id=session.session_id):
                    places[turn.turn_id] = len(places)
            report = memory.index(user_id=user_id)
            statistics = _statistics(memory, report, user_id, path.parent)
        if inspected:
            statistics = replace(
                statistics, structured=inspected.structured, malformed=inspected.malformed, refused=dict(inspected.refused)
            )
        return Indexed(path, places, statistics)


class MemorySystem:
    """A `Memory` asked through its public methods; its files may be `shared` with other systems."""

    def __init__(self, name: str, settings: Settings, files: MemoryFiles, *, shared: bool = False) -> None:
        self.name = name
        self.settings = settings
        self._files = files
        self._shared = shared
        self._memory: Memory | None = None
        self._asked: Query | None = None

    def index(self, case: Case, layout: Layout) -> IndexStatistics:
        """Indexes the conversation where no other has."""
        self._indexed, self._layout, self._user_id = self._files.of(case, self.settings), layout, case.conversation.user_id
        self._asked = None
        self._memory = Memory.open(
            self._indexed.path, settings=self.settings, embedder=self._files.embedder, chat_model=self._files.chat_model
        )
        return self._indexed.statistics

    def rank(self, query: Query, unit: Unit, k: int) -> list[int]:
        """The units of the retrieved turns at their first appearance; more turns are retrieved until they make k units.

        Turns are always retrieved anew, so that this can be timed; pairs and sessions go on from what the last ranking found.
        """
        if unit == "utterance" or self._asked is not query:
            self._asked, self._evidence, self._turns = query, self.retrieve(query, k), k
        while True:
            places = [self._indexed.places[turn.turn_id] for turn in self._evidence.turns]
            units = self._layout.coarsen(places, unit)
            if len(units) >= k or len(places) < self._turns:
                return units
            self._turns *= 4
            self._evidence = self.retrieve(query, self._turns)

    def retrieve(self, query: Query, k: int) -> Evidence:
        """The evidence for a query."""
        if self._memory is None:
            raise RuntimeError("index a conversation first")
        return self._memory.retrieve(query.text, user_id=self._user_id, k=k, query_vector=query.vector)

    def measure(self, gold: frozenset[int]) -> dict[str, float]:
        """Of the last ranking: the size of its subgraph, its PageRank, and the percentage of the evidence within reach."""
        trace = self._evidence.trace
        began = time.perf_counter()
        pagerank(trace.seed, trace.source, trace.target, trace.weight, damping=trace.damping, tolerance=self.settings.tolerance)
        milliseconds = 1000 * (time.perf_counter() - began)
        reached = {self._indexed.places[node.tobytes().hex()] for node in trace.node_id[: trace.turns]}
        return {
            "evidence_in_subgraph": 100.0 * len(gold & reached) / len(gold),
            "subgraph_nodes": len(trace.seed),
            "subgraph_edges": len(trace.source),
            "subgraph_turns": trace.turns,
            "pagerank_iterations": trace.iterations,
            "pagerank_ms": milliseconds,
        }

    def close(self) -> None:
        """Closes the memory, and deletes its file unless that is shared."""
        if self._memory:
            self._memory.close()
            self._memory = None
        if not self._shared:
            self._files.close()


def _statistics(memory: Memory, report: IndexReport, user_id: str, folder: Path) -> IndexStatistics:
    graph = memory.graph(user_id=user_id)
    return IndexStatistics(
        nodes=graph.number_of_nodes(),
        edges=len({frozenset(ends) for ends in graph.edges()}),
        bytes=sum(file.stat().st_size for file in folder.iterdir()),
        turns=report.turns,
        kept=report.kept,
        segments=report.segments,
        sessions=report.sessions,
        calls=report.calls,
        input_tokens=report.input_tokens,
        output_tokens=report.output_tokens,
        rejected=dict(report.rejected),
    )
