"""Answers from evidence, with checked citations (§3.3.2, C.5)."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from memorai_core.flow import Flow, Prompt
from memorai_core.markup import escape, quoteattr
from memorai_core.models import Answer, Evidence, Message
from memorai_core.prompts import load
from memorai_core.prompts.passage import shortened, written_date
from memorai_core.rendering import render_prompt
from memorai_core.replies import without_thinking

__all__ = ["answer_flow", "answer_prompt", "render_prompt"]

EVIDENCE_TOKENS: Final = 8000
"""Tokens of evidence and question that are shown, unless told otherwise."""
HISTORY_MESSAGES: Final = 12
HISTORY_CHARACTERS: Final = 1500
"""The latest messages of the conversation at hand that are shown, and the characters of each."""
NOTHING_REMEMBERED: Final = "Nothing is remembered that answers this."

_TEMPLATE = load("answer", "memory", "history", "now")
_ABSTAINS = re.compile(r"[\s\"'`*(]*(?:\[\s*none\s*\]|none[\s\"'`*.)]*\Z)[\s\"'`*:.)-]*", re.IGNORECASE)
_CITATION = re.compile(r"\[\s*(?:turns?\s*)?(\d{1,4}(?:\s*(?:,|;|-|–|and)\s*\d{1,4})*)\s*\]")
_RANGE = re.compile(r"(\d+)(?:\s*[-–]\s*(\d+))?")
_SHOWN = re.compile(r'^<turn n="(\d+)"', re.MULTILINE)


def answer_prompt(
    evidence: Evidence,
    question: str,
    history: Sequence[Message] = (),
    now: datetime | None = None,
    *,
    max_tokens: int = EVIDENCE_TOKENS,
    count_tokens: Callable[[str], int] | None = None,
) -> Prompt:
    """Asks for an answer that cites the evidence by number; `history` is the conversation at hand, oldest first.

    Raises ConfigurationError where `max_tokens` holds not even the question.
    """
    said = [
        f"<message by={quoteattr((message.name or message.role)[:80])}>{escape(shortened(message.text, HISTORY_CHARACTERS))}</message>"
        for message in history[-HISTORY_MESSAGES:]
    ]
    text = _TEMPLATE.fill(
        memory=render_prompt(evidence, question, max_tokens=max_tokens, count_tokens=count_tokens),
        history="\n".join(said) or "(none)",
        now=written_date(now) if now else "(unknown)",
    )
    return Prompt(text, _TEMPLATE.name, _TEMPLATE.version, cites=len(evidence.turns))


def answer_flow(
    evidence: Evidence,
    question: str,
    history: Sequence[Message] = (),
    now: datetime | None = None,
    *,
    max_tokens: int = EVIDENCE_TOKENS,
    count_tokens: Callable[[str], int] | None = None,
) -> Flow[Answer]:
    """The answer, with the turns that it cites; it abstains where the evidence does not hold it.

    A turn that was left out of the prompt for want of room cannot be cited: its number is as unknown as any other.

    Without any evidence or history there is nothing to answer from, and no model is asked.
    """
    if not evidence.turns and not history:
        return Answer(NOTHING_REMEMBERED, evidence, abstained=True)
    prompt = answer_prompt(evidence, question, history, now, max_tokens=max_tokens, count_tokens=count_tokens)
    shown = {int(number) for number in _SHOWN.findall(prompt.text)}.intersection(range(1, len(evidence.turns) + 1))
    (reply,) = yield [prompt]
    text = without_thinking(reply.text)
    refusal = _ABSTAINS.match(text)
    if refusal or not text:
        text = text[refusal.end() :].strip() if refusal else ""
    numbers = cited_numbers(text)
    return Answer(
        text=text or NOTHING_REMEMBERED,
        evidence=evidence,
        citations=tuple(evidence.turns[number - 1].turn_id for number in numbers if number in shown),
        unknown_citations=tuple(number for number in numbers if number not in shown),
        abstained=not text or refusal is not None,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
    )


def cited_numbers(text: str) -> list[int]:
    """The numbers in square brackets, each once, in the order in which they are first cited: "[2][5]", "[2, 5]", "[2-4]"."""
    numbers: dict[int, None] = {}
    for citation in _CITATION.finditer(text):
        for first, last in _RANGE.findall(citation[1]):
            numbers.update(dict.fromkeys(range(int(first), min(int(last or first), int(first) + 20) + 1)))
    return list(numbers)
