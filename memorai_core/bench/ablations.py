"""memorai without one part at a time (Tables 4-7 and 16, Figure 3)."""

from collections.abc import Mapping

from memorai_core.bench.choice import Choice, open_run
from memorai_core.bench.figures import Figures
from memorai_core.bench.memory_system import MemoryFiles
from memorai_core.bench.registry import entrant, memory_entrant
from memorai_core.bench.report import retrieval_report, tally
from memorai_core.settings import Settings

FULL = "full"
VARIANTS: Mapping[str, Mapping[str, object]] = {
    FULL: {},
    "segment = session": {"segmentation": "session"},
    "segment = turn": {"segmentation": "turn"},
    "no memory gate": {"gate": False},
    "uniform weights": {"weights": "uniform"},
    "full graph": {"subgraph": False},
    "no sentence layer": {"sentence_layer": False},
    "sharpness 1": {"sharpness": 1.0},
    "no lexical aspect": {"lexical": 0.0},
    "no adjacency": {"adjacency": 0.0},
    "no turn aspect": {"turn_aspect": False},
    "no fanout bound": {"fanout": None},
}
"""What each variant changes in the settings: the paper's own ablations, then those of what is ours."""

BASELINES = ("bm25", "bm25+dense")
"""What every table of recall shows: a graph that does not beat them has not earned its keep."""


def ablations(choice: Choice, *, paper: bool = False) -> Figures:
    """Every variant's figures, and the paired differences of the whole to each; variants that are written alike share an index.

    They start from memorai's own settings, or from the `paper`'s, where a variant that changes nothing is left out.
    """
    base = Settings.paper() if paper else Settings()
    variants = {name: Settings.model_validate(base.model_dump() | dict(changes)) for name, changes in VARIANTS.items()}
    chosen = {name: settings for name, settings in variants.items() if name == FULL or settings != base}
    with open_run(choice) as run:
        (workshop,) = run.workshops()[:1]
        files = MemoryFiles(workshop.analyzer_for, workshop.embedder, workshop.chat_model)
        try:
            entrants = [memory_entrant(name, settings, workshop, files, shared=True) for name, settings in chosen.items()]
            entrants += [entrant(name, workshop) for name in BASELINES]
            tallies, excluded = tally(run.finished(entrants), choice.dataset, run.categories)
        finally:
            files.close()
        return retrieval_report(run.dataset, tallies, excluded, run.settings("ablations", entrants))
