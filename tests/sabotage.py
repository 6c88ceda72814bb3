"""A corpus of sabotaged replies: ways to spoil a good one, for every step.

What becomes of one: `mended` (the memory is as if the reply had been good), `refused` (something of it is counted as rejected),
`one of both`, or `harmless` (the reply is a good one, but says something else).
"""

import json
import re
from collections.abc import Callable
from typing import Literal

import pytest

Fate = Literal["mended", "refused", "one of both", "harmless"]
Value = dict[str, object]
Spoil = Callable[[Value], str]

GOOD: dict[str, Value] = {
    "segmentation": {"starts": [1, 4]},
    "gate": {"kept": [3, 4, 6]},
    "summary": {"summary": "Alice's trip to \"Hanoi\", isn't it: she made two bowls."},
    "triplets": {
        "triplets": [
            {"subject": "Alice", "relation": "made", "object": "bowls", "description": "It's Alice's: two \"bowls\".", "turns": [3]},
            {"subject": "Clara", "relation": "is_sister_of", "object": "Ben", "description": "Clara's Ben's sister, too.", "turns": [4, 6]},
        ]
    },
    "entities": {
        "entities": [
            {"name": "Clara", "description": "Ben's sister, isn't she?", "turns": [4]},
            {"name": "Ben", "description": 'Says "Nice", and that\'s it.', "turns": [4, 6]},
        ]
    },
}
GOOD["fused"] = {key: value for step in ("gate", "summary", "triplets", "entities") for key, value in GOOD[step].items()}
STEPS = ("segmentation", "gate", "summary", "triplets", "entities", "fused")


def mapped(value: object, *, number: object = None, text: Callable[[str], object] | None = None, numbers: object = None) -> object:
    """The value with its numbers, its strings or its lists of numbers replaced."""
    if isinstance(value, dict):
        return {key: mapped(part, number=number, text=text, numbers=numbers) for key, part in value.items()}
    if isinstance(value, list):
        if callable(numbers) and all(isinstance(part, int) for part in value):
            return numbers(value)
        return [mapped(part, number=number, text=text, numbers=numbers) for part in value]
    if isinstance(value, int) and callable(number):
        return number(value)
    return text(value) if isinstance(value, str) and text else value


def elements(change: Callable[[Value], object]) -> Spoil:
    """Spoils every triplet and every entity."""

    def spoil(value: Value) -> str:
        changed = {}
        for key, part in value.items():
            changed[key] = [change(one) if isinstance(one, dict) else one for one in part] if isinstance(part, list) else part
        return json.dumps(changed)

    return spoil


def renamed(change: Callable[[str], str]) -> Spoil:
    return lambda value: json.dumps({change(key): part for key, part in value.items()})


def around(before: str, after: str = "") -> Spoil:
    return lambda value: before + json.dumps(value) + after


def always(text: str) -> Spoil:
    return lambda value: text


def in_text(change: Callable[[str], str]) -> Spoil:
    return lambda value: change(json.dumps(value))


def numbers(change: Callable[[int], object]) -> Spoil:
    return lambda value: json.dumps(mapped(value, number=change))


def lists(change: Callable[[list[int]], object]) -> Spoil:
    return lambda value: json.dumps(mapped(value, numbers=change))


def texts(change: Callable[[str], object]) -> Spoil:
    return lambda value: json.dumps(mapped(value, text=change))


def cut(share: float) -> Spoil:
    return in_text(lambda text: text[: int(len(text) * share)])


