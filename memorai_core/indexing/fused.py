"""Gate, summary, triplets and entities of a segment in one call: the paper's steps at well under half their tokens (ours)."""

from dataclasses import dataclass

import numpy as np

from memorai_core.flow import Flow, Prompt, ask
from memorai_core.indexing import extractive
from memorai_core.indexing.entities import Entities, EntitiesReply, EntityReply, entity_drafts
from memorai_core.indexing.gate import GateReply, kept_turns
from memorai_core.indexing.grounding import Ground
from memorai_core.indexing.outcome import Outcome, refused, total
from memorai_core.indexing.summary import SummaryReply
from memorai_core.indexing.triplets import TripletReply, Triplets, TripletsReply, triplet_drafts
from memorai_core.models import SegmentMemory
from memorai_core.prompts import Passage, load
from memorai_core.replies import Paragraph, Rejected, ReplyModel, TurnNumbers, read_reply

_TEMPLATE = load("fused", "conversation")


class FusedReply(ReplyModel):
    """All that is derived from a segment, in the order in which it is best thought of."""

    kept: TurnNumbers
    summary: Paragraph
    triplets: Triplets
    entities: Entities


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a reply; None where one does not fit."""

    kept: list[int] | None
    summary: str | None
    triplets: list[TripletReply]
    entities: list[EntityReply]


def fused_prompt(passage: Passage) -> Prompt:
    """Asks for all that is to be derived from a segment."""
    return Prompt(_TEMPLATE.fill(conversation=passage.rendered()), _TEMPLATE.name, _TEMPLATE.version, FusedReply, len(passage.turns))


def remember(passage: Passage, turn_vectors: np.ndarray, *, gate: bool = True) -> Flow[Outcome[SegmentMemory]]:
    """A segment's memory; each part of a rejected reply that still fits is taken, the others are derived extractively."""
    prompt = fused_prompt(passage)
    (reply,) = yield from ask([prompt], FusedReply)
    parts = _salvaged(reply, prompt) if isinstance(reply, Rejected) else _Parts(reply.kept, reply.summary, reply.triplets, reply.entities)
    kept = extractive.gate(passage.turns) if parts.kept is None else kept_turns(passage, parts.kept)
    if not gate:
        kept = kept_turns(passage, range(1, len(passage.turns) + 1))
    ground = Ground(passage)
    triplets, wrong_triplets = triplet_drafts(parts.triplets, ground, kept, prompt.made_by)
    entities, wrong_entities = entity_drafts(parts.entities, ground, kept)
    memory = SegmentMemory(
        turn_ids=passage.ids,
        kept=kept,
        summary=extractive.summarise(passage.turns, turn_vectors) if parts.summary is None else parts.summary,
        triplets=triplets,
        entities=entities,
        made_by="extractive" if parts.summary is None else prompt.made_by,
    )
    return Outcome(memory, prompt.made_by, refused(prompt.name, reply, total([wrong_triplets, wrong_entities])))


def _salvaged(rejected: Rejected, prompt: Prompt) -> _Parts:
    gate = read_reply(rejected.text, GateReply, cites=prompt.cites)
    summary = read_reply(rejected.text, SummaryReply, cites=prompt.cites)
    triplets = read_reply(rejected.text, TripletsReply, cites=prompt.cites)
    entities = read_reply(rejected.text, EntitiesReply, cites=prompt.cites)
    return _Parts(
        None if isinstance(gate, Rejected) else gate.kept,
        None if isinstance(summary, Rejected) else summary.summary,
        [] if isinstance(triplets, Rejected) else triplets.triplets,
        [] if isinstance(entities, Rejected) else entities.entities,
    )
