"""The figures of a retrieval run, as the benchmark's JSON."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorai_core.bench.datasets import Case, Dataset
from memorai_core.bench.figures import Figures, Json
from memorai_core.bench.metrics import KS, METRICS, Floats, hits, intervals, scores
from memorai_core.bench.names import DatasetName
from memorai_core.bench.outcomes import Outcome
from memorai_core.bench.questions import LOCOMO_CATEGORIES, Question
from memorai_core.bench.runner import Finished
from memorai_core.bench.systems import IndexStatistics
from memorai_core.bench.units import UNITS, Layout, Unit

Cell: TypeAlias = Callable[[int, int, int], Json]

LABELS: Mapping[DatasetName, tuple[str, ...]] = {"locomo": UNITS, "longmemeval": (*UNITS, "answer_session")}
"""What a ranking is judged by: the units that hold the evidence and, beside them, LongMemEval's own list of sessions."""


@dataclass(slots=True)
class Tally:
    """All that one system's report is made of; rows are questions, in the data set's order."""

    categories: list[str] = field(default_factory=list)
    hits: list[NDArray[np.bool_]] = field(default_factory=list)
    """(labels, DEPTH) a question."""
    gold: list[list[int]] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    embed_milliseconds: list[float] = field(default_factory=list)
    measured: list[Mapping[str, float]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, finished: Finished, dataset: DatasetName, categories: frozenset[str] | None) -> None:
        """Takes in one case's outcome, judged by its questions of the chosen categories."""
        self.outcomes.append(finished.outcome)
        for question in chosen(finished.case, categories):
            if not question.evidence:
                continue
            ranked = finished.outcome.ranked[question.question_id]
            golds = [_gold(question, finished.layout, label) for label in LABELS[dataset]]
            rankings = [ranked.best[_unit(label)] for label in LABELS[dataset]]
            self.categories.append(question.category)
            self.hits.append(np.stack([hits(ranking, gold) for ranking, gold in zip(rankings, golds, strict=True)]))
            self.gold.append([len(gold) for gold in golds])
            self.milliseconds.append(ranked.milliseconds)
            self.embed_milliseconds.append(ranked.embed_milliseconds)
            self.measured.append(ranked.measured)

    def scores(self) -> Floats:
        """(questions, labels, METRICS, KS), in percent."""
        rows, gold = np.stack(self.hits), np.array(self.gold, dtype=np.int64)
        return np.stack([scores(rows[:, label], gold[:, label]) for label in range(rows.shape[1])], axis=1)


def chosen(case: Case, categories: frozenset[str] | None) -> list[Question]:
    """A case's questions of the chosen categories; None for all."""
    return [question for question in case.questions if categories is None or question.category in categories]


def tally(finished: Iterable[Finished], dataset: DatasetName, categories: frozenset[str] | None) -> tuple[dict[str, Tally], int]:
    """Each system's tally, and how many questions of the chosen categories are excluded for want of evidence."""
    tallies: dict[str, Tally] = {}
    excluded, last = 0, None
    for one in finished:
        tallies.setdefault(one.entrant, Tally()).add(one, dataset, categories)
        if one.case is not last:
            excluded += sum(not question.evidence for question in chosen(one.case, categories))
            last = one.case
    return tallies, excluded


def retrieval_report(dataset: Dataset, tallies: Mapping[str, Tally], excluded: int, settings: Figures) -> Figures:
    """The whole run: every system's figures with 95 % intervals, and paired differences of the first system to the others."""
    rows = {name: one.scores() for name, one in tallies.items() if one.hits}
    labels = LABELS[dataset.name]
    first = "memorai" if "memorai" in rows else next(iter(rows), "")
    return {
        "dataset": dataset.name,
        "data_sha256": dataset.sha256,
        "questions": len(rows[first]) if rows else 0,
        "excluded": excluded,
        "settings": settings,
        "systems": {name: _system(one, rows[name], dataset.name) for name, one in tallies.items() if name in rows},
        "differences": {
            f"{first} - {other}": _means(rows[first] - rows[other], labels, with_interval=True) for other in rows if other != first
        },
    }


