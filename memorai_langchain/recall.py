"""Evidence for a query as text for a prompt, as documents, and without what the conversation shows anyway."""

from collections.abc import Collection
from dataclasses import replace

from langchain_core.documents import Document

from memorai_core import Evidence, EvidenceTurn, Memory, Triplet, UnknownSessionError, UnknownUserError, render_prompt

MOST_IN_SIGHT = 100
"""At most so many turns more than k are asked for, to have k left when those in sight are left out."""


def recall(
    memory: Memory, query: str, *, user_id: str, k: int, session_id: str | None = None, in_sight: Collection[tuple[str, str]] = ()
) -> Evidence | None:
    """The k turns that bear most on a query; None where it is blank or nothing is stored of the user or session yet.

    `in_sight` are (session id, source id) of turns that the conversation still shows, which are left out.
    """
    best = None
    try:
        for asked in _attempts(query, k, in_sight):
            found = memory.retrieve(query, user_id=user_id, k=asked, session_id=session_id)
            best = _best(found, k, in_sight)
            if len(best.turns) == k or len(found.turns) < asked:
                break
    except (UnknownUserError, UnknownSessionError):
        pass
    return best


async def arecall(
    memory: Memory, query: str, *, user_id: str, k: int, session_id: str | None = None, in_sight: Collection[tuple[str, str]] = ()
) -> Evidence | None:
    """`recall`, without blocking the event loop."""
    best = None
    try:
        for asked in _attempts(query, k, in_sight):
            found = await memory.aretrieve(query, user_id=user_id, k=asked, session_id=session_id)
            best = _best(found, k, in_sight)
            if len(best.turns) == k or len(found.turns) < asked:
                break
    except (UnknownUserError, UnknownSessionError):
        pass
    return best


def memory_text(evidence: Evidence | None, max_tokens: int | None = None) -> str:
    """What a chat model is told of the evidence; "" where there is none."""
    return render_prompt(evidence, None, max_tokens=max_tokens) if evidence and evidence.turns else ""


def documents(evidence: Evidence | None) -> list[Document]:
    """One document a turn, best first: the turn's own words, and the rest as metadata of plain JSON."""
    if evidence is None:
        return []
    return [Document(id=turn.turn_id, page_content=turn.text, metadata=_metadata(turn)) for turn in evidence.turns]


def _metadata(turn: EvidenceTurn) -> dict[str, object]:
    return {
        "turn_id": turn.turn_id,
        "source_id": turn.source_id,
        "session_id": turn.session_id,
        "segment_id": turn.segment_id,
        "position": turn.position,
        "role": turn.role,
        "speaker": turn.speaker,
        "timestamp": turn.timestamp.isoformat() if turn.timestamp else None,
        "score": turn.score,
        "triplets": [_triplet(triplet) for triplet in turn.triplets],
    }


def _triplet(triplet: Triplet) -> dict[str, object]:
    return {
        "triplet_id": triplet.triplet_id,
        "subject": triplet.subject,
        "relation": triplet.relation,
        "object": triplet.object,
        "description": triplet.description,
        "source_turns": list(triplet.source_turns),
        "origin": triplet.origin,
    }


def _attempts(query: str, k: int, in_sight: Collection[object]) -> list[int]:
    """How many turns to ask for: first some more than k, then, where too many of those are in sight, many more."""
    if not query.strip():
        return []
    few, many = (k + min(len(in_sight), most) for most in (k, MOST_IN_SIGHT))
    return [few, many] if many > few else [few]


def _best(found: Evidence, k: int, in_sight: Collection[tuple[str, str]]) -> Evidence:
    """The evidence with its k best turns that are not in sight, and what belongs to them."""
    if not in_sight:
        return found
    turns = tuple(turn for turn in found.turns if (turn.session_id, turn.source_id) not in in_sight)[:k]
    segments = {turn.segment_id for turn in turns}
    triplets = {triplet.triplet_id: triplet for turn in turns for triplet in turn.triplets}
    return replace(
        found,
        turns=turns,
        triplets=tuple(triplets.values()),
        segments=tuple(segment for segment in found.segments if segment.segment_id in segments),
    )
