"""The nouns of memorai: plain data, no behaviour.

`Message` is what comes in from outside and is validated; everything else is made by memorai and is a frozen dataclass.
Ids are hex strings made with sha256, unique within a user. Timestamps are aware and in UTC.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, StringConstraints

if TYPE_CHECKING:
    from memorai_core.retrieval.trace import Trace

Origin = Literal["extractive", "model", "annotation"]
"""Who made a triplet: the sentence layer and the extractive steps, a chat model, or a data set's own annotations."""


def clean_text(text: Any) -> Any:
    """Gives text in the one form that is stored, hashed and embedded: NFC, no NUL, lone surrogates as U+FFFD.

    Anything but a string is given back as it is, for the validator behind to refuse.
    """
    if not isinstance(text, str):
        return text
    whole = text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unicodedata.normalize("NFC", whole)


def _timestamp_as_datetime(value: Any) -> Any:
    """A bare number could be seconds or milliseconds since 1970, so it is refused rather than guessed at."""
    if isinstance(value, int | float):
        raise ValueError(f"timestamp must be a datetime or an ISO 8601 string, not the number {value!r}")
    return value


def _of_utc(moment: datetime | None) -> datetime | None:
    try:
        if moment is not None and moment.tzinfo is not None:
            moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"timestamp {moment} lies outside the years 1 to 9999 in UTC") from error
    return moment


def _nameless_as_none(name: str | None) -> str | None:
    return name or None


Text = Annotated[str, StringConstraints(strict=True), BeforeValidator(clean_text)]
Name = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, max_length=1000), BeforeValidator(clean_text)]
Role = Annotated[str, StringConstraints(strict=True, strip_whitespace=True, min_length=1, max_length=100), BeforeValidator(clean_text)]
SourceId = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=1000), BeforeValidator(clean_text)]


class Message(BaseModel):
    """One message as it comes in: by whom, what, and when."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    role: Role
    """Usually "user" or "assistant"; any non-empty string."""
    text: Text
    """May be empty: the turn is stored, is never ranked, and bears nothing."""
    name: Annotated[Name | None, AfterValidator(_nameless_as_none)] = None
    """The speaker's name; without one the speaker is called by the role."""
    timestamp: Annotated[datetime | None, BeforeValidator(_timestamp_as_datetime), AfterValidator(_of_utc)] = None
    """A naive timestamp is taken as UTC and the turn is flagged."""
    id: SourceId | None = None
    """The message's own id, the idempotence key within its session; without one a message is always a new turn."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of one speaker, stored (§3.2: turn node)."""

    turn_id: str
    source_id: str | None
    session_id: str
    position: int
    """Place in its session, from 0, without gaps at append."""
    role: str
    speaker: str
    """The message's name, or else its role."""
    text: str
    timestamp: datetime | None
    timestamp_inferred: bool
    """True when the message had no timestamp, or a naive one."""
    segment_id: str | None = None
    """None until the turn is indexed."""
    kept: bool | None = None
    """What the memory gate decided; None until the turn is indexed."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A contiguous topical stretch of one session (§3.2: segment node)."""

    segment_id: str
    session_id: str
    turn_ids: tuple[str, ...]
    """In the session's order."""
    summary: str
    made_by: str
    """What made the summary: "extractive", or a prompt's name@version."""


@dataclass(frozen=True, slots=True)
class Description:
    """What one segment says of an entity."""

    text: str
    turn_ids: tuple[str, ...]
    segment_id: str


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, thing or idea that turns speak of (§3.2: entity node)."""

    entity_id: str
    name: str
    descriptions: tuple[Description, ...]
    turn_ids: tuple[str, ...]
    """Every turn that mentions it."""


@dataclass(frozen=True, slots=True)
class Triplet:
    """subject --relation--> object, with the turns it rests on (§3.2: entity-relation-entity edge)."""

    triplet_id: str
    subject: str
    relation: str
    object: str
    description: str
    source_turns: tuple[str, ...]
    """Turn ids, never empty, all of one segment."""
    segment_id: str
    origin: Origin
    made_by: str


# What an analyzer gives for a stretch of a session: the same nouns, before they have ids.


@dataclass(frozen=True, slots=True)
class SessionTail:
    """The turns of one session that are to be analysed together, and the few before them, as context only."""

    user_id: str
    session_id: str
    turns: tuple[Turn, ...]
    context: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class EntityDraft:
    """An entity as one segment describes it."""

    name: str
    description: str
    turn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TripletDraft:
    """A triplet as extracted; `source_turns` are ids of kept turns of its segment."""

    subject: str
    relation: str
    object: str
    description: str
    source_turns: tuple[str, ...]
    origin: Origin = "extractive"
    made_by: str = "extractive"
    object_key: str | None = None
    """What the object is known by, where that is not its name: a key phrase by its stems."""


@dataclass(frozen=True, slots=True)
class SegmentMemory:
    """All that is derived from one segment (§3.1-3.2)."""

    turn_ids: tuple[str, ...]
    kept: frozenset[str]
    summary: str
    triplets: tuple[TripletDraft, ...] = ()
    entities: tuple[EntityDraft, ...] = ()
    made_by: str = "extractive"


@dataclass(frozen=True, slots=True)
class SessionMemory:
    """The segments of a session's tail, in order; together they hold each of its turns once."""

    segments: tuple[SegmentMemory, ...]
    rejected: Mapping[str, int] = field(default_factory=dict)
    """How many replies or parts of replies were refused, by kind."""


# What the read path gives.


@dataclass(frozen=True, slots=True)
class EvidenceTurn:
    """A turn as retrieved, with its score and the triplets that cite it (§3.3.2)."""

    turn_id: str
    source_id: str | None
    session_id: str
    segment_id: str | None
    position: int
    role: str
    speaker: str
    text: str
    timestamp: datetime | None
    timestamp_inferred: bool
    kept: bool | None
    score: float
    """The turn's PageRank score; 0 where `filled`. Scores compare within one evidence only."""
    filled: bool
    """True when the turn lies outside G_q and was added by similarity to make up k."""
    triplets: tuple[Triplet, ...] = ()


@dataclass(frozen=True, slots=True)
class EvidenceSegment:
    """The segment of a retrieved turn."""

    segment_id: str
    session_id: str
    summary: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What `retrieve` found for a query, best first."""

    query: str
    user_id: str
    turns: tuple[EvidenceTurn, ...]
    triplets: tuple[Triplet, ...]
    """Every triplet that cites a turn of this evidence, once, in the order of the turns."""
    segments: tuple[EvidenceSegment, ...]
    trace: "Trace"
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    """Milliseconds spent in "embed", "rank" and "total"."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer from evidence, with its citations checked."""

    text: str
    """As the model wrote it, with [1] for the first turn of the evidence."""
    evidence: Evidence
    citations: tuple[str, ...] = ()
    """Ids of the turns that it cites, in the order in which it does."""
    unknown_citations: tuple[int, ...] = ()
    """Numbers that it cites and that no turn of the evidence has."""
    abstained: bool = False
    """True where the evidence does not hold the answer; the text then says what is missing."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    """None where the provider does not tell."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """One in-flow of a turn's score."""

    node_id: str
    kind: Literal["seed", "turn", "entity", "segment"]
    label: str
    """The entity's name, the segment's or turn's id, or the query for the seed share."""
    amount: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a turn has its score: the seed share and every in-flow, largest first; they sum to the score."""

    turn_id: str
    score: float
    contributions: tuple[Contribution, ...]