def _system(one: Tally, rows: Floats, dataset: DatasetName) -> Figures:
    labels = LABELS[dataset]
    groups = {category: [category] for category in sorted(set(one.categories))}
    if dataset == "locomo":
        numbers = sorted(LOCOMO_CATEGORIES)
        groups |= {f"1-{last}": numbers[: int(last)] for last in "45" if set(numbers[: int(last)]) <= set(groups)}
    by_category: Figures = {}
    for name, members in groups.items():
        own = np.isin(one.categories, members)
        by_category[name] = {"questions": int(own.sum()), **_means(rows[own], labels), "intervals": _intervals(rows[own], labels)}
    figures: Figures = {**_means(rows, labels), "intervals": _intervals(rows, labels), "by_category": by_category}
    figures["latency_ms"] = _latency(one)
    figures["index"] = _index([outcome.statistics for outcome in one.outcomes], one.outcomes)
    names = sorted({name for measured in one.measured for name in measured})
    if names:
        figures["measured"] = {
            name: round(float(np.mean([measured[name] for measured in one.measured if name in measured])), 4) for name in names
        }
    return figures


def _means(rows: Floats, labels: tuple[str, ...], *, with_interval: bool = False) -> Figures:
    means = rows.mean(axis=0)
    low, high = intervals(rows) if with_interval else (means, means)

    def cell(*place: int) -> Json:
        mean = round(float(means[place]), 2)
        return {"mean": mean, "low": round(float(low[place]), 2), "high": round(float(high[place]), 2)} if with_interval else mean

    return _table(labels, cell)


def _intervals(rows: Floats, labels: tuple[str, ...]) -> Figures:
    low, high = intervals(rows)
    return _table(labels, lambda *place: [round(float(low[place]), 2), round(float(high[place]), 2)])


def _table(labels: tuple[str, ...], cell: Cell) -> Figures:
    return {
        label: {metric: {str(k): cell(i, j, n) for n, k in enumerate(KS)} for j, metric in enumerate(METRICS)}
        for i, label in enumerate(labels)
    }


def _latency(one: Tally) -> Figures:
    plain = np.array(one.milliseconds)
    whole = plain + np.array(one.embed_milliseconds)
    quantiles = {"p50": np.percentile(plain, 50), "p95": np.percentile(plain, 95)}
    quantiles |= {"p50_with_embedding": np.percentile(whole, 50), "p95_with_embedding": np.percentile(whole, 95)}
    return {name: round(float(value), 3) for name, value in quantiles.items()}


def _index(statistics: list[IndexStatistics], outcomes: list[Outcome]) -> Figures:
    """Means over conversations, and model calls and tokens a session."""
    sessions = sum(one.sessions for one in statistics)
    turns = sum(one.turns for one in statistics)
    kept = [one.kept for one in statistics if one.kept is not None]
    rejected: dict[str, int] = {}
    for one in statistics:
        for kind, count in one.rejected.items():
            rejected[kind] = rejected.get(kind, 0) + count
    nodes, edges = _mean([one.nodes for one in statistics]), _mean([one.edges for one in statistics])
    return {
        "conversations": len(statistics),
        "seconds": _mean([outcome.seconds for outcome in outcomes]),
        "embedding_seconds": _mean([outcome.embedding_seconds for outcome in outcomes]),
        "bytes": _mean([one.bytes for one in statistics]),
        "nodes": nodes,
        "edges": edges,
        "density": _mean([_density(one) for one in statistics], digits=6),
        "segments": _mean([one.segments for one in statistics]),
        "kept": round(sum(kept) / turns, 4) if kept and turns else None,
        "calls_per_session": round(sum(one.calls for one in statistics) / sessions, 3) if sessions else None,
        "input_tokens_per_session": round(sum(one.input_tokens for one in statistics) / sessions, 1) if sessions else None,
        "output_tokens_per_session": round(sum(one.output_tokens for one in statistics) / sessions, 1) if sessions else None,
        "rejected": {**rejected},
    }


def _density(one: IndexStatistics) -> float | None:
    """Edges over the pairs of nodes."""
    if one.nodes is None or one.edges is None or one.nodes < 2:
        return None
    return 2.0 * one.edges / (one.nodes * (one.nodes - 1))


def _mean(values: Iterable[float | None], digits: int = 2) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), digits) if known else None


def _gold(question: Question, layout: Layout, label: str) -> frozenset[int]:
    if label == "answer_session":
        listed = frozenset(layout.sessions[name] for name in question.answer_sessions)
        return listed or layout.gold(question.evidence, "session")
    return layout.gold(question.evidence, _unit(label))


def _unit(label: str) -> Unit:
    return "session" if label == "answer_session" else next(unit for unit in UNITS if unit == label)
