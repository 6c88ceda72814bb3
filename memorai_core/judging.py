"""A chat model as judge of answers (C.7), for the benchmark."""

from memorai_core.flow import Flow, Prompt, ask
from memorai_core.markup import escape
from memorai_core.prompts import load
from memorai_core.replies import Rejected, ReplyModel, Sentence

_TEMPLATE = load("judge", "question", "reference", "response")


class JudgeReply(ReplyModel):
    """Whether a response is right; the reason is asked for first, so that it is thought of first."""

    reason: Sentence
    right: bool


def judge_prompt(question: str, reference: str, response: str) -> Prompt:
    """Asks whether a response says what the reference answer says."""
    text = _TEMPLATE.fill(question=escape(question), reference=escape(reference), response=escape(response))
    return Prompt(text, _TEMPLATE.name, _TEMPLATE.version, JudgeReply)


def judge_flow(question: str, reference: str, response: str) -> Flow[JudgeReply | Rejected]:
    """The judgement of a response, or why there is none."""
    (reply,) = yield from ask([judge_prompt(question, reference, response)], JudgeReply)
    return reply
