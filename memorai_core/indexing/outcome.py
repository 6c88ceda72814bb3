"""What one step gives for one segment."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memorai_core.replies import Rejected, ReplyModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """A step's result, what made it, and what was refused of the model's reply."""

    value: T
    made_by: str
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Counts by kind, as in "triplets:ungrounded"."""


def refused(step: str, reply: ReplyModel | Rejected, also: Mapping[str, int] | None = None) -> Mapping[str, int]:
    """Counts, by kind, of what a step refused: the reply itself, or elements of it, and what else the step found wrong."""
    kinds = {reply.kind: 1} if isinstance(reply, Rejected) else dict(reply.dropped)
    return total([{f"{step}:{kind}": count for kind, count in one.items()} for one in (kinds, also or {})])


def total(counts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    """The sum of several counts by kind."""
    summed: Counter[str] = Counter()
    for one in counts:
        summed.update(one)
    return dict(summed)
