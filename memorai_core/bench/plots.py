"""Figures as pictures: recall by k and by category, latency by size of the graph, and how complex graphs are."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memorai_core.bench.extras import require
from memorai_core.bench.figures import Figures, Json, bounds, number, part, word
from memorai_core.bench.metrics import KS
from memorai_core.bench.questions import LOCOMO_CATEGORIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(figures: Figures, folder: Path) -> list[Path]:
    """Writes one PNG a picture that the figures have something for, and gives their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, Callable[[Figures, Axes], bool]] = {
        "recall-by-k": recall_by_k,
        "recall-by-category": recall_by_category,
        "latency-by-graph": latency_by_graph,
        "graph-complexity": graph_complexity,
    }
    written = []
    require("matplotlib").use("Agg")
    plots = require("matplotlib.pyplot")
    for name, picture in pictures.items():
        canvas, axes = plots.subplots(figsize=(8, 5), layout="constrained")
        if picture(figures, axes):
            path = folder / f"{word(figures, 'dataset')}-{word(figures, 'settings', 'command')}-{name}.png"
            canvas.savefig(path, dpi=120)
            written.append(path)
        plots.close(canvas)
    return written


def recall_by_k(figures: Figures, axes: "Axes") -> bool:
    """Turn recall (frac) of each system at each k, with its interval."""
    systems = part(figures, "systems")
    for place, (name, one) in enumerate(systems.items()):
        means = [number(one, "utterance", "frac", str(k)) or 0.0 for k in KS]
        below, above = zip(*(_error(one, mean, k) for k, mean in zip(KS, means, strict=True)), strict=True)
        shift = (place - len(systems) / 2) * 0.08  # so that intervals do not hide one another
        axes.errorbar([k + shift for k in KS], means, yerr=[below, above], marker="o", capsize=3, label=name)
    axes.set(xlabel="k", ylabel="turn recall, percent", xticks=KS, title=_title(figures))
    axes.legend()
    return bool(systems)


def recall_by_category(figures: Figures, axes: "Axes") -> bool:
    """Turn recall (frac) at 10 of each system in each category."""
    systems = part(figures, "systems")
    categories = sorted({category for one in systems.values() for category in part(one, "by_category") if not category.startswith("1-")})
    if not categories:
        return False
    width = 0.8 / len(systems)
    for place, (name, one) in enumerate(systems.items()):
        groups = [part(one, "by_category", category) for category in categories]
        means = [number(group, "utterance", "frac", "10") or 0.0 for group in groups]
        errors = list(zip(*(_error(group, mean, 10) for group, mean in zip(groups, means, strict=True)), strict=True))
        axes.bar([spot + place * width for spot in range(len(groups))], means, width, yerr=errors, capsize=2, label=name)
    axes.set(ylabel="turn recall at 10, percent", title=_title(figures))
    names = [f"{category} {LOCOMO_CATEGORIES.get(category, '')}".strip() for category in categories]
    axes.set_xticks([spot + 0.4 - width / 2 for spot in range(len(categories))], names, rotation=20)
    axes.legend()
    return True


def latency_by_graph(figures: Figures, axes: "Axes") -> bool:
    """Median latency of each system against the nodes of its graph."""
    points = [
        (name, nodes, latency)
        for name, one in part(figures, "systems").items()
        if (nodes := number(one, "index", "nodes")) is not None and (latency := number(one, "latency_ms", "p50")) is not None
    ]
    for name, nodes, latency in points:
        axes.plot(nodes, latency, "o")
        axes.annotate(name, (nodes, latency), textcoords="offset points", xytext=(5, 5))
    axes.set(xlabel="nodes of a conversation's graph, mean", ylabel="latency of a query, p50 ms", title=_title(figures))
    return bool(points)


def graph_complexity(figures: Figures, axes: "Axes") -> bool:
    """Nodes and edges of each system's graph (Figure 3)."""
    sizes = {
        name: (number(one, "index", "nodes") or 0.0, number(one, "index", "edges") or 0.0)
        for name, one in part(figures, "systems").items()
        if number(one, "index", "nodes") is not None
    }
    for place, kind in enumerate(("nodes", "edges")):
        axes.barh([spot + 0.4 * place for spot in range(len(sizes))], [size[place] for size in sizes.values()], 0.4, label=kind)
    axes.set(xlabel="in the graph of a conversation, mean", title=_title(figures))
    axes.set_yticks([spot + 0.2 for spot in range(len(sizes))], list(sizes))
    axes.invert_yaxis()
    axes.legend()
    return bool(sizes)


def _error(one: Json, mean: float, k: int) -> tuple[float, float]:
    """How far the interval of turn recall at k reaches below and above its mean."""
    low, high = bounds(one, "intervals", "utterance", "frac", str(k)) or (mean, mean)
    return max(0.0, mean - low), max(0.0, high - mean)


def _title(figures: Figures) -> str:
    settings = part(figures, "settings")
    return f"{word(figures, 'dataset')}, {word(figures, 'questions')} questions, analyzer {word(settings, 'analyzer')}"
