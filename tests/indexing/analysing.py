"""How tests of the prompted analyzer run it, and what must hold whatever a model says."""

from typing import Literal

import pytest
from conversations import vectors

from memorai_core.flow import Usage, run
from memorai_core.indexing import index_session
from memorai_core.indexing.prompted import PromptedAnalyzer
from memorai_core.models import SessionMemory, SessionTail
from memorai_core.terms import terms
from memorai_core.testing import ScriptedChatModel

Mode = Literal["paper", "fused"]
MODES: tuple[Mode, ...] = ("paper", "fused")
both_modes = pytest.mark.parametrize("mode", MODES)


def analysed(session: SessionTail, model: ScriptedChatModel, mode: Mode, usage: Usage | None = None, **how: object) -> SessionMemory:
    analyzer = PromptedAnalyzer(prompting=mode, **how)
    return run(index_session(session, vectors(session), analyzer, sentence_layer=False), model, usage)


def holds_together(session: SessionTail, memory: SessionMemory) -> None:
    """Every turn is in one segment; triplets and entities rest on kept turns of their own segment; counts are counts."""
    assert [turn_id for segment in memory.segments for turn_id in segment.turn_ids] == [turn.turn_id for turn in session.turns]
    for segment in memory.segments:
        assert segment.turn_ids
        assert segment.kept <= set(segment.turn_ids)
        for triplet in segment.triplets:
            assert triplet.origin == "model"
            assert triplet.source_turns
            assert segment.kept.issuperset(triplet.source_turns)
        for entity in segment.entities:
            assert entity.turn_ids
            assert segment.kept.issuperset(entity.turn_ids)
    assert all(count > 0 for count in memory.rejected.values())


def entities_are_mentioned(session: SessionTail, memory: SessionMemory) -> None:
    """Every turn that an entity's description cites has a word of its name, or is spoken by it."""
    turns = {turn.turn_id: turn for turn in session.turns}
    for entity in (entity for segment in memory.segments for entity in segment.entities):
        for turn_id in entity.turn_ids:
            assert set(terms(entity.name)) & set(terms(f"{turns[turn_id].speaker} {turns[turn_id].text}"))
