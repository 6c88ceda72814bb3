"""The units a ranking is judged in: utterances, pairs of them, and sessions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memorai_core.formats import Conversation
from memorai_core.models import Message

Unit = Literal["utterance", "pair", "session"]
UNITS: tuple[Unit, ...] = ("utterance", "pair", "session")

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """A conversation laid out flat: its messages in order, and which pair and session each belongs to.

    A pair is two consecutive messages of a session, by position; an odd last one stands alone.
    """

    messages: tuple[Message, ...]
    positions: dict[str, int]
    """Message id -> place in `messages`."""
    sessions: dict[str, int]
    """Session id -> its number."""
    of: dict[Unit, Positions]
    """For each message, its utterance, pair and session, numbered from 0 over the conversation."""

    def members(self, unit: Unit) -> list[list[int]]:
        """The places of each unit's messages."""
        groups: list[list[int]] = [[] for _ in range(self.count(unit))]
        for place, group in enumerate(self.of[unit].tolist()):
            groups[group].append(place)
        return groups

    def count(self, unit: Unit) -> int:
        """How many units of this kind the conversation has."""
        return int(self.of[unit][-1]) + 1

    def coarsen(self, ranking: Iterable[int], unit: Unit) -> list[int]:
        """A ranking of messages as one of units, each at its first appearance."""
        return list(dict.fromkeys(self.of[unit][list(ranking)].tolist()))

    def gold(self, evidence: Sequence[str], unit: Unit) -> frozenset[int]:
        """The units that hold the messages named by `evidence`."""
        return frozenset(int(self.of[unit][self.positions[name]]) for name in evidence)


def lay_out(conversation: Conversation) -> Layout:
    """The layout of a conversation whose messages all have ids."""
    messages = tuple(message for session in conversation.sessions for message in session.messages)
    positions: dict[str, int] = {}
    for place, message in enumerate(messages):
        positions.setdefault(message.id or "", place)
    pairs: list[int] = []
    sessions: list[int] = []
    for number, session in enumerate(conversation.sessions):
        first = pairs[-1] + 1 if pairs else 0
        pairs += [first + place // 2 for place in range(len(session.messages))]
        sessions += [number] * len(session.messages)
    of: dict[Unit, Positions] = {
        "utterance": np.arange(len(messages)),
        "pair": np.array(pairs, dtype=np.int64),
        "session": np.array(sessions, dtype=np.int64),
    }
    return Layout(messages, positions, {session.session_id: number for number, session in enumerate(conversation.sessions)}, of)
