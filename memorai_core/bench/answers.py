"""Answers by a chat model from what each system retrieves, with and without triplets (Tables 1, 8 and 13)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from memorai_core.answering import answer_flow
from memorai_core.bench.choice import Choice, Run, open_run
from memorai_core.bench.datasets import Case
from memorai_core.bench.figures import Figures, number
from memorai_core.bench.memory_system import MemorySystem
from memorai_core.bench.metrics import intervals
from memorai_core.bench.questions import Question
from memorai_core.bench.registry import entrants_of
from memorai_core.bench.report import chosen
from memorai_core.bench.runner import Entrant
from memorai_core.bench.systems import Query, System
from memorai_core.bench.units import Layout, lay_out
from memorai_core.bench.wording import token_f1, wording
from memorai_core.errors import ConfigurationError
from memorai_core.flow import run, together
from memorai_core.judging import judge_flow
from memorai_core.models import Answer, Evidence, EvidenceTurn
from memorai_core.protocols import ChatModel
from memorai_core.replies import Rejected
from memorai_core.retrieval.trace import Trace

BATCH = 16
"""Questions put to the chat model at a time."""
NO_ANSWER = "The conversation does not say; the question cannot be answered."
TURNS_ONLY = ", turns only"
WHOLE_HISTORY_TOKENS = 128_000


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with a system's answer."""

    question: Question
    answer: Answer
    right: bool | None
    """What the judge says; None without a judge, or where its reply was refused."""


@dataclass(frozen=True, slots=True)
class Answering:
    """Who answers and who judges, and how much they are shown."""

    chat_model: ChatModel
    judge: ChatModel | None = None
    k: int = 10
    max_tokens: int = 8000
    bertscore: bool = False


def answers(
    choice: Choice, systems: Sequence[str], judge: str | None = None, *, k: int = 10, max_tokens: int = 8000, bertscore: bool = False
) -> Figures:
    """Every system's answers, scored; each of the chosen models answers, and `judge` names the one that judges."""
    if not choice.models:
        raise ConfigurationError("answers need a chat model: name it with --model PROVIDER:NAME")
    wording([], [], bertscore=bertscore)  # tells at once, not after a long run, what is not installed
    with open_run(choice) as opened:
        judging = opened.chat_model(judge) if judge else None
        scored: Figures = {}
        for name, workshop in zip(choice.models, opened.workshops(), strict=True):
            entrants = entrants_of(systems, [workshop])
            answering = Answering(workshop.chat_model or opened.chat_model(name), judging, k, max_tokens, bertscore)
            suffix = f"[{name}]" if len(choice.models) > 1 else ""
            scored |= {system + suffix: one for system, one in answer_all(opened, entrants, answering).items()}
        return {
            "dataset": choice.dataset,
            "data_sha256": opened.dataset.sha256,
            "questions": int(number(next(iter(scored.values()), None), "overall", "questions") or 0),
            "settings": {**opened.settings("answers", entrants), "k": k, "max_tokens": max_tokens, "judge": judge},
            "systems": scored,
        }


def answer_all(opened: Run, entrants: Sequence[Entrant], answering: Answering) -> Figures:
    """The figures by system over a run's data set, of those that know triplets with and without them."""
    asked: dict[str, list[Asked]] = {}
    with opened.progress(len(entrants)) as step:
        for case in opened.dataset.cases(opened.choice.limit):
            layout = lay_out(case.conversation)
            for entrant in entrants:
                for name, found in _of_case(entrant, case, layout, opened, answering):
                    asked.setdefault(name, []).extend(found)
                step(f"{case.conversation.user_id} {entrant.name}")
    return {name: _figures(found, opened.dataset.name, answering) for name, found in asked.items()}


def _of_case(entrant: Entrant, case: Case, layout: Layout, opened: Run, answering: Answering) -> Iterator[tuple[str, list[Asked]]]:
    questions = chosen(case, opened.categories)
    whole = entrant.name.startswith("full-history")
    try:
        entrant.system.index(case, layout)
        queries = [Query(question.text, opened.embedder.query(question.text)[0]) for question in questions]
        evidence = [evidence_for(entrant.system, query, case, layout, len(layout.messages) if whole else answering.k) for query in queries]
    finally:
        entrant.system.close()
    bound = WHOLE_HISTORY_TOKENS if whole else answering.max_tokens
    yield entrant.name, list(_ask(questions, evidence, replace(answering, max_tokens=bound)))
    if isinstance(entrant.system, MemorySystem):
        yield entrant.name + TURNS_ONLY, list(_ask(questions, [turns_only(one) for one in evidence], answering))


