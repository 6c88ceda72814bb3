"""Figures as tables, for a terminal and for a page."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as RichTable

from memorai_core.bench.figures import Figures, bounds, number, part, word
from memorai_core.bench.metrics import KS
from memorai_core.bench.questions import LOCOMO_CATEGORIES

UNIT_NAMES = {
    "utterance": "turn (one message)",
    "pair": "pair of messages",
    "session": "session",
    "answer_session": "session, as the data set lists them",
}
RECALL_NOTE = "R@k: percentage of the evidence found, with 95 % bootstrap intervals over questions; all@10: how often all of it is."
FILE_WIDTH = 120
"""Columns of a table that no terminal shows."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts; the first column is left-aligned, all others are numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def tables_of(figures: Figures) -> list[Table]:
    """The tables of any command's figures."""
    command = word(figures, "settings", "command")
    if command == "stats":
        return _statistics(figures)
    if command in ("cost", "robustness"):
        return [_cost(figures) if command == "cost" else _robustness(figures)]
    if command == "answers":
        return [_answers(figures)]
    tables = [_recall(figures, unit) for unit in UNIT_NAMES if any(part(one, unit) for one in _systems(figures).values())]
    tables.append(_by_category(figures))
    tables += [_differences(figures)] if part(figures, "differences") else []
    return [*tables, *([_ablation_costs(figures)] if command == "ablations" else [_latency(figures), _index(figures)])]


def markdown(table: Table) -> str:
    """A table as GitHub's Markdown has it, its title in bold above and its note below."""
    ruler = ["---", *["---:"] * (len(table.header) - 1)]
    lines = [f"| {' | '.join(cells)} |" for cells in (table.header, ruler, *table.rows)]
    return "\n".join([f"**{table.title}**", "", *lines, *(["", table.note] if table.note else [])])


def print_tables(tables: Sequence[Table]) -> None:
    """Writes tables to standard output."""
    console = Console(markup=False, highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    for table in tables:
        shown = RichTable(title=table.title, title_justify="left", caption=table.note or None, caption_justify="left")
        for place, name in enumerate(table.header):
            shown.add_column(name, justify="right" if place else "left")
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown)


def setting(figures: Figures) -> str:
    """In a sentence: the data, the questions and what the systems were made with."""
    settings = part(figures, "settings")
    told = [f"{word(settings, 'data')} (sha256 {word(figures, 'data_sha256')[:12]})"]
    if "questions" in figures:
        told.append(f"{word(figures, 'questions')} questions, {word(figures, 'excluded')} left out for want of evidence")
    told.append(f"categories {word(settings, 'categories') or 'all'}")
    told.append(f"analyzer {word(settings, 'analyzer')}")
    models = settings.get("models")
    told += [f"models {', '.join(map(str, models))}"] if isinstance(models, list) and models else []
    told += [word(settings, "annotations")] if settings.get("annotations") else []
    told.append(f"embedder {word(settings, 'embedder')}")
    return "; ".join(told) + "."


def _systems(figures: Figures) -> Figures:
    return part(figures, "systems")


def _recall(figures: Figures, unit: str) -> Table:
    header = ("system", *(f"R@{k}" for k in KS), "all@10", "NDCG@10")
    rows = []
    for name, one in _systems(figures).items():
        recall = [_with_interval(one, unit, "frac", k) for k in KS]
        rows.append((name, *recall, *(_plain(number(one, unit, metric, "10")) for metric in ("all", "ndcg"))))
    return Table(f"{word(figures, 'dataset')}, {UNIT_NAMES[unit]}", header, tuple(rows), f"{RECALL_NOTE} {setting(figures)}")


def _by_category(figures: Figures) -> Table:
    categories = sorted({category for one in _systems(figures).values() for category in part(one, "by_category")})
    header = ("system", *(f"{category} {LOCOMO_CATEGORIES.get(category, '')}".strip() for category in categories))
    rows = [
        (name, *(_plain(number(one, "by_category", category, "utterance", "frac", "10")) for category in categories))
        for name, one in _systems(figures).items()
    ]
    return Table(f"{word(figures, 'dataset')}, turn R@10 by category", header, tuple(rows))


def _differences(figures: Figures) -> Table:
    rows = [
        (f"{name}, {unit.replace('_', ' ')}", *(_difference(part(one, unit, "frac", str(k))) for k in KS))
        for unit in UNIT_NAMES
        for name, one in part(figures, "differences").items()
        if part(one, unit)
    ]
    return Table("Paired differences, with 95 % intervals", ("difference", *(f"R@{k}" for k in KS)), tuple(rows))


def _latency(figures: Figures) -> Table:
    header = ("system", "p50", "p95", "p50 with embedding", "p95 with embedding")
    names = ("p50", "p95", "p50_with_embedding", "p95_with_embedding")
    rows = [(name, *(_plain(number(one, "latency_ms", key), 2) for key in names)) for name, one in _systems(figures).items()]
    return Table("Milliseconds a query", header, tuple(rows))


