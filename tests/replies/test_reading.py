"""How a reply is read: what is repaired, what is left out, what is rejected. The corpus at large is in test_sabotage.py."""

import json
from typing import Annotated

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

from memorai_core.replies import Name, Paragraph, Rejected, ReplyModel, Sentence, TurnNumbers, UpTo, read_reply
from memorai_core.replies.quotes import requoted


class Kept(ReplyModel):
    kept: TurnNumbers


class Summary(ReplyModel):
    summary: Paragraph


class Said(ReplyModel):
    by: Name
    words: Sentence
    turns: Annotated[TurnNumbers, Field(min_length=1)]


class Sayings(ReplyModel):
    said: Annotated[list[Said], UpTo(3)]


def kept(text: str) -> list[int] | str:
    reply = read_reply(text, Kept, cites=9)
    return reply.kind if isinstance(reply, Rejected) else reply.kept


def summary(text: str) -> str:
    reply = read_reply(text, Summary, cites=9)
    return f"! {reply.kind}" if isinstance(reply, Rejected) else reply.summary


def saying(**changes: object) -> dict[str, object]:
    return {"by": "Ben", "words": "It's a dog, isn't it?", "turns": [1], **changes}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"kept": [1, 2]}', [1, 2]),
        ('  \ufeff{"kept": [1, 2]}', [1, 2]),
        ('{"kept": []}', []),
        ('{"kept": [2, 1, 2]}', [1, 2]),
        ('```json\n{"kept": [1, 2]}\n```', [1, 2]),
        ('~~~\n{"kept": [1, 2]}\n~~~', [1, 2]),
        ('Sure! Here it is:\n```json\n{"kept": [1, 2]}\n```\nCan I help you further?', [1, 2]),
        ('Turns {1} and {2} matter. {"kept": [1, 2]} I hope that helps.', [1, 2]),
        ('<think>maybe {"kept": [3]}</think>\n{"kept": [1, 2]}', [1, 2]),
        ('{"kept": [7]} No, wait. {"kept": [1, 2]}', [1, 2]),
        ("{'kept': [1, 2]}", [1, 2]),
        ("{kept: [1, 2]}", [1, 2]),
        ('{"kept": [1, 2,],}', [1, 2]),
        ('{"kept": [1, 2]', [1, 2]),
        ('{"kept": [1 2]}', [1, 2]),
        ("[1, 2]", [1, 2]),
        ('[{"kept": [1, 2]}]', [1, 2]),
        ('{"kept": ["1", "turn 2", "[3]", "#4", "n=5", 6.0, "7.0"]}', [1, 2, 3, 4, 5, 6, 7]),
        ('{"kept": "1, 2"}', [1, 2]),
        ('{"kept": "[1; 2]"}', [1, 2]),
        ('{"kept": 2}', [2]),
        ('{"kept": [1, 2], "why": {"a": [3]}}', [1, 2]),
        ("{'kept': [1, 2], 'dropped': [3]}", [1, 2]),
        ('{"kept": [0, -1, 10, 1.5, true, null, "two", [3], 2, 1e99]}', [2]),
        # Not to be used: nothing, no JSON, other JSON, and numbers that may have lost a figure.
        ("", "empty"),
        ("  \n", "empty"),
        ("<think>hm</think>", "empty"),
        ("I am sorry, but I cannot help with that.", "unreadable"),
        ("1. keep\n2. drop", "unreadable"),
        ("I keep [1] and [2].", "unreadable"),
        ('{"kept": [1, 2', "unreadable"),
        ('{"keep": [1, 2]}', "unfit"),
        ('{"kept": null}', "unfit"),
        ('{"kept": {"1": true}}', "unfit"),
        ('{"kept": [10, 11]}', "unfit"),
        ('{"kept": [<number>, ...]}', "unfit"),
        ('{"properties": {"kept": {"type": "array"}}, "required": ["kept"]}', "unfit"),
        ("[]" * 3, "unreadable"),
        ("null", "unreadable"),
        ("x" * 200_001, "too_long"),
    ],
)
def test_numbers_are_read(text, expected):
    assert kept(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'summary': 'Alex's dog, isn't it? The dogs' bowls'}", "Alex's dog, isn't it? The dogs' bowls"),
        ('{"summary": "Alex\'s dog"}', "Alex's dog"),
        ("{'summary': \"Alex's dog\"}", "Alex's dog"),
        ("{'summary': 'it\\'s'}", "it's"),
        ('{"summary": "She said "yes, I do", and left"}', 'She said "yes, I do", and left'),
        ('{"summary": "one\ntwo\tthree"}', "one two three"),
        ('{"summary": "at C:\\Users\\alex"}', "at C:\\Users\\alex"),
        ('{"summary": "caf\\u00e9 \\ud83d\\ude00"}', "café 😀"),
        ('{"summary": "bad \\u12 and \\x"}', "bad \\u12 and \\x"),
        ('{"summary": "half \\ud83d"}', "half \ufffd"),
        ('{"summary": "uses {"a": 1} here"}', 'uses {"a": 1} here'),
        ('{"summary": "Alice moved."', "Alice moved."),
        ('{"summary": "a", "summary": "b"}', "b"),
        ('{"summary": "Она переехала в Ханой."}', "Она переехала в Ханой."),
        ('{"summary": 7}', "7"),
        # Cut off in the middle: not to be taken for whole.
        ('{"summary": "Alice moved to', "! unreadable"),
        ("{'summary': 'Alice's dog is", "! unreadable"),
        ('{"summary": "They laughed [laughs] and', "! unreadable"),
        ('{"summary": "', "! unreadable"),
        ('{"summary": "..."}', "! unfit"),
        ('{"summary": "<two to four sentences>"}', "! unfit"),
        ('{"summary": ["a", "b"]}', "! unfit"),
        ('{"summary": true}', "! unfit"),
        (json.dumps({"summary": "word " * 1000}), "! unfit"),
    ],
)
def test_words_survive_repair(text, expected):
    assert summary(text) == expected


