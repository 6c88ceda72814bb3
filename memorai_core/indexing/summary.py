"""The segment summary (§3.1, C.3): what all turns of a segment were about, the dropped ones included."""

import numpy as np

from memorai_core.flow import Flow, Prompt, ask
from memorai_core.indexing import extractive
from memorai_core.indexing.outcome import Outcome, refused
from memorai_core.prompts import Passage, load
from memorai_core.replies import Paragraph, Rejected, ReplyModel

_TEMPLATE = load("summary", "conversation")


class SummaryReply(ReplyModel):
    """A segment in a few sentences."""

    summary: Paragraph


def summary_prompt(passage: Passage) -> Prompt:
    """Asks for a summary of a segment."""
    return Prompt(_TEMPLATE.fill(conversation=passage.rendered()), _TEMPLATE.name, _TEMPLATE.version, SummaryReply, len(passage.turns))


def summarise(passage: Passage, turn_vectors: np.ndarray) -> Flow[Outcome[str]]:
    """The summary of a segment; `turn_vectors` is (turns, dimension)."""
    prompt = summary_prompt(passage)
    (reply,) = yield from ask([prompt], SummaryReply)
    if isinstance(reply, Rejected):
        return Outcome(extractive.summarise(passage.turns, turn_vectors), "extractive", refused(prompt.name, reply))
    return Outcome(reply.summary, prompt.made_by, refused(prompt.name, reply))
