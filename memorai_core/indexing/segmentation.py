"""Segmentation (§3.1, C.1): where the topics of a session change."""

from typing import Annotated, Final

import numpy as np
from pydantic import Field

from memorai_core.flow import Flow, Prompt, ask
from memorai_core.indexing import extractive
from memorai_core.indexing.outcome import Outcome, refused
from memorai_core.prompts import Passage, load
from memorai_core.replies import Rejected, ReplyModel, TurnNumbers

TURN_CHARACTERS: Final = 400
"""Characters of a turn that are shown: its beginning and its end tell the topic."""

_TEMPLATE = load("segmentation", "conversation")


class SegmentationReply(ReplyModel):
    """The turns at which segments begin. Since a segment ends where the next begins, none can overlap and no turn is lost."""

    starts: Annotated[TurnNumbers, Field(min_length=1)]


def segmentation_prompt(passage: Passage) -> Prompt:
    """Asks at which turns of a stretch of a session segments begin."""
    text = _TEMPLATE.fill(conversation=passage.rendered(turn_characters=TURN_CHARACTERS))
    return Prompt(text, _TEMPLATE.name, _TEMPLATE.version, SegmentationReply, len(passage.turns))


def segment(passage: Passage, turn_vectors: np.ndarray) -> Flow[Outcome[list[int]]]:
    """Indices of the turns at which segments begin, the first 0; `turn_vectors` is (turns, dimension)."""
    if len(passage.turns) == 1:
        return Outcome([0], _TEMPLATE.name)
    prompt = segmentation_prompt(passage)
    (reply,) = yield from ask([prompt], SegmentationReply)
    if isinstance(reply, Rejected):
        return Outcome(extractive.segment_starts(passage.turns, turn_vectors), "extractive", refused(prompt.name, reply))
    return Outcome(sorted({0, *(start - 1 for start in reply.starts)}), prompt.made_by, refused(prompt.name, reply))
