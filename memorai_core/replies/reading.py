"""How the JSON in a reply is found and repaired (B.2): neither raising nor evaluating anything.

Well-formed JSON is taken as it is, wherever in the reply it stands. Only then is the text repaired, and never past the last
bracket or quote that it closes: what a reply was cut off in the middle of is left out, not guessed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from memorai_core.replies.quotes import requoted
from memorai_core.replies.shapes import Rejected, S, check

LONGEST: Final = 200_000
"""Characters of a reply; a longer one comes from a model that runs in circles."""
LONGEST_REPAIRED: Final = 20_000
"""Characters of a reply that is repaired; the time that repair takes grows with their square."""
MOST_PUNCTUATION: Final = 0.4
"""Share of quotes and brackets above which a broken reply is noise, which repair takes longest over."""
OPENINGS: Final = 200
"""Places in a reply at which well-formed JSON is looked for."""

_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.MULTILINE)
_PUNCTUATION = re.compile(r"[{}\[\]\"'\\]")
_MARK = re.compile(r'"(?:[^"\\]|\\.)*("|\Z)|[{}\[\]]', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class _Found:
    """A JSON value of a reply, and whether the reply broke off within it."""

    value: object
    cut_off: bool = False


def read_reply(text: str, schema: type[S], *, cites: int) -> S | Rejected:
    """What a reply says, in the shape asked for; the numbers of turns that it may cite go from 1 to `cites`.

    Of several JSON values that fit the last one holds: a model that drafts, or repeats its instructions, ends with its answer.
    """
    if len(text) > LONGEST:
        return Rejected("too_long", f"it has more than {LONGEST} characters", text[:LONGEST])
    text = _FENCE.sub("", _unquoted(without_thinking(text))).strip()
    if not text:
        return Rejected("empty", "it is empty")
    failure = Rejected("unreadable", "no whole JSON object was found in it", text)
    for found in _values(text):
        reply = check(found.value, schema, cites=cites, cut_off=found.cut_off)
        if not isinstance(reply, Rejected):
            return reply
        if failure.kind == "unreadable":
            failure = replace(reply, text=text)
    return failure


def without_thinking(text: str) -> str:
    """A reply without what a model that thinks aloud writes before it."""
    return _THOUGHT.sub("", text).strip().removeprefix("\ufeff")


def _unquoted(text: str) -> str:
    """What a reply says that is one JSON string with everything else in it."""
    try:
        inside = json.loads(text) if text.startswith('"') else text
    except ValueError:
        return text
    return str(inside)


def _values(text: str) -> Iterator[_Found]:
    """The objects that the text may stand for, most likely first; a list, only where it is all there is."""
    yield from reversed([_Found(value) for value in _well_formed(text)])
    noise = len(_PUNCTUATION.findall(text)) > MOST_PUNCTUATION * len(text)
    if "{" in text and len(text) <= LONGEST_REPAIRED and not noise:
        yield from _repaired(requoted(text[text.index("{") :]))


def _well_formed(text: str) -> Iterator[object]:
    place = 0 if text.startswith("[") else text.find("{")
    for _ in range(OPENINGS):
        if place < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place = text.find("{", place + 1)
        else:
            if text[place] == "{" or end == len(text):
                yield value
            place = text.find("{", end)


def _repaired(text: str) -> Iterator[_Found]:
    """The values of a text whose strings are well-formed, the last first, and what there is of one that was cut off."""
    whole: list[str] = []
    brackets: list[str] = []
    start, place, closed, open_there, quoted = 0, 0, 0, "", 0
    while mark := _MARK.search(text, place):
        place = mark.end()
        if mark[0] in "{[":
            start = mark.start() if not brackets else start
            brackets.append("}" if mark[0] == "{" else "]")
        elif mark[0] in "}]" and brackets:
            brackets.pop()
            closed, open_there = place, "".join(reversed(brackets))
            if not brackets:
                whole.append(text[start:place])
        elif mark[0].startswith('"') and not brackets:
            place = mark.start() + 1
        elif mark[1]:
            quoted = place
    for part in reversed(whole):
        yield from _repair(part, cut_off=False)
    if brackets:
        if closed > start:
            yield from _repair(text[start:closed] + open_there, cut_off=text[closed:].strip() != "")
        if quoted and not text[quoted:].strip(", \n"):
            yield from _repair(text[start:quoted] + "".join(reversed(brackets)), cut_off=False)


def _repair(text: str, *, cut_off: bool) -> Iterator[_Found]:
    import json_repair  # a reply that needs it is rare, and it takes as long to import as all of this package

    try:
        yield _Found(json_repair.loads(text), cut_off)
    except Exception:  # whatever stops the repairer, the reply is unreadable, and no more than that
        return
