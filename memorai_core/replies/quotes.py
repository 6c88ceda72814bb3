"""Strings whose quotes went wrong: single quotes, quotes and line breaks that were not escaped.

A quote ends a string only where JSON would go on behind it, so that the apostrophes of "Alex's dog, isn't it?" and the
quotes of a person quoted stay what they are.
"""

import json
import re

_AFTER_KEY = re.compile(r"\s*+:")
_AFTER_MEMBER = re.compile(
    r"""\s*+(?: \Z | ,?\s*\}\s*(?:\Z|[,}\]]) | ,?\s*(?:"[^"\n]{1,60}"|'[^'\n]{1,60}')\s*: | ,\s*[A-Za-z_]\w{0,60}\s*: )""", re.VERBOSE
)
_AFTER_ELEMENT = re.compile(r"""\s*+(?: \Z | ,?\s*\]\s*(?:\Z|[,}\]]) | ,\s*(?:["'{\[\d]|-\d|true\b|false\b|null\b) )""", re.VERBOSE)
_ESCAPE = re.compile(r"""\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})""")


def requoted(text: str) -> str:
    """The same text with every string inside a bracket in double quotes, and what is inside them escaped."""
    written: list[str] = []
    open_brackets: list[str] = []
    place, key = 0, False
    while place < len(text):
        mark = text[place]
        inside = open_brackets[-1] if open_brackets else ""
        if mark in "\"'" and inside:
            string, place = _string(text, place, _AFTER_KEY if key else _AFTER_MEMBER if inside == "{" else _AFTER_ELEMENT)
            written.append(string)
            key = inside == "{" and not key  # a key and its value take turns, even where the comma is missing
            continue
        if mark in "{[":
            open_brackets.append(mark)
        elif mark in "}]" and open_brackets:
            open_brackets.pop()
        if not mark.isspace():
            key = mark == "{" or (mark == "," and inside == "{")
        written.append(mark)
        place += 1
    return "".join(written)


def _string(text: str, start: int, ends: re.Pattern[str]) -> tuple[str, int]:
    """The string that opens at `start` in double quotes, and the place behind it; left open where the text ends in it."""
    quote, place = text[start], start + 1
    written = ['"']
    while place < len(text):
        if text[place] == quote and ends.match(text, place + 1):
            return "".join([*written, '"']), place + 1
        if escape := _ESCAPE.match(text, place):
            written.append(escape.group())
            place = escape.end()
        elif text.startswith("\\'", place):
            written.append("'")
            place += 2
        else:
            written.append(json.dumps(text[place], ensure_ascii=False)[1:-1])
            place += 1
    return "".join(written), place
