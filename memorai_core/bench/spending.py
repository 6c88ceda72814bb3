"""What indexing asks of a chat model: calls and tokens a session (Table 15), and how often its replies are refused (Table 14)."""

from collections.abc import Sequence

from memorai_core.bench.choice import Choice, open_run
from memorai_core.bench.figures import Figures
from memorai_core.bench.outcomes import Outcome
from memorai_core.bench.registry import entrants_of

SYSTEMS = ("memorai", "paper")


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
    rejected: dict[str, int] = {}
    for one in statistics:
        for kind, count in one.rejected.items():
            rejected[kind] = rejected.get(kind, 0) + count
    return {
        "sessions": sessions,
        "calls": calls,
        "calls_per_session": _per(calls, sessions),
        "input_tokens_per_session": _per(sum(one.input_tokens for one in statistics), sessions),
        "output_tokens_per_session": _per(sum(one.output_tokens for one in statistics), sessions),
        "rejected": {**dict(sorted(rejected.items()))},
        "error_rate": round(100.0 * sum(rejected.values()) / calls, 2) if calls else None,
    }


def _per(count: int, sessions: int) -> float | None:
    return round(count / sessions, 2) if sessions else None
