"""What the benchmark asks of a retrieval system, and what it gives it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memorai_core.bench.datasets import Case
from memorai_core.bench.units import Layout, Unit
from memorai_core.models import Message

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Query:
    """A question and its vector, of length 1."""

    text: str
    vector: Vectors


@dataclass(frozen=True, slots=True)
class IndexStatistics:
    """What a system's index of one conversation consists of and what it cost; None where a count means nothing."""

    nodes: int | None = None
    edges: int | None = None
    bytes: int | None = None
    turns: int = 0
    kept: int | None = None
    """Turns the memory gate kept."""
    segments: int | None = None
    sessions: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    """What was refused in the end, replies and parts of them, by kind."""
    structured: int = 0
    malformed: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)
    """Replies asked for in a shape; those without it as they stand; those that repair could not save, by prompt and kind."""


class System(Protocol):
    """A way to find the messages that answer a question; one object serves one conversation at a time."""

    name: str

    def index(self, case: Case, layout: Layout) -> IndexStatistics:
        """Takes in a case's conversation and forgets the one before."""
        ...

    def rank(self, query: Query, unit: Unit, k: int) -> list[int]:
        """The conversation's best units, best first, by their numbers in the layout: at least k where there are as many."""
        ...

    def close(self) -> None:
        """Lets go of files and memory."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A system that can say more of its last ranking."""

    def measure(self, gold: frozenset[int]) -> Mapping[str, float]:
        """Figures by name; `gold` are the utterances that answer the question, at least one."""
        ...


def turn_text(message: Message) -> str:
    """A message as every system sees it: "speaker: text", or nothing where it has no text."""
    return f"{message.name or message.role}: {message.text}" if message.text.strip() else ""


def best_first(scores: NDArray[np.floating]) -> list[int]:
    """The places of scores from the highest to the lowest; equal ones in their order."""
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def project(ranking: list[int], layout: Layout, over: Unit, unit: Unit) -> list[int]:
    """A ranking over one kind of unit as one over another: each unit stands for its messages, in their order."""
    if over == unit:
        return ranking
    members = layout.members(over)
    return layout.coarsen((place for group in ranking for place in members[group]), unit)
