"""Triplets with provenance (§3.2, C.6): who does what with whom, and which turns say so."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from memorai_core.flow import Flow, Prompt, ask
from memorai_core.identity import canonical_name
from memorai_core.indexing.grounding import Ground
from memorai_core.indexing.outcome import Outcome, refused
from memorai_core.models import TripletDraft
from memorai_core.prompts import Passage, load
from memorai_core.replies import Name, Rejected, ReplyModel, Sentence, TurnNumbers, UpTo

_TEMPLATE = load("triplets", "conversation")


class TripletReply(ReplyModel):
    """One triplet. Its turns come last, so that one that was cut off in writing has none and does not fit."""

    subject: Name
    relation: Name
    object: Name
    description: Sentence
    turns: Annotated[TurnNumbers, Field(min_length=1)]


Triplets = Annotated[list[TripletReply], UpTo(64)]


class TripletsReply(ReplyModel):
    """The triplets of a segment; there may be none."""

    triplets: Triplets


def triplets_prompt(passage: Passage, kept: frozenset[str]) -> Prompt:
    """Asks for the triplets of a segment's kept turns; the others are shown without a number, as context."""
    text = _TEMPLATE.fill(conversation=passage.rendered(numbered=kept))
    return Prompt(text, _TEMPLATE.name, _TEMPLATE.version, TripletsReply, len(passage.turns))


def extract(passage: Passage, kept: frozenset[str]) -> Flow[Outcome[tuple[TripletDraft, ...]]]:
    """The triplets of a segment's kept turns; none where the reply is rejected, for the sentence layer covers them."""
    prompt = triplets_prompt(passage, kept)
    (reply,) = yield from ask([prompt], TripletsReply)
    if isinstance(reply, Rejected):
        return Outcome((), "extractive", refused(prompt.name, reply))
    drafts, wrong = triplet_drafts(reply.triplets, Ground(passage), kept, prompt.made_by)
    return Outcome(drafts, prompt.made_by, refused(prompt.name, reply, wrong))


def triplet_drafts(
    replies: Sequence[TripletReply], ground: Ground, kept: frozenset[str], made_by: str
) -> tuple[tuple[TripletDraft, ...], Mapping[str, int]]:
    """Triplets as drafts, and how many were refused, by kind.

    "not_kept" rest on dropped turns alone, "ungrounded" have an end that is not in their turns, "of_itself" have one end twice. Of
    triplets that say the same, the first's description stands, with the turns of all.
    """
    wrong = Counter[str]()
    drafts: dict[tuple[str, ...], TripletDraft] = {}
    for reply in replies:
        source_turns = tuple(turn_id for turn_id in ground.passage.turn_ids(reply.turns) if turn_id in kept)
        if not source_turns:
            wrong["not_kept"] += 1
            continue
        subject, object_ = ground.resolved(reply.subject, source_turns), ground.resolved(reply.object, source_turns)
        if not (ground.holds(subject, source_turns) and ground.holds(object_, source_turns)):
            wrong["ungrounded"] += 1
            continue
        says = (canonical_name(subject), canonical_name(reply.relation), canonical_name(object_))
        if says[0] == says[2]:
            wrong["of_itself"] += 1
            continue
        if earlier := drafts.get(says):
            source_turns = tuple(turn.turn_id for turn in ground.passage.turns if turn.turn_id in {*earlier.source_turns, *source_turns})
        description = earlier.description if earlier else reply.description
        drafts[says] = TripletDraft(subject, reply.relation, object_, description, source_turns, "model", made_by)
    return tuple(drafts.values()), wrong