def test_elements_that_do_not_fit_are_left_out_and_counted():
    said = [saying(), saying(turns=[1, 99, "x"]), saying(by=""), saying(turns=[99]), saying(turns=[]), "Ben", None, {"by": "Ben"}]
    reply = read_reply(json.dumps({"said": said}), Sayings, cites=9)
    assert [one.turns for one in reply.said] == [[1], [1]]
    assert reply.dropped == {"out_of_range": 2, "malformed": 6}


def test_a_list_is_cut_to_its_bound():
    reply = read_reply(json.dumps({"said": [saying(turns=[number]) for number in range(1, 8)]}), Sayings, cites=9)
    assert [one.turns for one in reply.said] == [[1], [2], [3]]
    assert reply.dropped == {"too_many": 4}


def test_a_list_with_nothing_left_does_not_fit():
    reply = read_reply(json.dumps({"said": [saying(turns=[99])]}), Sayings, cites=9)
    assert reply == Rejected("unfit", "said[0].turns[0]: a turn's number must be between 1 and 9", reply.text)


@pytest.mark.parametrize("lost", range(1, 70))
def test_a_list_that_is_cut_off_keeps_its_whole_elements(lost):
    text = json.dumps({"said": [saying(), saying(by="Alice [the potter]", words='"Wow", he said', turns=[2, 7])]})[:-lost]
    reply = read_reply(text, Sayings, cites=9)
    assert isinstance(reply, Sayings)
    assert [one.model_dump() for one in reply.said] in (
        [saying(), saying(by="Alice [the potter]", words='"Wow", he said', turns=[2, 7])],
        [saying()],
    )
    if len(reply.said) == 1:
        assert reply.dropped == {"cut_off": 1}


def test_schemas_bound_every_list_and_string():
    def unbounded(schema: object, path: str = "") -> list[str]:
        if isinstance(schema, list):
            return [found for part in schema for found in unbounded(part, path)]
        if not isinstance(schema, dict):
            return []
        missing = {"array": "maxItems", "string": "maxLength"}.get(str(schema.get("type")))
        return [path] * bool(missing and missing not in schema) + [f for k, v in schema.items() for f in unbounded(v, f"{path}/{k}")]

    assert unbounded(Sayings.model_json_schema()) == []


_WRONG = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["said", "by", "words", "turns", "x"]), inner, max_size=4),
    max_leaves=12,
)


@given(_WRONG, st.integers(0, 80))
def test_any_json_cut_anywhere_is_read_or_rejected(value, lost):
    text = json.dumps(value)
    for schema in (Sayings, Summary, Kept):
        reply = read_reply(text[: len(text) - lost], schema, cites=9)
        assert isinstance(reply, schema | Rejected)


@given(st.text(alphabet="{}[]\"':,\\ ab1\n", max_size=60))
@example('{"said":[{"by":"a","words":"b","turns":[1]},')
def test_any_noise_is_read_or_rejected(text):
    for schema in (Sayings, Summary, Kept):
        assert isinstance(read_reply(text, schema, cites=9), schema | Rejected)


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "{" * 50_000, '{"a":' * 20_000, '"' * 50_000, "{'" * 10_000, "{'" * 20 + "xy'" * 6_000, '{"kept":' + "9" * 9_000],
    ids=["lists", "objects", "nested", "quotes", "braces and quotes", "apostrophes", "a long number"],
)
def test_noise_takes_no_time(text):
    assert isinstance(read_reply(text, Kept, cites=9), Rejected)


_MEMBERS = st.dictionaries(
    st.sampled_from(["a", "b", "turns"]), st.text(max_size=30) | st.lists(st.text(max_size=12), max_size=3), max_size=3
)


@given(_MEMBERS)
def test_requoting_leaves_json_as_it_is(value):
    text = json.dumps(value)
    assert json.loads(requoted(text)) == value


APOSTROPHES = "it's the dogs' \"bowls\", isn't he: said he'd (sing) 'n' roll"


@given(st.lists(st.sampled_from(APOSTROPHES.split()), min_size=1, max_size=8))
def test_requoting_keeps_apostrophes_and_quotes(words):
    said = " ".join(words)
    assert json.loads(requoted(f"{{'said': '{said}.', 'turns': [1]}}")) == {"said": f"{said}.", "turns": [1]}
    assert json.loads(requoted(f'{{"said": "{said}.", "turns": [1]}}')) == {"said": f"{said}.", "turns": [1]}