def evidence_for(system: System, query: Query, case: Case, layout: Layout, k: int) -> Evidence:
    """A system's k best turns as evidence; only memorai's own has triplets and summaries."""
    if isinstance(system, MemorySystem):
        return system.retrieve(query, k)
    sessions = [session for session in case.conversation.sessions for _ in session.messages]
    first = {session.session_id: layout.of["session"].tolist().index(number) for number, session in enumerate(case.conversation.sessions)}
    turns = []
    for rank, place in enumerate(system.rank(query, "utterance", k)[:k]):
        message, session_id = layout.messages[place], sessions[place].session_id
        turns.append(
            EvidenceTurn(
                turn_id=str(place),
                source_id=message.id,
                session_id=session_id,
                segment_id=None,
                position=place - first[session_id],
                role=message.role,
                speaker=message.name or message.role,
                text=message.text,
                timestamp=message.timestamp,
                timestamp_inferred=message.timestamp is None,
                kept=None,
                score=1.0 / (1 + rank),
                filled=False,
            )
        )
    return Evidence(query.text, case.conversation.user_id, tuple(turns), (), (), NO_TRACE)


def turns_only(evidence: Evidence) -> Evidence:
    """Evidence without its triplets."""
    return replace(evidence, triplets=(), turns=tuple(replace(turn, triplets=()) for turn in evidence.turns))


def _ask(questions: Sequence[Question], evidence: Sequence[Evidence], answering: Answering) -> Iterator[Asked]:
    pairs = iter(zip(questions, evidence, strict=True))
    while batch := list(islice(pairs, BATCH)):
        flows = [answer_flow(found, question.text, now=question.asked_at, max_tokens=answering.max_tokens) for question, found in batch]
        given = run(together(flows), answering.chat_model)
        rights: list[bool | None] = [None] * len(batch)
        if answering.judge:
            flows_of_judge = [
                judge_flow(question.text, reference(question), answer.text) for (question, _), answer in zip(batch, given, strict=True)
            ]
            judged = run(together(flows_of_judge), answering.judge)
            rights = [None if isinstance(one, Rejected) else one.right for one in judged]
        yield from (Asked(question, answer, right) for (question, _), answer, right in zip(batch, given, rights, strict=True))


def reference(question: Question) -> str:
    """What a right response says; for a question to abstain from, that it cannot be answered."""
    return question.answer or NO_ANSWER


def _figures(asked: Sequence[Asked], dataset: str, answering: Answering) -> Figures:
    rows = _rows(asked, bertscore=answering.bertscore)
    groups = {category: [category] for category in sorted({one.question.category for one in asked})}
    if dataset == "locomo" and {"1", "2", "3", "4"} & set(groups):
        groups["1-4"] = ["1", "2", "3", "4"]
    return {
        "overall": _means(rows),
        "by_category": {
            name: _means([row for one, row in zip(asked, rows, strict=True) if one.question.category in members])
            for name, members in groups.items()
        },
        "answers": [
            {
                "question_id": one.question.question_id,
                "response": one.answer.text,
                "abstained": one.answer.abstained,
                "right": None if one.right is None else int(one.right),
            }
            for one in asked
        ],
    }


def _rows(asked: Sequence[Asked], *, bertscore: bool) -> list[dict[str, float]]:
    """Each question's figures; words are compared only where there is an answer to compare with."""
    answerable = [one for one in asked if not one.question.abstain and one.question.answer]
    words = iter(wording([one.answer.text for one in answerable], [reference(one.question) for one in answerable], bertscore=bertscore))
    rows = []
    for one in asked:
        row = {"abstained": 100.0 * one.answer.abstained}
        if one.right is not None:
            row["judge"] = 100.0 * one.right
        if one.question.trap:
            row["trap_f1"] = token_f1(one.answer.text, one.question.trap)
        rows.append(row | (next(words) if not one.question.abstain and one.question.answer else {}))
    return rows


def _means(rows: Sequence[Mapping[str, float]]) -> Figures:
    figures: Figures = {"questions": len(rows)}
    for name in sorted({name for row in rows for name in row}):
        values = np.array([row[name] for row in rows if name in row])
        low, high = intervals(values)
        figures[name] = round(float(values.mean()), 2)
        figures[f"{name}_interval"] = [round(float(low), 2), round(float(high), 2)]
    return figures


_NOTHING = np.zeros(0)
NO_TRACE = Trace(_NOTHING, 0, 0, _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, 0.0, 0)
"""Of evidence that no graph was walked for."""
