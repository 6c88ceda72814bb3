"""How well each system finds the messages that answer a question (Tables 2, 3, 10 to 13)."""

from collections.abc import Sequence

from memorai_core.bench.choice import Choice, open_run
from memorai_core.bench.figures import Figures
from memorai_core.bench.registry import entrants_of
from memorai_core.bench.report import retrieval_report, tally


def retrieval(choice: Choice, systems: Sequence[str]) -> Figures:
    """Recall, NDCG, latency and index size of each system, with intervals and differences."""
    with open_run(choice) as run:
        entrants = entrants_of(systems, run.workshops())
        tallies, excluded = tally(run.finished(entrants), choice.dataset, run.categories)
        return retrieval_report(run.dataset, tallies, excluded, run.settings("retrieval", entrants))
