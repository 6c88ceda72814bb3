"""The paper's pipeline with a chat model (§3.1-3.2, appendix C), as one flow for a stretch of a session."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np

from memorai_core.flow import Flow, both, settled, together
from memorai_core.indexing import fused
from memorai_core.indexing.entities import describe
from memorai_core.indexing.gate import choose, kept_turns
from memorai_core.indexing.outcome import Outcome, total
from memorai_core.indexing.segmentation import segment
from memorai_core.indexing.summary import summarise
from memorai_core.indexing.triplets import extract
from memorai_core.models import EntityDraft, SegmentMemory, SessionMemory, SessionTail, TripletDraft, Turn
from memorai_core.prompts import Passage
from memorai_core.prompts.passage import TURN_CHARACTERS

CONTEXT_TURNS: Final = 3
"""Turns before a segment that a prompt shows as context."""


class PromptedAnalyzer:
    """Segments, gate, summaries, triplets and entities by a chat model.

    A long session is worked through stretch by stretch, so that no prompt grows with it; `stretch_turns` and
    `stretch_characters` are how much conversation a prompt shows, to be lowered for a model with a small context. No segment
    is longer than a stretch, whatever `segmentation` says.
    """

    def __init__(
        self,
        *,
        prompting: Literal["paper", "fused"] = "fused",
        segmentation: Literal["topical", "session", "turn"] = "topical",
        gate: bool = True,
        stretch_turns: int = 60,
        stretch_characters: int = 24_000,
    ) -> None:
        self.prompting = prompting
        self.segmentation = segmentation
        self.gate = gate
        self.stretch_turns = stretch_turns
        self.stretch_characters = stretch_characters
        self.turn_characters = min(TURN_CHARACTERS, stretch_characters)

    def analyze(self, session: SessionTail, turn_vectors: np.ndarray) -> Flow[SessionMemory]:
        """A flow that asks for segments, and then for the memory of all of them at once.

        `turn_vectors` is (turns, dimension), rows of length 1 or 0; they serve where a reply is rejected.
        """
        starts, rejected = yield from self._starts(session, turn_vectors)
        spans = list(zip(starts, [*starts[1:], len(session.turns)], strict=True))
        outcomes = yield from together(
            [self._remember(_passage(session, *span, self.turn_characters), turn_vectors[slice(*span)]) for span in spans]
        )
        memories = tuple(outcome.value for outcome in outcomes)
        return SessionMemory(memories, total([rejected, *(outcome.rejected for outcome in outcomes)]))

    def _starts(self, session: SessionTail, vectors: np.ndarray) -> Flow[tuple[list[int], Mapping[str, int]]]:
        """Where segments begin. A stretch's last segment is cut anew with the next stretch, unless it fills most of its own."""
        starts: list[int] = []
        rejected: list[Mapping[str, int]] = []
        start = 0
        while start < len(session.turns):
            end = self._stretch_end(session.turns, start)
            found = yield from self._segment(_passage(session, start, end, self.turn_characters), vectors[start:end])
            rejected.append(found.rejected)
            places = [start + index for index in found.value]
            if end < len(session.turns) and 2 * (places[-1] - start) >= end - start:
                end = places.pop()
            starts += places
            start = end
        return starts, total(rejected)

    def _segment(self, passage: Passage, vectors: np.ndarray) -> Flow[Outcome[list[int]]]:
        if self.segmentation == "topical":
            return (yield from segment(passage, vectors))
        return Outcome([0] if self.segmentation == "session" else list(range(len(passage.turns))), self.segmentation)

    def _stretch_end(self, turns: Sequence[Turn], start: int) -> int:
        characters = 0
        for place in range(start, len(turns)):
            characters += min(len(turns[place].text), self.turn_characters)
            if place > start and (place - start >= self.stretch_turns or characters > self.stretch_characters):
                return place
        return len(turns)

    def _remember(self, passage: Passage, vectors: np.ndarray) -> Flow[Outcome[SegmentMemory]]:
        if not any(turn.text.strip() for turn in passage.turns):
            return Outcome(SegmentMemory(passage.ids, frozenset(), ""), "extractive")
        if self.prompting == "fused":
            return (yield from fused.remember(passage, vectors, gate=self.gate))
        return (yield from _step_by_step(passage, vectors, gate=self.gate))


def _passage(session: SessionTail, start: int, end: int, turn_characters: int) -> Passage:
    before = (*session.context, *session.turns[:start])[-CONTEXT_TURNS:]
    return Passage(session.turns[start:end], before, turn_characters)


def _step_by_step(passage: Passage, vectors: np.ndarray, *, gate: bool) -> Flow[Outcome[SegmentMemory]]:
    """One call a step, as in appendix C; entities come last, so that they bear the names that the triplets use."""
    everything = kept_turns(passage, range(1, len(passage.turns) + 1))
    kept, summary = yield from both(choose(passage) if gate else settled(Outcome(everything, "everything")), summarise(passage, vectors))
    triplets: Outcome[tuple[TripletDraft, ...]] = Outcome((), "extractive")
    entities: Outcome[tuple[EntityDraft, ...]] = Outcome((), "extractive")
    if kept.value:
        triplets = yield from extract(passage, kept.value)
        entities = yield from describe(passage, kept.value, triplets.value)
    memory = SegmentMemory(passage.ids, kept.value, summary.value, triplets.value, entities.value, summary.made_by)
    return Outcome(memory, summary.made_by, total([step.rejected for step in (kept, summary, triplets, entities)]))
