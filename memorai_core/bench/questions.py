"""Questions with the messages that answer them, for LoCoMo and LongMemEval."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, Field

from memorai_core.formats import Conversation
from memorai_core.formats.dates import parse_date
from memorai_core.formats.ids import Id, numbered
from memorai_core.formats.longmemeval import DATE_LAYOUT
from memorai_core.formats.records import Record

LOCOMO_CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}
ADVERSARIAL = "5"
TURN_ID = re.compile(r"D:?(\d+):(\d+)")
"""Finds every turn id in an evidence string, also in "D8:6; D9:17", "D:11:26" and "D30:05"."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a data set."""

    question_id: str
    text: str
    category: str
    """LoCoMo: "1" to "5"; LongMemEval: the question type."""
    answer: str | None
    """The reference answer; LoCoMo's adversarial questions may have none."""
    trap: str | None
    """LoCoMo's `adversarial_answer`: what a model says that should have abstained."""
    abstain: bool
    """The right answer is that the conversation does not say."""
    asked_at: datetime | None
    evidence: tuple[str, ...]
    """Ids of the messages that answer it; empty where the question is excluded from recall."""
    answer_sessions: tuple[str, ...] = ()
    """LongMemEval: the sessions that the data set lists as holding the answer, whether or not it marks a message in them."""


class _LocomoQuestion(BaseModel):
    question: str
    category: int
    answer: str | int | float | None = None
    adversarial_answer: str | int | float | None = None
    evidence: list[str] | str | None = None


class _LocomoSample(BaseModel):
    qa: list[_LocomoQuestion] = Field(default_factory=list)


class _HaystackMessage(BaseModel):
    has_answer: bool | None = None


class _Instance(BaseModel):
    question_id: Id
    question_type: str
    question: str
    answer: str | int | float | None = None
    question_date: str | None = None
    answer_session_ids: list[Id] = Field(default_factory=list)
    haystack_session_ids: list[Id]
    haystack_sessions: list[list[_HaystackMessage]]


def locomo_questions(record: Record, conversation: Conversation) -> tuple[Question, ...]:
    """A sample's questions, in its order, named "sample_id/n" from 0."""
    known = message_ids(conversation)
    questions = record.parse(_LocomoSample).qa
    return tuple(
        Question(
            question_id=f"{conversation.user_id}/{place}",
            text=asked.question,
            category=str(asked.category),
            answer=_as_text(asked.answer),
            trap=_as_text(asked.adversarial_answer),
            abstain=str(asked.category) == ADVERSARIAL,
            asked_at=None,
            evidence=parse_evidence([asked.evidence] if isinstance(asked.evidence, str) else asked.evidence or (), known),
        )
        for place, asked in enumerate(questions)
    )


def longmemeval_questions(record: Record, conversation: Conversation) -> tuple[Question, ...]:
    """An instance's one question; its evidence is every message with `has_answer`, by the user or the assistant.

    A question to abstain from (`_abs`) has no evidence, whatever the file marks.
    """
    instance = record.parse(_Instance)
    abstain = instance.question_id.endswith("_abs")
    names = numbered(instance.haystack_session_ids)
    sessions = zip(names, instance.haystack_sessions, strict=True)
    marked = [f"{name}:{place}" for name, messages in sessions for place, message in enumerate(messages) if message.has_answer]
    listed = [name for name, own in zip(names, instance.haystack_session_ids, strict=True) if own in instance.answer_session_ids]
    known = message_ids(conversation)
    held = {session.session_id for session in conversation.sessions}
    question = Question(
        question_id=instance.question_id,
        text=instance.question,
        category=instance.question_type,
        answer=_as_text(instance.answer),
        trap=None,
        abstain=abstain,
        asked_at=parse_date(instance.question_date, DATE_LAYOUT) if instance.question_date else None,
        evidence=() if abstain else tuple(name for name in marked if name in known),
        answer_sessions=() if abstain else tuple(name for name in listed if name in held),
    )
    return (question,)


def parse_evidence(texts: Iterable[str], known: frozenset[str]) -> tuple[str, ...]:
    """LoCoMo's turn ids in evidence strings, once each, leading zeros dropped; ids that name no message are left out."""
    found = (f"D{int(session)}:{int(turn)}" for text in texts for session, turn in TURN_ID.findall(text))
    return tuple(dict.fromkeys(name for name in found if name in known))


def message_ids(conversation: Conversation) -> frozenset[str]:
    """The ids of all of a conversation's messages."""
    return frozenset(message.id for session in conversation.sessions for message in session.messages if message.id)


def _as_text(answer: str | int | float | None) -> str | None:
    return None if answer is None else str(answer)
