"""`memorai bench`: measures memorai and its baselines on data given by path."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from memorai_core.bench.names import ANALYZERS, DATASETS, SYSTEMS, AnalyzerName, DatasetName

if TYPE_CHECKING:
    from memorai_core.bench.choice import Choice
    from memorai_core.bench.figures import Figures

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Measure memorai and its baselines on LoCoMo or LongMemEval.")

CACHE = Path(".memorai-bench")
DEFAULT_SYSTEMS = "memorai,paper,bm25,dense,bm25+dense"


def _dataset(name: str) -> DatasetName:
    for known in DATASETS:
        if known == name:
            return known
    raise typer.BadParameter(f"{name!r} is none of {', '.join(DATASETS)}")


def _analyzer(name: str) -> AnalyzerName:
    for known in ANALYZERS:
        if known == name:
            return known
    raise typer.BadParameter(f"{name!r} is none of {', '.join(ANALYZERS)}")


DatasetOption: TypeAlias = Annotated[
    DatasetName, typer.Option("--dataset", parser=_dataset, metavar="|".join(DATASETS), help="What the file holds.")
]
Data: TypeAlias = Annotated[Path, typer.Option("--data", metavar="PATH", help="The data set's file; nothing is ever downloaded.")]
Systems: TypeAlias = Annotated[str, typer.Option("--systems", metavar="A,B,...", help=f"Of {', '.join(SYSTEMS)}.")]
Analyzer: TypeAlias = Annotated[
    AnalyzerName,
    typer.Option("--analyzer", parser=_analyzer, metavar="|".join(ANALYZERS), help="annotations are LoCoMo's own; prompted needs --model."),
]
Categories: TypeAlias = Annotated[str | None, typer.Option("--categories", help="As in 1-4, or LongMemEval's types; all if left out.")]
Limit: TypeAlias = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Only the first N conversations.")]
Cache: TypeAlias = Annotated[Path, typer.Option("--cache", metavar="FOLDER", help="Keeps embeddings and finished outcomes.")]
EmbedderName: TypeAlias = Annotated[str | None, typer.Option("--embedder", metavar="NAME", help="A transformers model's name or folder.")]
Models: TypeAlias = Annotated[
    str | None, typer.Option("--model", "--models", metavar="PROVIDER:NAME,...", help="The chat model; several give one run each.")
]
Out: TypeAlias = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures there.")]
Plots: TypeAlias = Annotated[Path | None, typer.Option("--plot", metavar="FOLDER", help="Draw the figures there; needs matplotlib.")]


@app.command("retrieval")
def retrieval_command(
    dataset: DatasetOption,
    data: Data,
    systems: Systems = DEFAULT_SYSTEMS,
    analyzer: Analyzer = "extractive",
    categories: Categories = None,
    limit: Limit = None,
    cache: Cache = CACHE,
    embedder: EmbedderName = None,
    models: Models = None,
    out: Out = None,
    plot: Plots = None,
) -> None:
    """Recall and NDCG at 3, 5 and 10, latency and index size of each system (Tables 2, 3, 10-13)."""
    from memorai_core.bench.retrieval import retrieval

    _check(plot)
    chosen = _choice(dataset, data, cache, analyzer, categories, limit, embedder, models)
    _show(retrieval(chosen, _names(systems)), out, plot)


@app.command("ablations")
def ablations_command(
    dataset: DatasetOption,
    data: Data,
    paper: Annotated[bool, typer.Option("--paper", help="Start from the paper's settings rather than memorai's.")] = False,
    analyzer: Analyzer = "extractive",
    categories: Categories = None,
    limit: Limit = None,
    cache: Cache = CACHE,
    embedder: EmbedderName = None,
    models: Models = None,
    out: Out = None,
    plot: Plots = None,
) -> None:
    """memorai without one part at a time (Tables 4-7 and 16, Figure 3)."""
    from memorai_core.bench.ablations import ablations

    _check(plot)
    chosen = _choice(dataset, data, cache, analyzer, categories, limit, embedder, models)
    _show(ablations(chosen, paper=paper), out, plot)


@app.command("answers")
def answers_command(
    dataset: DatasetOption,
    data: Data,
    systems: Systems = "full-history,bm25+dense,paper,memorai",
    judge: Annotated[str | None, typer.Option("--judge", metavar="PROVIDER:NAME", help="A chat model that judges the answers.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many turns are retrieved.")] = 10,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=100, help="Of evidence in a prompt, but for full-history.")] = 8000,
    bertscore: Annotated[bool, typer.Option("--bertscore", help="Also BERTScore; needs the extra bertscore.")] = False,
    analyzer: Analyzer = "extractive",
    categories: Categories = None,
    limit: Limit = None,
    cache: Cache = CACHE,
    embedder: EmbedderName = None,
    models: Models = None,
    out: Out = None,
) -> None:
    """A chat model's answers from what each system retrieves, with and without triplets (Tables 1, 8, 13)."""
    from memorai_core.bench.answers import answers

    chosen = _choice(dataset, data, cache, analyzer, categories, limit, embedder, models)
    _show(answers(chosen, _names(systems), judge, k=k, max_tokens=max_tokens, bertscore=bertscore), out)


