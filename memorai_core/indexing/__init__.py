"""The write path, §3.1-3.2: a stretch of a session becomes segments with summaries, triplets and entities."""

from dataclasses import replace

import numpy as np

from memorai_core.flow import Flow
from memorai_core.indexing.sentences import with_sentences
from memorai_core.models import SessionMemory, SessionTail, Turn
from memorai_core.protocols import SessionAnalyzer


def turn_text(turn: Turn) -> str:
    """What stands for a turn when it is embedded; empty where it has no words to stand for."""
    return f"{turn.speaker}: {turn.text}" if turn.text.strip() else ""


def index_session(
    tail: SessionTail, turn_vectors: np.ndarray, analyzer: SessionAnalyzer, *, sentence_layer: bool = True
) -> Flow[SessionMemory]:
    """What is derived from a stretch of a session: the analyzer's segments, checked, with the sentence layer on top.

    `turn_vectors` is (turns, dimension), rows of length 1, or 0 for a turn without text.
    Raises ValueError where the analyzer loses, repeats or reorders a turn, cites one that it may not, or leaves a name or a
    description blank.
    """
    memory = yield from analyzer.analyze(tail, turn_vectors)
    _check(tail, memory)
    if sentence_layer:
        turns = {turn.turn_id: turn for turn in tail.turns}
        segments = tuple(with_sentences(segment, [turns[turn_id] for turn_id in segment.turn_ids]) for segment in memory.segments)
        memory = replace(memory, segments=segments)
    return memory


def _check(tail: SessionTail, memory: SessionMemory) -> None:
    held = [turn_id for segment in memory.segments for turn_id in segment.turn_ids]
    if held != [turn.turn_id for turn in tail.turns]:
        raise ValueError(f"the analyzer's segments of session {tail.session_id!r} do not hold its turns, each once and in order")
    for segment in memory.segments:
        own = frozenset(segment.turn_ids)
        if not segment.kept <= own:
            raise ValueError(f"the analyzer kept turns {sorted(segment.kept - own)} that are not of their segment")
        for triplet in segment.triplets:
            if not triplet.source_turns or not segment.kept.issuperset(triplet.source_turns):
                raise ValueError(f"a triplet must cite kept turns of its own segment, not {triplet.source_turns!r}")
            if not all(part.strip() for part in (triplet.subject, triplet.object, triplet.description)):
                raise ValueError(f"a triplet's subject, object and description must not be blank: {triplet}")
        for entity in segment.entities:
            if not entity.turn_ids or not own.issuperset(entity.turn_ids):
                raise ValueError(f"an entity must cite turns of its own segment, not {entity.turn_ids!r}")
            if not all(part.strip() for part in (entity.name, entity.description)):
                raise ValueError(f"an entity's name and description must not be blank: {entity}")
