"""Whether what a model extracts is in the turns it cites (ours): a weak model invents, and what it invents is dropped.

A name is grounded when one of its words, stop words aside, stands in a cited turn, when it is a speaker's, or when it is a
date that the time of a cited turn can have given. Words are compared by their stems, or by how they begin, for languages
that no stemmer here knows.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from memorai_core.identity import canonical_name
from memorai_core.indexing.stopwords import STOPWORDS
from memorai_core.models import Turn
from memorai_core.prompts import Passage
from memorai_core.prompts.passage import MONTHS, WEEKDAYS
from memorai_core.terms import stem, terms

YEARS_AWAY: Final = 10
"""How far a year may lie from the time of the turn that speaks of it without naming it ("six years ago")."""
ALIKE: Final = 4
"""Letters with which two words must begin alike, if they are not the same."""

_SEASONS = "sept spring summer autumn fall winter christmas easter today yesterday tomorrow"
_AROUND = (
    "the of in on at a around about early mid late beginning start end before after since until from to by between and next last "
    "following previous day days week weeks weekend month months year years morning afternoon evening night am pm st nd rd th"
)
_ANCHORS = frozenset(word.casefold() for name in (*MONTHS, *WEEKDAYS) for word in (name, name[:3])) | frozenset(_SEASONS.split())
_DATE_WORDS = _ANCHORS | frozenset(_AROUND.split())
_STOP_TERMS = STOPWORDS | {stem(word) for word in STOPWORDS}
_SPEAKING = frozenset(["i", "me", "my", "mine", "myself"])


class Ground:
    """The turns of a passage as ground for what is said of them."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self._turns = {turn.turn_id: turn for turn in passage.turns}
        self._words: dict[str, frozenset[str]] = {}
        called = {name for turn in (*passage.context, *passage.turns) for name in (turn.speaker, turn.role)}
        self._speakers = frozenset(term for name in called for term in terms(name))

    def resolved(self, name: str, turn_ids: Sequence[str]) -> str:
        """The name, or the speaker's where it is "I" or "me" and all of the turns are one speaker's."""
        speakers = {self._turns[turn_id].speaker for turn_id in turn_ids}
        return speakers.pop() if canonical_name(name) in _SPEAKING and len(speakers) == 1 else name

    def holds(self, name: str, turn_ids: Sequence[str]) -> bool:
        """Whether a name is grounded in the turns that are cited for it."""
        words = content_terms(name)
        if not self._speakers.isdisjoint(words or terms(name)):
            return True
        if any(_akin(word, self._of(turn_id)) for word in words for turn_id in turn_ids):
            return True
        cited = [self._turns[turn_id] for turn_id in turn_ids]
        return _is_title(name, cited) or _is_date(name, cited)

    def _of(self, turn_id: str) -> frozenset[str]:
        if turn_id not in self._words:
            self._words[turn_id] = frozenset(terms(self._turns[turn_id].text))
        return self._words[turn_id]


def content_terms(name: str) -> list[str]:
    """The terms of a name that are no stop words; of scripts without spaces, the pairs of characters, where there are pairs."""
    found = [term for term in terms(name) if term not in _STOP_TERMS]
    return [term for term in found if len(term) > 1 or term.isascii()] or found


def _akin(word: str, words: frozenset[str]) -> bool:
    if word in words:
        return True
    return len(word) >= ALIKE and any(_begin_alike(word, other) for other in words if other.startswith(word[:ALIKE]))


def _begin_alike(one: str, other: str) -> bool:
    """Two forms of one word share most of it: "переехал" and "переехала", "Hanoi" and "Hanois"."""
    same = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return same >= 0.6 * max(len(one), len(other))


def _is_title(name: str, cited: Iterable[Turn]) -> bool:
    """Whether a name of stop words alone stands in a turn as it is written: the band "The Who", but not the word "she"."""
    return " " in name and name != name.casefold() and any(name in turn.text for turn in cited)


def _is_date(name: str, cited: Iterable[Turn]) -> bool:
    """Whether a name is a date, in English or mostly in figures, within YEARS_AWAY of a cited turn that has a time."""
    years = {turn.timestamp.year for turn in cited if turn.timestamp}
    words = re.findall(r"\d+|[^\W\d_]+", name.casefold())
    figures = [int(word) for word in words if word.isdecimal() and len(word) <= 4]
    named = [figure for figure in figures if figure >= 1000]
    if not years or any(all(abs(figure - year) > YEARS_AWAY for year in years) for figure in named):
        return False
    only_dates = all(word in _DATE_WORDS or word.isdecimal() for word in words)
    return (only_dates and (bool(named) or not _ANCHORS.isdisjoint(words))) or (bool(named) and 2 * len(figures) >= len(words))
