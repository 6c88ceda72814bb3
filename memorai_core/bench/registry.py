"""Systems by name, and what all of one run share."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from memorai_core.bench.annotations import annotations_for
from memorai_core.bench.baselines import groups
from memorai_core.bench.baselines.analysis import Analyses
from memorai_core.bench.baselines.flat import Both, Closeness, Flat, FullHistory, Scorer, Words
from memorai_core.bench.baselines.ppr import PersonalizedPageRank
from memorai_core.bench.baselines.trees import MemTree, Raptor
from memorai_core.bench.datasets import Case
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.memory_system import MemoryFiles, MemorySystem
from memorai_core.bench.names import SYSTEMS, AnalyzerName
from memorai_core.bench.runner import Entrant
from memorai_core.bench.systems import System
from memorai_core.bench.units import UNITS, Unit
from memorai_core.errors import ConfigurationError
from memorai_core.indexing.extractive import ExtractiveAnalyzer
from memorai_core.indexing.prompted import PromptedAnalyzer
from memorai_core.protocols import ChatModel, SessionAnalyzer
from memorai_core.settings import Settings


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the systems of one run are made with."""

    embedder: CachedEmbedder
    analyzer: AnalyzerName = "extractive"
    chat_model: ChatModel | None = None
    model_name: str | None = None

    def analyzer_for(self, case: Case, settings: Settings) -> SessionAnalyzer:
        """The run's analyzer, for a case and the settings of a system."""
        if self.analyzer == "annotations":
            return annotations_for(case, ExtractiveAnalyzer(segmentation=settings.segmentation, gate=settings.gate))
        if self.analyzer == "prompted":
            return PromptedAnalyzer(prompting=settings.prompting, segmentation=settings.segmentation, gate=settings.gate)
        return ExtractiveAnalyzer(segmentation=settings.segmentation, gate=settings.gate)


def entrant(name: str, workshop: Workshop) -> Entrant:
    """The system of this name; raises ConfigurationError for a name that is none."""
    if name in ("memorai", "paper"):
        files = MemoryFiles(workshop.analyzer_for, workshop.embedder, workshop.chat_model)
        return memory_entrant(name, Settings.paper() if name == "paper" else Settings(), workshop, files)
    system = _build(name, workshop)
    return Entrant(name, system, "" if isinstance(system, Flat | FullHistory) else _identity(workshop))


def entrants_of(names: Sequence[str], workshops: Sequence[Workshop]) -> list[Entrant]:
    """The named systems; with several chat models each system that depends on them once a model, as in memorai[qwen3]."""
    found: dict[str, Entrant] = {}
    for workshop in workshops:
        for name in names:
            one = entrant(name, workshop)
            if len(workshops) > 1 and one.identity:
                one = replace(one, name=f"{name}[{workshop.model_name}]")
            found.setdefault(one.name, one)
    return list(found.values())


def memory_entrant(name: str, settings: Settings, workshop: Workshop, files: MemoryFiles, *, shared: bool = False) -> Entrant:
    """memorai under any settings, as a system."""
    return Entrant(name, MemorySystem(name, settings, files, shared=shared), _identity(workshop, settings))


def _identity(workshop: Workshop, settings: Settings | None = None) -> str:
    parts = {"analyzer": workshop.analyzer, "model": workshop.model_name, "settings": settings.model_dump() if settings else None}
    return json.dumps(parts, sort_keys=True)


def _build(name: str, workshop: Workshop) -> System:
    if name == "full-history":
        return FullHistory()
    kind, _, over = name.partition("@")
    if kind in FLAT and (over in UNITS or not over):
        unit = next((unit for unit in UNITS if unit == over), None)
        return Flat(name, FLAT[kind](workshop.embedder, unit), unit)
    if name in READINGS:
        analyses = Analyses(lambda case: workshop.analyzer_for(case, Settings()), workshop.embedder, workshop.chat_model)
        return READINGS[name](analyses, workshop.embedder)
    raise ConfigurationError(f"--systems: there is no system {name!r}; there are {', '.join(SYSTEMS)}")


def _closeness(embedder: CachedEmbedder, over: Unit | None) -> Closeness:
    """Pairs and sessions that are ranked for themselves are embedded as one text."""
    return Closeness(embedder, whole=over is not None)


FLAT: Mapping[str, Callable[[CachedEmbedder, Unit | None], Scorer]] = {
    "bm25": lambda embedder, over: Words(),
    "bm25-stemmed": lambda embedder, over: Words(stemmed=True),
    "dense": _closeness,
    "bm25+dense": lambda embedder, over: Both(Words(), _closeness(embedder, over)),
    "bm25-stemmed+dense": lambda embedder, over: Both(Words(stemmed=True), _closeness(embedder, over)),
}

READINGS: Mapping[str, Callable[[Analyses, CachedEmbedder], System]] = {
    "segments": groups.segments,
    "summaries": groups.summaries,
    "ppr": PersonalizedPageRank,
    "raptor": lambda analyses, embedder: Raptor(embedder),
    "memtree": lambda analyses, embedder: MemTree(embedder),
}