@app.command("robustness")
def robustness_command(
    dataset: DatasetOption,
    data: Data,
    systems: Systems = "memorai,paper",
    analyzer: Analyzer = "prompted",
    limit: Limit = None,
    cache: Cache = CACHE,
    embedder: EmbedderName = None,
    models: Models = None,
    out: Out = None,
) -> None:
    """How often a chat model's structured replies are refused, by kind (Table 14)."""
    from memorai_core.bench.spending import spending

    chosen = _choice(dataset, data, cache, analyzer, None, limit, embedder, models)
    _show(spending(chosen, _names(systems), "robustness"), out)


@app.command("cost")
def cost_command(
    dataset: DatasetOption,
    data: Data,
    systems: Systems = "memorai,paper",
    analyzer: Analyzer = "prompted",
    limit: Limit = None,
    cache: Cache = CACHE,
    embedder: EmbedderName = None,
    models: Models = None,
    out: Out = None,
) -> None:
    """Model calls and tokens a session of indexing (Table 15)."""
    from memorai_core.bench.spending import spending

    chosen = _choice(dataset, data, cache, analyzer, None, limit, embedder, models)
    _show(spending(chosen, _names(systems), "cost"), out)


@app.command("stats")
def stats_command(dataset: DatasetOption, data: Data, limit: Limit = None, out: Out = None) -> None:
    """What the data set consists of (Table 9)."""
    from memorai_core.bench.datasets import open_dataset
    from memorai_core.bench.statistics import statistics

    _show(statistics(open_dataset(dataset, data), limit), out)


@app.command("tune")
def tune_command(
    locomo: Annotated[Path, typer.Option("--locomo", metavar="PATH", help="LoCoMo's development file.")],
    longmemeval: Annotated[Path, typer.Option("--longmemeval", metavar="PATH", help="LongMemEval's development file.")],
    record: Annotated[Path, typer.Option("--record", metavar="FILE", help="Every trial is added to it as a line of JSON.")],
    sweeps: Annotated[int, typer.Option("--sweeps", min=1, help="How often each setting is moved.")] = 1,
    cache: Cache = CACHE,
) -> None:
    """Look for better settings, one at a time, on development data only, and write down what was tried."""
    from memorai_core.bench.tuning import tune_files

    typer.echo(tune_files(locomo, longmemeval, cache, record, sweeps).model_dump_json(indent=2))


@app.command("tables")
def tables_command(
    figures: Annotated[list[Path], typer.Argument(help="Files that --json wrote; each is known by its name without .json.")],
    page: Annotated[Path, typer.Option("--write", metavar="FILE", help="A Markdown page with the markers of the tables.")] = Path(
        "README.md"
    ),
) -> None:
    """Writes each file's tables into a page, between <!-- bench:NAME --> and <!-- /bench:NAME -->."""
    from memorai_core.bench.pages import write_tables

    for name in write_tables(page, figures):
        typer.echo(f"{page}: {name}")


def _choice(
    dataset: DatasetName,
    data: Path,
    cache: Path,
    analyzer: AnalyzerName,
    categories: str | None,
    limit: int | None,
    embedder: str | None,
    models: str | None,
) -> "Choice":
    from memorai_core.bench.choice import Choice

    return Choice(dataset, data, cache, analyzer, categories, limit, embedder, _names(models or ""))


def _check(plot: Path | None) -> None:
    """Raises ConfigurationError at once, not after a long run, where what draws is missing."""
    from memorai_core.bench.extras import require

    if plot:
        require("matplotlib")


def _names(joined: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in joined.split(",") if name.strip())


def _show(figures: "Figures", out: Path | None, plot: Path | None = None) -> None:
    """Prints the tables, and writes what was asked for."""
    from memorai_core.bench.tables import print_tables, tables_of

    print_tables(tables_of(figures))
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if plot:
        from memorai_core.bench.plots import draw

        draw(figures, plot)