WRAPPED: dict[str, tuple[Fate, Spoil]] = {
    "fenced": ("mended", around("```json\n", "\n```")),
    "fenced without a language": ("mended", around("```\n", "\n```")),
    "fenced with tildes": ("mended", around("~~~json\n", "\n~~~")),
    "fence not closed": ("mended", around("```json\n")),
    "prose before": ("mended", around("Certainly! Here's the JSON you've asked for:\n\n")),
    "prose after": ("mended", around("", "\n\nLet me know if there's anything else I can do!")),
    "prose around a fence": ("mended", around("Here's it:\n```json\n", "\n```\nIt's what you asked for, isn't it?")),
    "prose with brackets before": ("mended", around("As asked [see above] {or not}: ")),
    "thoughts before": ("mended", around('<think>Perhaps {"kept": [4]}? It\'s hard.</think>\n')),
    "a draft before": ("mended", around('{"starts": ["x"], "kept": "y", "summary": 1.5e} No. ')),
    "an element around": ("mended", around("<json>", "</json>")),
    "a word before": ("mended", around("json\n")),
    "byte order mark": ("mended", around("\ufeff")),
    "blank lines": ("mended", around("\n\n  ", "\n\n")),
    "in a list": ("mended", around("[", "]")),
    "twice": ("mended", lambda value: json.dumps(value) + "\n" + json.dumps(value)),
    "indented": ("mended", lambda value: json.dumps(value, indent=2)),
    "carriage returns": ("mended", lambda value: json.dumps(value, indent=2).replace("\n", "\r\n")),
    "escaped beyond need": ("mended", lambda value: json.dumps(value).replace("Clara", "\\u0043lara").replace("Alice", "Al\\u0069ce")),
    "keys that were not asked for": ("mended", lambda value: json.dumps({"thoughts": "It's hard", **value, "confidence": 0.9})),
    "the schema before": ("mended", around('{"type": "object", "properties": {"x": {"type": "array"}}}\n')),
    "a result around": ("refused", around('{"result": ', "}")),
    "a string around": ("mended", lambda value: json.dumps(json.dumps(value))),
    "braces doubled": ("one of both", lambda value: "{" + json.dumps(value) + "}"),
}
MISWRITTEN: dict[str, tuple[Fate, Spoil]] = {
    "as Python writes it": ("mended", lambda value: repr(value)),
    "single quotes, apostrophes and all": ("mended", in_text(lambda text: text.replace('\\"', "”").replace('"', "'").replace("”", '"'))),
    "quotes not escaped": ("mended", in_text(lambda text: text.replace('\\"', '"'))),
    "keys not quoted": ("mended", in_text(lambda text: re.sub(r'"(\w+)":', r"\1:", text))),
    "keys in single quotes": ("mended", in_text(lambda text: re.sub(r'"(\w+)":', r"'\1':", text))),
    "trailing commas": ("mended", in_text(lambda text: text.replace("]", ",]").replace("}", ",}"))),
    "a comma missing between members": ("mended", in_text(lambda text: re.sub(r'", "', '" "', text))),
    "last brace missing": ("mended", in_text(lambda text: text[:-1])),
    "last brace missing, prose after": ("one of both", in_text(lambda text: text[:-1] + "\nI hope that helps.")),
    "a brace too many": ("mended", around("", "}")),
    "a bracket too many": ("one of both", in_text(lambda text: text[:-1] + "]}")),
    "comments": ("one of both", in_text(lambda text: text.replace(', "', ', // and\n"'))),
    "line breaks in strings": ("mended", lambda value: texts(lambda text: text.replace(" ", "\n", 1))(value).replace("\\n", "\n")),
    "tabs in strings": ("mended", lambda value: texts(lambda text: text.replace(" ", "\t", 1))(value).replace("\\t", "\t")),
    "bad escapes in strings": ("harmless", lambda value: texts(lambda text: text + "§")(value).replace("\\u00a7", " \\u12zz \\x \\'")),
    "half a surrogate pair": ("harmless", texts(lambda text: text + "\ud83d")),
    "NUL in strings": ("harmless", texts(lambda text: text + "\0")),
    "a semicolon for a comma": ("one of both", in_text(lambda text: text.replace(', "', '; "'))),
    "an equals sign for a colon": ("one of both", in_text(lambda text: text.replace(": ", " = "))),
    "curly quotes": ("one of both", in_text(lambda text: text.replace('"', "”"))),
    "backticks for quotes": ("one of both", in_text(lambda text: text.replace('"', "`"))),
    "full-width punctuation": ("one of both", in_text(lambda text: text.replace(",", "，").replace(":", "："))),
    "as YAML": ("refused", in_text(lambda text: re.sub(r'[{}\["\]]', "", text))),
    **{f"cut off at {share:.0%}": ("one of both", cut(share)) for share in (0.05, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)},
}
USELESS: dict[str, tuple[Fate, Spoil]] = {
    "nothing": ("refused", always("")),
    "white space": ("refused", always(" \n\t ")),
    "a refusal": ("refused", always("I'm sorry, but I can't process personal conversations.")),
    "a refusal in JSON": ("refused", always('{"error": "I can\'t help with that."}')),
    "null": ("refused", always("null")),
    "a number": ("refused", always("42")),
    "true": ("refused", always("true")),
    "an empty object": ("refused", always("{}")),
    "an empty string": ("refused", always('""')),
    "the shape asked for": (
        "refused",
        lambda value: json.dumps(mapped(value, number=lambda n: "<number>", text=lambda t: "<one sentence>")),
    ),
    "the prompt's own example": (
        "refused",
        always('{"starts": [<number>, ...], "kept": [<number>, ...], "summary": "<two to four sentences>", ...}'),
    ),
    "a JSON schema": ("refused", lambda value: json.dumps({"type": "object", "properties": {key: {"type": "array"} for key in value}})),
    "numbered lines": ("refused", always("1. Keep the first turn.\n2. Keep the second.\n3. Alice made bowls.")),
    "bullets": ("refused", always("- Alice made bowls\n- Ben has a sister")),
    "a table": ("refused", always("| subject | object |\n|---|---|\n| Alice | bowls |")),
    "another language": ("refused", always("Das Gespräch handelt von Alices Reise nach Hanoi.")),
    "Chinese": ("refused", always("爱丽丝在河内做了两个碗。")),
    "an error page": ("refused", always("<html><body><h1>502 Bad Gateway</h1></body></html>")),
    "noise": ("refused", always("}{][,:\"'\\" * 50)),
    "emoji": ("refused", always("🙃" * 100)),
    "brackets without end": ("refused", always("[" * 30_000)),
    "braces without end": ("refused", always("{" * 30_000)),
    "keys without end": ("refused", always('{"kept":' * 9_000)),
    "a word without end": ("refused", always("the " * 60_000)),
    "an element without end": ("refused", always('{"kept": [' + "1, " * 9_000)),
    "a number without end": ("refused", always('{"kept": [' + "9" * 9_000 + "]}")),
    "keys in capitals": ("refused", renamed(str.upper)),
    "keys with another name": ("refused", renamed(lambda key: f"{key}_list")),
    "keys translated": ("refused", renamed(lambda key: {"kept": "behalten", "summary": "zusammenfassung"}.get(key, "andere"))),
    "values all null": ("refused", lambda value: json.dumps(dict.fromkeys(value))),
    "values all empty strings": ("one of both", lambda value: json.dumps(dict.fromkeys(value, ""))),
    "values all objects": ("refused", lambda value: json.dumps({key: {} for key in value})),
    "values all words": ("refused", lambda value: json.dumps({key: ["many words"] for key in value})),
}
MISTURNED: dict[str, tuple[Fate, Spoil]] = {
    "numbers as strings": ("mended", numbers(str)),
    "numbers with a word": ("mended", numbers(lambda n: f"turn {n}")),
    "numbers with a capital word": ("mended", numbers(lambda n: f"Turn #{n}")),
    "numbers in brackets": ("mended", numbers(lambda n: f"[{n}]")),
    "numbers as attributes": ("mended", numbers(lambda n: f"n={n}")),
    "whole floats": ("mended", numbers(float)),
    "whole floats as strings": ("mended", numbers(lambda n: f"{n}.0")),
    "lists as strings": ("mended", lists(lambda ns: ", ".join(map(str, ns)))),
    "lists as strings in brackets": ("mended", lists(str)),
    "numbers twice and unsorted": ("mended", lists(lambda ns: [*reversed(ns), *ns])),
    "numbers out of range too": ("refused", lists(lambda ns: [*ns, 99])),
    "numbers below the range too": ("refused", lists(lambda ns: [0, *ns])),
    "negative numbers too": ("refused", lists(lambda ns: [-1, *ns])),
    "broken numbers too": ("refused", lists(lambda ns: [*ns, 1.5])),
    "words among the numbers": ("refused", lists(lambda ns: [*ns, "the last one"])),
    "null among the numbers": ("refused", lists(lambda ns: [None, *ns])),
    "true among the numbers": ("refused", lists(lambda ns: [*ns, True])),
    "lists among the numbers": ("refused", lists(lambda ns: [*ns, [1]])),
    "all out of range": ("refused", numbers(lambda n: n + 100)),
    "all negative": ("refused", numbers(lambda n: -n)),
    "all zero": ("refused", numbers(lambda n: 0)),
    "all broken": ("refused", numbers(lambda n: n + 0.5)),
    "all huge": ("refused", numbers(lambda n: 10**40)),
    "all infinite": ("refused", numbers(lambda n: float("inf"))),
    "all not numbers": ("refused", numbers(lambda n: float("nan"))),
    "all words": ("refused", numbers(lambda n: ["one", "two", "three"][n % 3])),
    "all speakers": ("refused", numbers(lambda n: "Alice")),
    "all true": ("refused", numbers(lambda n: True)),
    "all null": ("refused", numbers(lambda n: None)),
    "all objects": ("refused", numbers(lambda n: {"turn": n})),
    "all ids": ("refused", numbers(lambda n: f"turn-{n}-a3f9")),
    "objects for lists": ("refused", lists(lambda ns: {str(n): True for n in ns})),
    "null for lists": ("refused", lists(lambda ns: None)),
    "very many numbers": ("harmless", lists(lambda ns: ns * 3000)),
}
MISWORDED: dict[str, tuple[Fate, Spoil]] = {
    "strings as lists": ("refused", texts(lambda text: [text])),
    "strings as objects": ("refused", texts(lambda text: {"text": text})),
    "strings null": ("refused", texts(lambda text: None)),
    "strings true": ("refused", texts(lambda text: True)),
    "strings empty": ("refused", texts(lambda text: "")),
    "strings blank": ("refused", texts(lambda text: " \n ")),
    "strings of dots": ("refused", texts(lambda text: "...")),
    "strings without end": ("refused", texts(lambda text: text * 500)),
    "strings in another language": ("harmless", texts(lambda text: "Они говорили о керамике")),
}
MISEXTRACTED: dict[str, tuple[Fate, Spoil]] = {
    "invented entities": ("refused", elements(lambda one: {**one, "subject": "Napoleon", "name": "Waterloo"})),
    "invented objects": ("refused", elements(lambda one: {**one, "object": "a spaceship", "name": "Mars"})),
    "unknown heads and tails": ("refused", elements(lambda one: {**one, "subject": "unknown", "object": "N/A", "name": "none"})),
    "pronouns": ("refused", elements(lambda one: {**one, "subject": "she", "object": "it", "name": "they"})),
    "the wrong turn": ("refused", elements(lambda one: {**one, "object": "bowls", "name": "bowls", "turns": [4]})),
    "no turns": ("refused", elements(lambda one: {**one, "turns": []})),
    "turns left out": ("refused", elements(lambda one: {key: part for key, part in one.items() if key != "turns"})),
    "description left out": ("refused", elements(lambda one: {key: part for key, part in one.items() if key != "description"})),
    "names left out": ("refused", elements(lambda one: {"description": one["description"], "turns": one["turns"]})),
    "as lists of words": ("refused", elements(lambda one: list(one.values()))),
    "as sentences": ("refused", elements(lambda one: one["description"])),
    "as arrows": ("refused", elements(lambda one: "Alice -> made -> bowls [1]")),
    "within a list": ("refused", elements(lambda one: [one])),
    "with head and tail": ("refused", elements(lambda one: {**dict.fromkeys(("head", "type", "tail"), "Alice"), "turns": [1]})),
    "with further keys": ("mended", elements(lambda one: {**one, "confidence": "high", "type": "person"})),
    "a hundred times": (
        "refused",
        lambda value: json.dumps({k: p * 100 if k in ("triplets", "entities") else p for k, p in value.items()}),
    ),
}
SABOTAGES = {**WRAPPED, **MISWRITTEN, **USELESS, **MISTURNED, **MISWORDED, **MISEXTRACTED}

CORPUS = [
    pytest.param(step, spoil(GOOD[step]), fate, id=f"{step}: {name}")
    for step in STEPS
    for name, (fate, spoil) in SABOTAGES.items()
    if step in ("triplets", "entities", "fused") or name not in MISEXTRACTED
    if name in USELESS or spoil(GOOD[step]) != json.dumps(GOOD[step])
]
