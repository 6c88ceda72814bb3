"""What indexing asks of a chat model: calls and tokens a session (Table 15), and how often its replies are refused (Table 14)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memorai_core.bench.choice import Choice, open_run
from memorai_core.bench.figures import Figures
from memorai_core.bench.outcomes import Outcome
from memorai_core.bench.registry import entrants_of


def spending(choice: Choice, systems: Sequence[str], command: str) -> Figures:
    """Each system's calls, tokens and refusals over the whole data set; conversations are indexed, no question is asked."""
    with open_run(choice) as run:
        entrants = entrants_of(systems, run.workshops())
        outcomes: dict[str, list[Outcome]] = {}
        for one in run.finished(entrants, ask=False):
            outcomes.setdefault(one.entrant, []).append(one.outcome)
        return {
            "dataset": choice.dataset,
            "data_sha256": run.dataset.sha256,
            "settings": run.settings(command, entrants),
            "systems": {name: _spent(own) for name, own in outcomes.items()},
        }


def _spent(outcomes: Sequence[Outcome]) -> Figures:
    statistics = [outcome.statistics for outcome in outcomes]
    sessions, calls = sum(one.sessions for one in statistics), sum(one.calls for one in statistics)
    structured, refused = sum(one.structured for one in statistics), _summed(one.refused for one in statistics)
    return {
        "sessions": sessions,
        "calls": calls,
        "calls_per_session": _per(calls, sessions),
        "input_tokens_per_session": _per(sum(one.input_tokens for one in statistics), sessions),
        "output_tokens_per_session": _per(sum(one.output_tokens for one in statistics), sessions),
        "structured": structured,
        "malformed_rate": _per(100 * sum(one.malformed for one in statistics), structured),
        "error_rate": _per(100 * sum(refused.values()), structured),
        "refused": {**refused},
        "rejected": {**_summed(one.rejected for one in statistics)},
    }


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(sorted(total.items()))


def _per(count: int, among: int) -> float | None:
    return round(count / among, 2) if among else None
