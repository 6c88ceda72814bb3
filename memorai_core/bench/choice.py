"""What a benchmark command was asked for, and the run that comes of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from memorai_core.bench.annotations import NOTICE
from memorai_core.bench.datasets import Dataset, open_dataset, parse_categories
from memorai_core.bench.embedding_cache import CachedEmbedder
from memorai_core.bench.extras import require
from memorai_core.bench.figures import Figures
from memorai_core.bench.metrics import KS, LEVEL, RESAMPLES, SEED
from memorai_core.bench.names import AnalyzerName, DatasetName
from memorai_core.bench.outcomes import Outcomes, code_digest
from memorai_core.bench.registry import Workshop
from memorai_core.bench.replies import RememberedChatModel
from memorai_core.bench.runner import Entrant, Finished, run
from memorai_core.embedding import TransformersEmbedder, default_embedder
from memorai_core.errors import ConfigurationError
from memorai_core.protocols import ChatModel


@dataclass(frozen=True, slots=True)
class Choice:
    """The options that all measuring commands share."""

    dataset: DatasetName
    data: Path
    cache: Path
    analyzer: AnalyzerName = "extractive"
    categories: str | None = None
    limit: int | None = None
    embedder: str | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """An opened data set, embedder and cache, under the options of a choice."""

    choice: Choice
    dataset: Dataset
    categories: frozenset[str] | None
    embedder: CachedEmbedder
    outcomes: Outcomes
    closing: ExitStack

    def workshops(self) -> list[Workshop]:
        """One for each chat model, or one without."""
        if not self.choice.models:
            return [Workshop(self.embedder, self.choice.analyzer)]
        return [Workshop(self.embedder, self.choice.analyzer, self.chat_model(name), name) for name in self.choice.models]

    def chat_model(self, name: str) -> ChatModel:
        """The chat model PROVIDER:NAME, its replies remembered in the cache."""
        return self.closing.enter_context(closing(RememberedChatModel(open_chat_model(name), self.choice.cache, name)))

    def finished(self, entrants: Sequence[Entrant], *, ask: bool = True) -> Iterator[Finished]:
        """Every entrant's outcome on every conversation, with a progress bar."""
        with self.progress(len(entrants)) as step:
            for one in run(self.dataset, entrants, self.embedder, self.outcomes, limit=self.choice.limit, ask=ask):
                step(f"{one.case.conversation.user_id} {one.entrant}")
                yield one

    @contextmanager
    def progress(self, entrants: int) -> Iterator[Callable[[str], None]]:
        """A progress bar on standard error over the conversations of each entrant; call with what was just finished."""
        shown = Console(stderr=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
        )
        with Progress(*columns, console=shown, disable=not shown.is_terminal) as bar:
            task = bar.add_task("reading", total=entrants * sum(1 for _ in self.dataset.cases(self.choice.limit)))
            yield lambda finished: bar.update(task, advance=1, description=finished)

    def settings(self, command: str, entrants: Sequence[Entrant]) -> Figures:
        """All that the figures depend on, for the record."""
        choice = self.choice
        return {
            "command": command,
            "data": choice.data.name,
            "categories": choice.categories,
            "limit": choice.limit,
            "analyzer": choice.analyzer,
            "annotations": NOTICE if choice.analyzer == "annotations" else None,
            "models": list(choice.models),
            "embedder": choice.embedder or "all-MiniLM-L6-v2 (bundled)",
            "embedder_identity": self.embedder.identity,
            "k": list(KS),
            "intervals": {"level": LEVEL, "resamples": RESAMPLES, "seed": SEED, "over": "questions"},
            "code_sha256": code_digest(),
            "systems": {entrant.name: entrant.identity for entrant in entrants},
        }


@contextmanager
def open_run(choice: Choice) -> Iterator[Run]:
    """Opens what a command needs, and closes it."""
    dataset = open_dataset(choice.dataset, choice.data)
    categories = parse_categories(choice.dataset, choice.categories)
    if choice.analyzer == "prompted" and not choice.models:
        raise ConfigurationError("--analyzer prompted needs a chat model: name it with --model PROVIDER:NAME")
    inner = TransformersEmbedder(choice.embedder) if choice.embedder else default_embedder()
    with ExitStack() as stack:
        embedder = stack.enter_context(closing(CachedEmbedder(inner, choice.cache)))
        outcomes = stack.enter_context(closing(Outcomes(choice.cache)))
        yield Run(choice, dataset, categories, embedder, outcomes, stack)


def open_chat_model(name: str) -> ChatModel:
    """The chat model PROVIDER:NAME by way of LangChain; raises ConfigurationError where the extra is missing."""
    model = require("langchain.chat_models", "models").init_chat_model(name, temperature=0)
    return cast(ChatModel, require("memorai_langchain", "models").LangChainChatModel(model))
