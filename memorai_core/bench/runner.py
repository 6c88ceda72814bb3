"""Runs systems over a data set: indexes each conversation, ranks for each question, times both."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memorai_core.bench.datasets import Case, Dataset
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.metrics import DEPTH
from memorai_core.bench.outcomes import Outcome, Outcomes, Ranked, code_digest, outcome_key
from memorai_core.bench.questions import Question
from memorai_core.bench.systems import Measured, Query, System
from memorai_core.bench.units import UNITS, Layout, lay_out


@dataclass(frozen=True, slots=True)
class Entrant:
    """A system that takes part, and what tells its outcomes from those of every other."""

    name: str
    system: System
    identity: str
    """All settings that its outcomes depend on, as text."""


@dataclass(frozen=True, slots=True)
class Finished:
    """One entrant is through with one case."""

    entrant: str
    case: Case
    layout: Layout
    outcome: Outcome


def run(
    dataset: Dataset,
    entrants: Sequence[Entrant],
    embedder: CachedEmbedder,
    outcomes: Outcomes,
    *,
    limit: int | None = None,
    ask: bool = True,
) -> Iterator[Finished]:
    """Every entrant's outcome on every case, case by case; those already kept are not made again.

    Without `ask` conversations are indexed and no question is put.
    """
    code = code_digest()
    for number, case in enumerate(dataset.cases(limit)):
        layout = lay_out(case.conversation)
        for entrant in entrants:
            key = outcome_key(
                code=code,
                data=dataset.sha256,
                dataset=dataset.name,
                case=number,
                name=entrant.name,
                system=entrant.identity,
                embedder=embedder.identity,
                ask=ask,
            )
            outcome = outcomes.get(key)
            if outcome is None:
                outcome = examine(entrant.system, case, layout, embedder, ask=ask)
                outcomes.put(key, outcome)
            yield Finished(entrant.name, case, layout, outcome)


def examine(system: System, case: Case, layout: Layout, embedder: CachedEmbedder, *, ask: bool = True) -> Outcome:
    """Indexes a case's conversation and ranks for each of its questions that have evidence."""
    inside, spent = embedder.spent.inside, embedder.spent.seconds
    began = time.perf_counter()
    try:
        statistics = system.index(case, layout)
        own = max(0.0, time.perf_counter() - began - (embedder.spent.inside - inside))
        embedding = embedder.spent.seconds - spent
        asked = [question for question in case.questions if question.evidence and ask]
        if asked:  # the first ranking loads what the others find loaded
            system.rank(_query(asked[0], embedder)[0], "utterance", DEPTH)
        ranked = {question.question_id: _rank(system, question, layout, embedder) for question in asked}
    finally:
        system.close()
    return Outcome(ranked=ranked, statistics=statistics, seconds=own + embedding, embedding_seconds=embedding)


def _rank(system: System, question: Question, layout: Layout, embedder: CachedEmbedder) -> Ranked:
    query, embed_seconds = _query(question, embedder)
    began = time.perf_counter()
    utterances = system.rank(query, "utterance", DEPTH)
    milliseconds = 1000 * (time.perf_counter() - began)
    measured = system.measure(layout.gold(question.evidence, "utterance")) if isinstance(system, Measured) else {}
    best = {unit: tuple((utterances if unit == "utterance" else system.rank(query, unit, DEPTH))[:DEPTH]) for unit in UNITS}
    return Ranked(best=best, milliseconds=milliseconds, embed_milliseconds=1000 * embed_seconds, measured=measured)


def _query(question: Question, embedder: CachedEmbedder) -> tuple[Query, float]:
    vector, seconds = embedder.query(question.text)
    return Query(question.text, vector), seconds
