"""LoCoMo's own annotations in place of what an analyzer would extract, and said to be that."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import BaseModel, Field

from memorai_core.bench.datasets import Case
from memorai_core.bench.questions import message_ids, parse_evidence
from memorai_core.errors import ConfigurationError
from memorai_core.flow import Flow
from memorai_core.formats.records import Record
from memorai_core.identity import canonical_name
from memorai_core.indexing.extractive import ExtractiveAnalyzer
from memorai_core.indexing.sentences import KeyPhrase, key_phrases, sentences
from memorai_core.models import SegmentMemory, SessionMemory, SessionTail, TripletDraft, Turn
from memorai_core.protocols import SessionAnalyzer
from memorai_core.terms import terms

MADE_BY = "LoCoMo observation"
SUMMARY_BY = "LoCoMo session_summary"
RELATION = "is_observed"
NOTICE = "triplets and summaries: LoCoMo's own published annotations (observation, session_summary), not extracted by memorai"


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about a speaker, with the ids of the messages it rests on."""

    speaker: str
    text: str
    source_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionAnnotations:
    """What the data set publishes about one session."""

    statements: tuple[Statement, ...] = ()
    summary: str = ""


class _Sample(BaseModel):
    observation: dict[str, dict[str, list[tuple[str, object]]]] = Field(default_factory=dict)
    session_summary: dict[str, str | None] = Field(default_factory=dict)


def read_annotations(record: Record, known: frozenset[str]) -> dict[str, SessionAnnotations]:
    """A LoCoMo sample's annotations by session id; statements that name no known message are left out."""
    sample = record.parse(_Sample)
    names = {key.removesuffix("_observation") for key in sample.observation} | {
        key.removesuffix("_summary") for key in sample.session_summary
    }
    return {
        name: SessionAnnotations(
            tuple(_statements(sample.observation.get(f"{name}_observation", {}), known)),
            sample.session_summary.get(f"{name}_summary") or "",
        )
        for name in names
    }


def annotations_for(case: Case, segments: SessionAnalyzer) -> SessionAnalyzer:
    """The analyzer that replays a case's annotations on the segments of another; raises ConfigurationError where its data set has none."""
    found = read_annotations(case.record, message_ids(case.conversation))
    if not any(one.statements for one in found.values()):
        raise ConfigurationError("--analyzer annotations needs LoCoMo's observation statements; this file has none")
    return AnnotationAnalyzer(found, segments)


class AnnotationAnalyzer:
    """A session analyzer that takes triplets and summaries from annotations, and all else from another analyzer.

    A statement becomes triplets from its speaker to each of its key phrases, one set a segment where it rests on turns of
    several. A sentence of the session's summary goes to the segment whose turns share most words with it; a segment that
    gets none keeps its extractive summary. Turns that a statement rests on are always kept.
    """

    def __init__(self, annotations: Mapping[str, SessionAnnotations], segments: SessionAnalyzer | None = None) -> None:
        self._annotations = annotations
        self._segments = segments or ExtractiveAnalyzer()

    def analyze(self, session: SessionTail, turn_vectors: np.ndarray) -> Flow[SessionMemory]:
        """A flow that asks nothing."""
        memory = yield from self._segments.analyze(session, turn_vectors)
        found = self._annotations.get(session.session_id, SessionAnnotations())
        turns = {turn.turn_id: turn for turn in session.turns}
        summaries = _shared_out(sentences(found.summary), [[turns[turn_id] for turn_id in segment.turn_ids] for segment in memory.segments])
        segments = (
            _annotated(segment, [turns[turn_id] for turn_id in segment.turn_ids], found.statements, summary)
            for segment, summary in zip(memory.segments, summaries, strict=True)
        )
        return replace(memory, segments=tuple(segments))


def _statements(observation: Mapping[str, list[tuple[str, object]]], known: frozenset[str]) -> list[Statement]:
    found = (
        Statement(speaker, text, parse_evidence([str(ids)], known))  # a string of ids, or a list of them
        for speaker, pairs in observation.items()
        for text, ids in pairs
    )
    return [statement for statement in found if statement.source_ids]


def _annotated(segment: SegmentMemory, turns: Sequence[Turn], statements: Sequence[Statement], summary: str) -> SegmentMemory:
    turn_of = {turn.source_id: turn.turn_id for turn in turns}
    triplets: list[TripletDraft] = []
    for statement in statements:
        cited = tuple(turn_of[name] for name in statement.source_ids if name in turn_of)
        if cited:
            triplets += _triplets(statement, cited, sorted({turn.speaker for turn in turns}))
    kept = segment.kept.union(*(triplet.source_turns for triplet in triplets))
    if not summary:
        return replace(segment, kept=kept, triplets=(*segment.triplets, *triplets))
    return replace(segment, kept=kept, triplets=(*segment.triplets, *triplets), summary=summary, made_by=SUMMARY_BY)


def _triplets(statement: Statement, source_turns: tuple[str, ...], speakers: Sequence[str]) -> list[TripletDraft]:
    """From the speaker to every other speaker that is named and every key phrase, in which no speaker's name stands."""
    objects: list[KeyPhrase] = []
    text = statement.text
    for name in dict.fromkeys([statement.speaker, *speakers]):
        text, named = re.subn(rf"\b{re.escape(name)}\b", ",", text)
        if named and canonical_name(name) != canonical_name(statement.speaker):
            objects.append(KeyPhrase(name, canonical_name(name)))
    objects += key_phrases(text)
    if not objects:
        objects.append(KeyPhrase(statement.text, canonical_name(statement.text)))
    return [
        TripletDraft(
            statement.speaker, RELATION, phrase.text, statement.text, source_turns,
            origin="annotation", made_by=MADE_BY, object_key=phrase.key,
        )
        for phrase in objects
    ]  # fmt: skip


def _shared_out(summary: Sequence[str], segments: Sequence[Sequence[Turn]]) -> list[str]:
    """Each segment's sentences of a session's summary, by the words they share, over the root of the segment's length."""
    words = [Counter(terms(" ".join(f"{turn.speaker} {turn.text}" for turn in turns))) for turns in segments]
    lengths = [max(1, sum(count.values())) ** 0.5 for count in words]
    given: list[list[str]] = [[] for _ in segments]
    for sentence in summary:
        own = set(terms(sentence))
        shares = [sum(term in count for term in own) / length for count, length in zip(words, lengths, strict=True)]
        if shares and max(shares) > 0:
            given[int(np.argmax(shares))].append(sentence)
    return [" ".join(part) for part in given]
