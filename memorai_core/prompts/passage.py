"""A stretch of conversation as prompts show it: turns as XML elements, numbered, escaped, and of bounded size."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memorai_core.markup import escape, quoteattr
from memorai_core.models import Turn

TURN_CHARACTERS: Final = 6000
"""Characters of a turn that are shown where it is worked on; its middle is left out, and the place says so."""
CONTEXT_CHARACTERS: Final = 300
"""The same of a turn that is context only."""
SPEAKER_CHARACTERS: Final = 80

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

WEEKDAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS: Final = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]


@dataclass(frozen=True, slots=True)
class Passage:
    """Turns to work on, and the few before them that are context only."""

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...] = ()
    turn_characters: int = TURN_CHARACTERS

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the turns to work on, in order."""
        return tuple(turn.turn_id for turn in self.turns)

    def turn_ids(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The ids of turns cited by their numbers in the passage, from 1."""
        return tuple(self.turns[number - 1].turn_id for number in numbers)

    def rendered(self, *, numbered: frozenset[str] | None = None, turn_characters: int | None = None) -> str:
        """The passage as text; of the turns to work on, those not in `numbered` (all by default) are context too."""
        shown = self.turn_characters if turn_characters is None else min(turn_characters, self.turn_characters)
        lines: list[str] = []
        time: datetime | None = None
        for number, turn in [*((0, turn) for turn in self.context), *enumerate(self.turns, start=1)]:
            works = number > 0 and (numbered is None or turn.turn_id in numbered)
            lines.append(_element(turn, number if works else None, shown if works else CONTEXT_CHARACTERS, time))
            time = turn.timestamp or time
        return "\n".join(["<conversation>", *lines, "</conversation>"])


def _element(turn: Turn, number: int | None, characters: int, time_before: datetime | None) -> str:
    n = f' n="{number}"' if number else ""
    time = f' time="{written_date(turn.timestamp)}"' if turn.timestamp and turn.timestamp != time_before else ""
    return _NOT_IN_XML.sub(
        " ", f"<turn{n} by={quoteattr(turn.speaker[:SPEAKER_CHARACTERS])}{time}>{escape(shortened(turn.text.strip(), characters))}</turn>"
    )


def written_date(timestamp: datetime) -> str:
    """As in "Monday 8 May 2023 13:56": with the weekday, which "last Friday" is counted from, and the same in every locale."""
    return f"{WEEKDAYS[timestamp.weekday()]} {timestamp.day} {MONTHS[timestamp.month - 1]} {timestamp.year} {timestamp:%H:%M}"


def shortened(text: str, characters: int) -> str:
    """The text, or, where it is longer, its beginning and its end, with a mark between them that says what was left out."""
    if len(text) <= characters:
        return text
    head, tail = characters * 2 // 3, characters // 3
    return f"{text[:head]} [... {len(text) - head - tail} characters left out ...] {text[len(text) - tail :]}"
