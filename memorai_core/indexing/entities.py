"""Entity descriptions (§3.2, C.4): what a segment says of each entity, with the turns that say it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field

from memorai_core.flow import Flow, Prompt, ask
from memorai_core.identity import canonical_name
from memorai_core.indexing.grounding import Ground
from memorai_core.indexing.outcome import Outcome, refused
from memorai_core.markup import escape
from memorai_core.models import EntityDraft, TripletDraft
from memorai_core.prompts import Passage, load
from memorai_core.replies import Name, Rejected, ReplyModel, Sentence, TurnNumbers, UpTo

NAMES: Final = 60
"""Names that a prompt lists at most."""

_TEMPLATE = load("entities", "conversation", "names")


class EntityReply(ReplyModel):
    """One entity. Its turns come last, so that one that was cut off in writing has none and does not fit."""

    name: Name
    description: Sentence
    turns: Annotated[TurnNumbers, Field(min_length=1)]


Entities = Annotated[list[EntityReply], UpTo(64)]


class EntitiesReply(ReplyModel):
    """The entities of a segment; there may be none."""

    entities: Entities


def entities_prompt(passage: Passage, kept: frozenset[str], names: Sequence[str]) -> Prompt:
    """Asks for descriptions of the entities of a segment's kept turns; `names` are those that its triplets use."""
    listed = "\n".join(escape(name) for name in names[:NAMES]) or "(none)"
    text = _TEMPLATE.fill(conversation=passage.rendered(numbered=kept), names=listed)
    return Prompt(text, _TEMPLATE.name, _TEMPLATE.version, EntitiesReply, len(passage.turns))


def describe(passage: Passage, kept: frozenset[str], triplets: Iterable[TripletDraft]) -> Flow[Outcome[tuple[EntityDraft, ...]]]:
    """What a segment's kept turns say of each entity; nothing where the reply is rejected."""
    names = list(dict.fromkeys(name for triplet in triplets for name in (triplet.subject, triplet.object)))
    prompt = entities_prompt(passage, kept, names)
    (reply,) = yield from ask([prompt], EntitiesReply)
    if isinstance(reply, Rejected):
        return Outcome((), "extractive", refused(prompt.name, reply))
    drafts, wrong = entity_drafts(reply.entities, Ground(passage), kept)
    return Outcome(drafts, prompt.made_by, refused(prompt.name, reply, wrong))


def entity_drafts(
    replies: Sequence[EntityReply], ground: Ground, kept: frozenset[str]
) -> tuple[tuple[EntityDraft, ...], Mapping[str, int]]:
    """Entities as drafts, each name once, and how many were refused, by kind: "not_kept", "ungrounded".

    One description per entity and segment: what was said of it twice is put together.
    """
    wrong = Counter[str]()
    drafts: dict[str, EntityDraft] = {}
    for reply in replies:
        turn_ids = tuple(turn_id for turn_id in ground.passage.turn_ids(reply.turns) if turn_id in kept)
        name = ground.resolved(reply.name, turn_ids)
        if not turn_ids or not ground.holds(name, turn_ids):
            wrong["ungrounded" if turn_ids else "not_kept"] += 1
            continue
        drafts[canonical_name(name)] = _merged(
            drafts.get(canonical_name(name)), EntityDraft(name, reply.description, turn_ids), ground.passage
        )
    return tuple(drafts.values()), wrong


def _merged(earlier: EntityDraft | None, draft: EntityDraft, passage: Passage) -> EntityDraft:
    if earlier is None:
        return draft
    description = earlier.description
    if draft.description not in description:
        description = f"{description} {draft.description}"
    cited = {*earlier.turn_ids, *draft.turn_ids}
    return EntityDraft(earlier.name, description, tuple(turn.turn_id for turn in passage.turns if turn.turn_id in cited))
