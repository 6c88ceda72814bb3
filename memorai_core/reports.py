"""What calls say of what they did, and what is told of one thing: plain data, no behaviour."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from memorai_core.models import Entity, Segment, Triplet, Turn


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one `index` call did; segments, triplets and entities are those it added, less those of open segments it replaced."""

    sessions: int = 0
    turns: int = 0
    segments: int = 0
    kept: int = 0
    dropped: int = 0
    triplets: int = 0
    entities: int = 0
    embedded: int = 0
    """Texts that went to the embedder; those already stored are not among them."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    embedding_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """What one `forget` call removed or derived anew."""

    turns: int = 0
    segments: int = 0
    triplets: int = 0
    entities: int = 0
    vectors: int = 0


@dataclass(frozen=True, slots=True)
class UserStats:
    """Counts of one user's memory."""

    user_id: str
    sessions: int
    turns: int
    pending: int
    """Turns that are stored but not indexed yet."""
    kept: int
    dropped: int
    segments: int
    entities: int
    triplets: int
    vectors: int


@dataclass(frozen=True, slots=True)
class Audit:
    """One turn, segment, entity or triplet, with where it came from and what rests on it."""

    user_id: str
    kind: Literal["turn", "segment", "entity", "triplet"]
    subject: Turn | Segment | Entity | Triplet
    segment: Segment | None
    """The segment it is of; None for an entity and for a turn that is not indexed."""
    turns: tuple[Turn, ...]
    """A turn itself, a segment's turns, the turns that mention an entity, or a triplet's source turns."""
    triplets: tuple[Triplet, ...]
    """The triplets that cite the turn, or are of the segment, or have the entity at an end; for a triplet, itself."""
    entities: tuple[Entity, ...]
    """The entities at those triplets' ends and those described from the turn or segment."""