def _index(figures: Figures) -> Table:
    header = ("system", "seconds", "of it embedding", "MB", "nodes", "edges", "kept %")
    rows = []
    for name, one in _systems(figures).items():
        index = part(one, "index")
        size, kept = number(index, "bytes"), number(index, "kept")
        times = (_plain(number(index, key)) for key in ("seconds", "embedding_seconds"))
        counts = (_plain(number(index, key), 0) for key in ("nodes", "edges"))
        rows.append((name, *times, _plain(size and size / 1e6, 2), *counts, _plain(None if kept is None else 100 * kept)))
    return Table("The index of a conversation (means)", header, tuple(rows))


def _ablation_costs(figures: Figures) -> Table:
    header = ("variant", "nodes", "edges", "density", "evidence in G_q %", "nodes of G_q", "edges of G_q", "PageRank ms", "query p50 ms")
    paths = (
        ("index", "nodes", 0), ("index", "edges", 0), ("index", "density", 5), ("measured", "evidence_in_subgraph", 1),
        ("measured", "subgraph_nodes", 0), ("measured", "subgraph_edges", 0), ("measured", "pagerank_ms", 2), ("latency_ms", "p50", 2),
    )  # fmt: skip
    rows = [(name, *(_plain(number(one, group, key), digits) for group, key, digits in paths)) for name, one in _systems(figures).items()]
    return Table("Size of the graph, reach and time of the ranking (means)", header, tuple(rows))


def _cost(figures: Figures) -> Table:
    header = ("system", "sessions", "calls/session", "input tokens/session", "output tokens/session")
    names = ("sessions", "calls_per_session", "input_tokens_per_session", "output_tokens_per_session")
    rows = [(name, *(_plain(number(one, key), 0 if key == "sessions" else 1) for key in names)) for name, one in _systems(figures).items()]
    return Table(f"{word(figures, 'dataset')}, cost of indexing", header, tuple(rows), setting(figures))


def _robustness(figures: Figures) -> Table:
    kinds = sorted({kind for one in _systems(figures).values() for kind in part(one, "refused")})
    header = ("system", "structured replies", "malformed %", "refused %", *kinds)
    rows = []
    for name, one in _systems(figures).items():
        rates = (_plain(number(one, key), 2) for key in ("malformed_rate", "error_rate"))
        counts = (_plain(number(one, "refused", kind) or 0, 0) for kind in kinds)
        rows.append((name, _plain(number(one, "structured"), 0), *rates, *counts))
    note = f"Malformed: no JSON of the shape asked for as it stands; refused: not even after repair. {setting(figures)}"
    return Table(f"{word(figures, 'dataset')}, structured output errors", header, tuple(rows), note)


def _answers(figures: Figures) -> Table:
    names = ("f1", "bleu", "rouge1", "rouge2", "rougeL", "bertscore", "judge", "abstained")
    shown = [name for name in names if any(number(one, "overall", name) is not None for one in _systems(figures).values())]
    rows = [
        (f"{name}, {group}", _plain(number(own, "questions"), 0), *(_plain(number(own, key)) for key in shown))
        for name, one in _systems(figures).items()
        for group, own in [("all", part(one, "overall")), *((group, part(one, "by_category", group)) for group in part(one, "by_category"))]
    ]
    return Table(f"{word(figures, 'dataset')}, answers", ("system", "questions", *shown), tuple(rows), setting(figures))


def _statistics(figures: Figures) -> list[Table]:
    totals, means = part(figures, "totals"), part(figures, "per_conversation")
    counts = tuple((name, _plain(number(totals, name), 0), _plain(number(means, name))) for name in totals)
    categories = tuple(
        (name, _plain(number(one, "questions"), 0), _plain(number(one, "without_evidence"), 0))
        for name, one in part(figures, "categories").items()
    )
    title = f"{word(figures, 'dataset')}, {word(figures, 'settings', 'data')}"
    return [
        Table(title, ("", "in all", "a conversation"), counts, "Tokens: words and punctuation marks."),
        Table("Questions", ("category", "questions", "without evidence"), categories),
    ]


def _with_interval(one: object, unit: str, metric: str, k: int) -> str:
    figures = one if isinstance(one, dict) else {}
    mean, interval = number(figures, unit, metric, str(k)), bounds(figures, "intervals", unit, metric, str(k))
    return f"{_plain(mean)} ({interval[0]:.1f}-{interval[1]:.1f})" if interval else _plain(mean)


def _difference(cell: Figures) -> str:
    mean, low, high = (number(cell, name) for name in ("mean", "low", "high"))
    return "-" if mean is None or low is None or high is None else f"{mean:+.1f} ({low:+.1f} to {high:+.1f})"


def _plain(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
