"""Sections 3.1 without a language model: segmentation, gate and summary as pure, deterministic functions.

Triplets and entities are the sentence layer's (`indexing.sentences`), which follows every analyzer. The same functions
stand in where a model's reply is rejected.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import regex

from memorai_core.flow import Flow, settled
from memorai_core.indexing.sentences import sentences
from memorai_core.models import SegmentMemory, SessionMemory, SessionTail, Turn

SHORTEST = 4
"""Turns in a segment at least, where a session has them."""
LONGEST = 16
"""Turns in a segment at most."""
WINDOW = 3
"""Turns on either side of a gap that are compared for a drop in similarity."""
SUMMARY_CHARACTERS = 600

_WORD = regex.compile(r"\w|\p{So}")
_ASKS = ("?", "？", "؟")
_MACHINE_ROLES = frozenset({"assistant", "system", "tool", "developer", "function"})
_OF_ONESELF = regex.compile(
    r"\b(?:i|i['’]m|i['’]ve|i['’]d|i['’]ll|im|ive|me|my|mine|myself|we|we['’]re|we['’]ve|us|our|ours)\b", regex.IGNORECASE
)
"""First-person words: what carries a user's own facts, preferences and plans in English."""
_ENGLISH = regex.compile(r"\b(?:the|a|an|of|to|and|is|are|what|how|in|for|can|you|please)\b", regex.IGNORECASE)
"""Words by which a text is taken for English; elsewhere there are no cues to go by, and all of a user's turns are kept."""


class ExtractiveAnalyzer:
    """The default analyzer: no language model, no prompt."""

    def __init__(self, *, segmentation: Literal["topical", "session", "turn"] = "topical", gate: bool = True) -> None:
        self.segmentation = segmentation
        self.gate = gate

    def analyze(self, session: SessionTail, turn_vectors: np.ndarray) -> Flow[SessionMemory]:
        """A flow that asks nothing; `turn_vectors` is (turns, dimension), rows of length 1 or 0."""
        return settled(self._memory(session.turns, turn_vectors))

    def _memory(self, turns: Sequence[Turn], vectors: np.ndarray) -> SessionMemory:
        starts = {"session": [0], "turn": list(range(len(turns)))}.get(self.segmentation) or segment_starts(turns, vectors)
        ends = [*starts[1:], len(turns)]
        kept = gate(turns) if self.gate else frozenset(turn.turn_id for turn in turns)
        segments = [_segment(turns[start:end], vectors[start:end], kept) for start, end in zip(starts, ends, strict=True)]
        return SessionMemory(tuple(segments))


def segment_starts(turns: Sequence[Turn], vectors: np.ndarray) -> list[int]:
    """Where topical segments begin (§3.1): indices into `turns`, the first 0.

    Each segment is SHORTEST to LONGEST turns long, the last maybe shorter.

    Cuts are made at the gaps where similarity between the turns before and after drops deepest below its surroundings.
    """
    count = len(turns)
    if count <= SHORTEST:
        return [0]
    depth = _depths(vectors)
    threshold = float(depth.mean() + depth.std() / 2)
    starts = [0]
    while count - starts[-1] > SHORTEST:
        low, high = starts[-1] + SHORTEST, min(starts[-1] + LONGEST, count - 1)
        gaps = np.arange(low, high + 1)
        deep = gaps[depth[gaps - 1] >= threshold]
        if deep.size:
            starts.append(int(deep[0]))
        elif count - starts[-1] > LONGEST:
            starts.append(int(gaps[np.argmax(depth[gaps - 1])]))
        else:
            break
    return starts


def gate(turns: Sequence[Turn]) -> frozenset[str]:
    """The turns that the memory gate keeps (§3.1, C.2), by id.

    Between people every turn with words is kept. In a chat with an assistant those of the user's turns are that speak in the
    first person, or are not in English; the assistant's and tools' never are.
    """
    chat = any(turn.role in _MACHINE_ROLES for turn in turns)
    return frozenset(turn.turn_id for turn in turns if _WORD.search(turn.text) and _tells_of_the_user(turn, chat))


def summarise(turns: Sequence[Turn], vectors: np.ndarray) -> str:
    """The most central turn's leading sentences, with its speaker, as the segment's summary (§3.1, C.3); rather no question."""
    spoken = [number for number, turn in enumerate(turns) if turn.text.strip()]
    spoken = [number for number in spoken if not turns[number].text.rstrip().endswith(_ASKS)] or spoken
    if not spoken:
        return ""
    centrality = vectors[spoken] @ vectors.mean(axis=0)
    central = turns[spoken[int(np.argmax(centrality))]]
    return f"{central.speaker}: {central.text}" if len(central.text) <= SUMMARY_CHARACTERS else _shortened(central)


def _shortened(turn: Turn) -> str:
    text = ""
    for sentence in sentences(turn.text):
        if text and len(text) + len(sentence) > SUMMARY_CHARACTERS:
            break
        text = f"{text} {sentence}".strip()
    return f"{turn.speaker}: {text[:SUMMARY_CHARACTERS]}" if text else f"{turn.speaker}: {turn.text[:SUMMARY_CHARACTERS]}"


def _segment(turns: Sequence[Turn], vectors: np.ndarray, kept: frozenset[str]) -> SegmentMemory:
    turn_ids = tuple(turn.turn_id for turn in turns)
    return SegmentMemory(turn_ids, kept & frozenset(turn_ids), summarise(turns, vectors))


def _tells_of_the_user(turn: Turn, chat: bool) -> bool:
    if turn.role in _MACHINE_ROLES:
        return False
    return not chat or bool(_OF_ONESELF.search(turn.text)) or not _ENGLISH.search(turn.text)


def _depths(vectors: np.ndarray) -> np.ndarray:
    """How deep similarity drops at each gap between neighbouring turns, 0 and up; shape (turns - 1,)."""
    count = len(vectors)
    sums = np.concatenate([np.zeros((1, vectors.shape[1]), np.float32), np.cumsum(vectors, axis=0)])
    gaps = np.arange(1, count)
    before = sums[gaps] - sums[np.maximum(gaps - WINDOW, 0)]
    after = sums[np.minimum(gaps + WINDOW, count)] - sums[gaps]
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    similar = np.einsum("ij,ij->i", before, after) / np.where(norms > 0, norms, 1.0)
    left = np.maximum(np.r_[similar[:1], similar[:-1]], similar)
    right = np.maximum(np.r_[similar[1:], similar[-1:]], similar)
    depth: np.ndarray = (left - similar) + (right - similar)
    return depth
