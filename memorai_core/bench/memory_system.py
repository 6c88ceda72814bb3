"""memorai itself as a system of the benchmark, under any settings."""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from memorai_core.bench.datasets import Case
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.systems import IndexStatistics, Query
from memorai_core.bench.units import Layout, Unit
from memorai_core.memory import Memory
from memorai_core.models import Evidence, IndexReport
from memorai_core.protocols import ChatModel, SessionAnalyzer
from memorai_core.retrieval.pagerank import pagerank
from memorai_core.settings import Settings

AnalyzerFor: TypeAlias = Callable[[Case, Settings], SessionAnalyzer]
"""Makes the analyzer of a case; most depend on the settings alone, but annotations come with their conversation."""


class MemorySystem:
    """A `Memory` in a file of its own for each conversation, asked through its public methods."""

    def __init__(
        self, name: str, settings: Settings, analyzer_for: AnalyzerFor, embedder: CachedEmbedder, chat_model: ChatModel | None = None
    ) -> None:
        self.name = name
        self.settings = settings
        self._analyzer_for = analyzer_for
        self._embedder = embedder
        self._chat_model = chat_model
        self._folder: TemporaryDirectory[str] | None = None
        self._memory: Memory | None = None

    def index(self, case: Case, layout: Layout) -> IndexStatistics:
        """Appends and indexes the conversation, session by session."""
        self.close()
        self._folder = TemporaryDirectory(prefix="memorai-bench-")
        path = Path(self._folder.name) / "memory.db"
        memory = Memory.open(
            path,
            settings=self.settings,
            embedder=self._embedder,
            analyzer=self._analyzer_for(case, self.settings),
            chat_model=self._chat_model,
        )
        self._memory, self._layout, self._user_id = memory, layout, case.conversation.user_id
        self._places: dict[str, int] = {}
        for session in case.conversation.sessions:
            for turn in memory.append(session.messages, user_id=self._user_id, session_id=session.session_id):
                self._places[turn.turn_id] = len(self._places)
        report = memory.index(user_id=self._user_id)
        return self._statistics(memory, report, path)

    def rank(self, query: Query, unit: Unit, k: int) -> list[int]:
        """The units of the retrieved turns at their first appearance; more turns are retrieved until they make k units."""
        turns = k
        while True:
            self.evidence = self.retrieve(query, turns)
            places = [self._places[turn.turn_id] for turn in self.evidence.turns]
            units = self._layout.coarsen(places, unit)
            if len(units) >= k or len(places) < turns:
                return units
            turns *= 4

    def retrieve(self, query: Query, k: int) -> Evidence:
        """The evidence for a query."""
        return self._opened.retrieve(query.text, user_id=self._user_id, k=k, query_vector=query.vector)

    def measure(self, gold: frozenset[int]) -> dict[str, float]:
        """Of the last ranking: the size of its subgraph, its PageRank, and the share of the evidence that it can reach."""
        trace = self.evidence.trace
        began = time.perf_counter()
        pagerank(trace.seed, trace.source, trace.target, trace.weight, damping=trace.damping, tolerance=self.settings.tolerance)
        milliseconds = 1000 * (time.perf_counter() - began)
        reached = {self._places[node.tobytes().hex()] for node in trace.node_id[: trace.turns]}
        return {
            "evidence_in_subgraph": 100.0 * len(gold & reached) / len(gold),
            "subgraph_nodes": len(trace.seed),
            "subgraph_edges": len(trace.source),
            "subgraph_turns": trace.turns,
            "pagerank_iterations": trace.iterations,
            "pagerank_ms": milliseconds,
        }

    def close(self) -> None:
        """Deletes the file."""
        if self._memory:
            self._memory.close()
            self._memory = None
        if self._folder:
            self._folder.cleanup()
            self._folder = None

    @property
    def _opened(self) -> Memory:
        if self._memory is None:
            raise RuntimeError("index a conversation first")
        return self._memory

    def _statistics(self, memory: Memory, report: IndexReport, path: Path) -> IndexStatistics:
        graph = memory.graph(user_id=self._user_id)
        return IndexStatistics(
            nodes=graph.number_of_nodes(),
            edges=len({frozenset(ends) for ends in graph.edges()}),
            bytes=sum(file.stat().st_size for file in path.parent.iterdir()),
            turns=len(self._layout.messages),
            kept=report.kept,
            segments=report.segments,
            sessions=report.sessions,
            calls=report.calls,
            input_tokens=report.input_tokens,
            output_tokens=report.output_tokens,
            rejected=dict(report.rejected),
        )
