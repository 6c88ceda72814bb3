"""The memory gate (§3.1, C.2): which turns of a segment are kept."""

from collections.abc import Sequence

from memorai_core.flow import Flow, Prompt, ask
from memorai_core.indexing import extractive
from memorai_core.indexing.outcome import Outcome, refused
from memorai_core.prompts import Passage, load
from memorai_core.replies import Rejected, ReplyModel, TurnNumbers

_TEMPLATE = load("gate", "conversation")


class GateReply(ReplyModel):
    """The turns to keep; there may be none."""

    kept: TurnNumbers


def gate_prompt(passage: Passage) -> Prompt:
    """Asks which turns of a segment tell something of the people in it."""
    return Prompt(_TEMPLATE.fill(conversation=passage.rendered()), _TEMPLATE.name, _TEMPLATE.version, GateReply, len(passage.turns))


def choose(passage: Passage) -> Flow[Outcome[frozenset[str]]]:
    """The ids of the turns that the memory gate keeps."""
    prompt = gate_prompt(passage)
    (reply,) = yield from ask([prompt], GateReply)
    if isinstance(reply, Rejected):
        return Outcome(extractive.gate(passage.turns), "extractive", refused(prompt.name, reply))
    return Outcome(kept_turns(passage, reply.kept), prompt.made_by, refused(prompt.name, reply))


def kept_turns(passage: Passage, numbers: Sequence[int]) -> frozenset[str]:
    """The ids of turns chosen by number; a turn without words bears nothing, so it is never kept."""
    chosen = frozenset(passage.turn_ids(numbers))
    return frozenset(turn.turn_id for turn in passage.turns if turn.turn_id in chosen and turn.text.strip())
