"""How the default settings were found: one setting moved at a time, on development data, and every trial written down.

Each task is a data set under an analyzer; all tasks are ranked under the same settings. The score of a task is the mean of
utterance recall at 3, 5 and 10 and session recall at 3 and 10 (`frac`, percent), that of a trial the mean over its tasks.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

import numpy as np

from memorai_core.bench.datasets import Case, open_dataset, parse_categories
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.registry import Workshop
from memorai_core.embedding import default_embedder
from memorai_core.memory import Memory
from memorai_core.settings import Settings

RETRIEVED = 50
"""Turns retrieved a question, so that there are ten sessions among them."""
STEPS: Mapping[str, Sequence[float]] = {
    "sharpness": (0.7, 0.85, 1.2, 1.4),
    "weight_sharpness": (0.5, 1.5),
    "damping": (0.85, 1.1),
    "lexical": (0.7, 1.4),
    "adjacency": (0.6, 1.5),
    "dropped_weight": (0.5, 2.0),
    "aspect_k": (0.5, 1.5),
    "fanout": (0.5, 2.0),
}
"""The settings that are moved, and by what factors."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One choice of settings and what it reached."""

    changed: Mapping[str, float]
    score: float
    tasks: Mapping[str, Mapping[str, float]]


class Task:
    """A data set indexed once, each conversation in a memory of its own, to be asked under many settings."""

    def __init__(self, name: str, cases: Sequence[Case], workshop: Workshop, categories: frozenset[str] | None) -> None:
        self.name = name
        self._folder = TemporaryDirectory(prefix="memorai-tune-")
        self._embedder = workshop.embedder
        self._asked: list[tuple[Memory, Case]] = []
        for number, case in enumerate(cases):
            analyzer = workshop.analyzer_for(case, Settings())
            memory = Memory.open(Path(self._folder.name) / f"{number}.db", embedder=workshop.embedder, analyzer=analyzer)
            for session in case.conversation.sessions:
                memory.append(session.messages, user_id=case.conversation.user_id, session_id=session.session_id)
            memory.index(user_id=case.conversation.user_id)
            self._asked.append((memory, case))
        self._categories = categories

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for memory, _ in self._asked:
            memory.close()
        self._folder.cleanup()

    def score(self, settings: Settings) -> dict[str, float]:
        """Mean recall under settings, percent, by unit and k."""
        rows = [row for memory, case in self._asked for row in self._rows(memory, case, settings)]
        names = [f"{unit}@{k}" for unit in ("utterance", "session") for k in (3, 5, 10)]
        return dict(zip(names, (float(mean) for mean in np.mean(rows, axis=0) * 100), strict=True))

    def _rows(self, memory: Memory, case: Case, settings: Settings) -> Iterator[list[float]]:
        memory.settings = settings
        session_of = {message.id: session.session_id for session in case.conversation.sessions for message in session.messages}
        for question in case.questions:
            if not question.evidence or (self._categories and question.category not in self._categories):
                continue
            vector, _ = self._embedder.query(question.text)
            found = memory.retrieve(question.text, user_id=case.conversation.user_id, k=RETRIEVED, query_vector=vector)
            turns = [turn.source_id for turn in found.turns]
            sessions = list(dict.fromkeys(turn.session_id for turn in found.turns))
            gold = {session_of[message] for message in question.evidence}
            yield [*(_recall(turns, set(question.evidence), k) for k in (3, 5, 10)), *(_recall(sessions, gold, k) for k in (3, 5, 10))]


def _recall(ranked: Sequence[str | None], gold: set[str], k: int) -> float:
    return len(gold.intersection(ranked[:k])) / len(gold)


def tune(tasks: Sequence[Task], record: Path, start: Settings, sweeps: int = 1) -> Settings:
    """Moves one setting at a time, keeps what scores higher, and appends every trial to `record` as a line of JSON."""
    best = _trial(tasks, start, {}, record)
    settings = start
    for _ in range(sweeps):
        for name, factors in STEPS.items():
            for factor in factors:
                changed = _moved(settings, name, factor)
                trial = _trial(tasks, settings.model_copy(update=changed), changed, record)
                if trial.score > best.score:
                    best, settings = trial, settings.model_copy(update=changed)
    return settings


def _moved(settings: Settings, name: str, factor: float) -> dict[str, float]:
    value = getattr(settings, name)
    return {name: max(1, round(value * factor)) if isinstance(value, int) else round(value * factor, 3)}


def _trial(tasks: Sequence[Task], settings: Settings, changed: Mapping[str, float], record: Path) -> Trial:
    Settings.model_validate(settings.model_dump())  # a step may not leave a setting's range
    scores = {task.name: task.score(settings) for task in tasks}
    counted = ("utterance@3", "utterance@5", "utterance@10", "session@3", "session@10")
    trial = Trial(changed, float(np.mean([[score[name] for name in counted] for score in scores.values()])), scores)
    record.parent.mkdir(parents=True, exist_ok=True)
    with record.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(trial) | {"settings": settings.model_dump(mode="json")}) + "\n")
    return trial


def tune_files(locomo: Path, longmemeval: Path, cache: Path, record: Path, sweeps: int) -> Settings:
    """Tunes on LoCoMo (categories 1-4), extractive and with its annotations, and on LongMemEval, all three at once."""
    embedder = CachedEmbedder(default_embedder(), cache)
    plain, annotated = Workshop(embedder), Workshop(embedder, "annotations")
    talks = list(open_dataset("locomo", locomo).cases())
    chats = list(open_dataset("longmemeval", longmemeval).cases())
    counted = parse_categories("locomo", "1-4")
    with (
        closing(embedder),
        Task("locomo", talks, plain, counted) as first,
        Task("locomo-annotations", talks, annotated, counted) as second,
        Task("longmemeval", chats, plain, None) as third,
    ):
        return tune([first, second, third], record, Settings(), sweeps)
