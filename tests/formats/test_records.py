import gzip
import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from memorai_core.errors import FormatError
from memorai_core.formats import read_conversations
from memorai_core.formats.records import read_records

HELLO = {"role": "user", "content": "hello"}


def values(path: Path) -> list[object]:
    return [record.value for record in read_records(path)]


def refusal(path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        list(read_conversations(path))
    assert str(path) in str(caught.value)
    assert caught.value.__cause__ is None or isinstance(caught.value.__cause__, OSError)
    return str(caught.value).removeprefix(str(path))


@pytest.mark.parametrize(
    "content",
    [
        b'{"n": 1}\n{"n": 2}\n',
        b'{"n": 1}\n\n  \n{"n": 2}',
        b'{"n": 1}\r\n{"n": 2}\r\n',
        b'\n\n{"n": 1}\n{"n": 2}\n',
        b'\xef\xbb\xbf{"n": 1}\n{"n": 2}\n',
        b'[{"n": 1}, {"n": 2}]',
        b'[\n  {"n": 1},\n  {"n": 2}\n]\n',
        b'\xef\xbb\xbf \n[{"n": 1}, {"n": 2}]',
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_layout_gives_the_same_records(tmp_path, content, pack):
    path = tmp_path / "any.name"
    path.write_bytes(pack(content))
    assert values(path) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("content", ['{"n": [1]}', '{\n "n":\n  [1]\n}', '{"n":\n[1]}\n'])
def test_a_lone_object_is_one_record(tmp_path, content):
    path = tmp_path / "one.json"
    path.write_text(content, encoding="utf-8")
    assert values(path) == [{"n": [1]}]


def test_places_count_lines_of_the_file_and_elements_of_an_array(tmp_path):
    lines, array = tmp_path / "a.jsonl", tmp_path / "a.json"
    lines.write_text('\n{"n": 1}\n\n{"n": 2}\n', encoding="utf-8")
    array.write_text('[{"n": 1}, {"n": 2}]', encoding="utf-8")
    assert [record.place.where for record in read_records(lines)] == ["line 2", "line 4"]
    assert [record.place.where for record in read_records(array)] == ["record 1", "record 2"]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_jsonl_is_given_line_by_line(tmp_path, pack):
    path = tmp_path / "long.jsonl"
    path.write_bytes(pack(b'{"n": 1}\n{"n": 2}\n{"n": broken'))
    records = read_records(path)
    assert [next(records).value, next(records).value] == [{"n": 1}, {"n": 2}]
    with pytest.raises(FormatError, match="line 3: not valid JSON"):
        next(records)


def test_reading_part_of_a_file_closes_it(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text('{"n": 1}\n' * 3, encoding="utf-8")
    records = read_records(path)
    next(records)
    records.close()
    path.unlink()
    assert list(records) == []


def test_a_missing_file_and_a_directory(tmp_path):
    assert refusal(tmp_path / "absent.json") == ": there is no such file"
    assert refusal(tmp_path) == ": this is a directory; name a file in it"


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "closed.json"
    monkeypatch.setattr(Path, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
    assert refusal(path) == ": cannot be read (Permission denied)"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (gzip.compress(b""), "the file is empty"),
        (b"[]", "an empty list"),
        (b"\x89PNG\r\n\x1a\n" + bytes(5000), r"not JSON or JSONL: it starts with '\x89PNG"),
        (b"role,content\nuser,hello\n", "not JSON or JSONL: it starts with 'role,content'"),
        (b"%PDF-1.7\n", "not JSON or JSONL"),
        ('{"role": "user"}'.encode("utf-16"), "this is UTF-16 text; save it as UTF-8"),
        ('{"role": "user"}'.encode("utf-16-le"), "line 1: not valid JSON"),
        (b'{"role": "user", "content": "caf\xe9"}', "line 1: not UTF-8 text (byte 0xe9); save the file as UTF-8"),
        (b'{"role": "user", "content": "hi"}\n{"role": "user", "content": "caf\xe9"}', "line 2: not UTF-8 text"),
        (b'[\n{"role": "user", "content": "caf\xe9"}]', "line 2: not UTF-8 text"),
        (b'[{"role": "user", "content": "hi"}', "line 1: not valid JSON"),
        (b'[\n{"role": "user", "content": "hi"},\n{"role": "us', "line 3: not valid JSON"),
        (b'[\n\n{"role": "user", "content": "hi"}\n{"role": 1}]', "line 4: not valid JSON"),
        (b'{"role": "user", "content": "h', "line 1: not valid JSON"),
        (b'{"role": "user", "cont\n{"role": "user", "content": "hi"}\n', "line 1: not valid JSON"),
        (b'{"role": "user", "content": "hi"}\n\n{"role": "user", "conte', "line 3: not valid JSON"),
        (b'{"role": "user", "content": "hi"} trailing', "line 1: not valid JSON: extra data at column 35"),
        (b"[" * 100_000, "line 1: not valid JSON: nested too deeply"),
        (b'{"a":' * 100_000, "line 1: not valid JSON: nested too deeply"),
        (b"[" + b"9" * 10_000 + b"]", "line 1: not valid JSON"),
        (gzip.compress(b'{"role": "user", "content": "hi"}')[:-12], "the gzip data is cut off or damaged"),
        (b"\x1f\x8bnot gzip at all", "the gzip data is cut off or damaged"),
        (gzip.compress(b'{"n": 1}')[:12] + b"\xff" * 40, "the gzip data is cut off or damaged"),
    ],
)
def test_what_is_no_json_says_where_and_what(tmp_path, content, expected):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    message = refusal(path)
    assert expected in message
    assert len(message) < 400


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"foo": 1, "bar": 2}, "line 1: found an object with the keys 'foo', 'bar'; it should be"),
        ([1, 2], "record 1: found 1; it should be"),
        (["hello"], "record 1: found 'hello'"),
        ([None], "record 1: found None"),
        ([[HELLO]], "record 1: found a list of 1"),
        ({}, "found an empty object"),
        ([{"messages": [HELLO]}], "record 1: found an object with the keys 'messages'"),
        ([{f"key{n}": n for n in range(50)}], "'key5', ...;"),
        (["x" * 10_000], "..."),
    ],
)
def test_json_of_no_known_format_says_what_was_found_and_what_is_read(tmp_path, value, expected):
    path = tmp_path / "other.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    message = refusal(path)
    assert expected in message
    assert "LoCoMo" in message
    assert "LongMemEval" in message
    assert "chat message" in message
    assert len(message) < 600
