"""A file as JSON records, each with its place, so that an error can say where it is."""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from memorai_core.errors import FormatError

GZIP_MAGIC = b"\x1f\x8b"
UTF8_BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a file."""

    path: Path
    where: str = ""
    """As in "line 3", or "record 3" of a JSON array; empty for the file as a whole."""

    def __str__(self) -> str:
        return f"{self.path}, {self.where}" if self.where else str(self.path)

    def within(self, part: str) -> "Place":
        """A named part of what stands here."""
        return Place(self.path, f"{self.where}, {part}" if self.where else part)

    def error(self, problem: str) -> FormatError:
        """The error to raise for what stands here; `problem` says what was found and the fix."""
        return FormatError(f"{self}: {problem}")


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value of a file, and where it stands there."""

    value: object
    place: Place

    def parse(self, shape: type[Shape]) -> Shape:
        """The value as a `shape`; raises FormatError with the first thing that does not fit."""
        try:
            return shape.model_validate(self.value)
        except ValidationError as refused:
            raise self.place.error(describe(refused)) from None


def describe(refused: ValidationError) -> str:
    """Says the first thing a validation refused: where in the record, what was wrong, what was found."""
    first = refused.errors(include_url=False)[0]
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]).lstrip(".")
    more = f" (and {refused.error_count() - 1} more)" if refused.error_count() > 1 else ""
    found = "" if first["type"] == "missing" else f", found {shown(first['input'])}"
    return f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}{found}{more}" if where else f"{first['msg']}{found}{more}"


def shown(value: object) -> str:
    """A JSON value as an error message shows it: short and on one line."""
    if isinstance(value, dict):
        keys = ", ".join(repr(key)[:40] for key in list(value)[:6])
        return f"an object with the keys {keys}{', ...' if len(value) > 6 else ''}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_records(path: Path) -> Iterator[Record]:
    """The records of a JSON or JSONL file, gzipped or not: a JSON array's elements, an object, or JSONL's lines as they are read.

    Raises FormatError for a file that is missing, empty, not UTF-8 or not JSON.
    """
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == GZIP_MAGIC
            # GzipFile has all that is used of a BufferedReader here: peek, and iteration over lines.
            stream = cast(BufferedReader, gzip.GzipFile(fileobj=raw)) if packed else raw
            _refuse_what_cannot_be_json(stream.peek(1024)[:1024], path)
            yield from _records(stream, path)
    except FileNotFoundError:
        raise Place(path).error("there is no such file") from None
    except IsADirectoryError:
        raise Place(path).error("this is a directory; name a file in it") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as broken:
        raise Place(path).error(f"the gzip data is cut off or damaged ({broken}); fetch or pack the file again") from None
    except OSError as failed:
        raise Place(path).error(f"cannot be read ({failed.strerror or failed})") from failed


def _refuse_what_cannot_be_json(head: bytes, path: Path) -> None:
    """Looks at the first bytes only, so that a large binary file is not read to its first line end."""
    if head.startswith(UTF16_BOMS):
        raise Place(path).error("this is UTF-16 text; save it as UTF-8")
    start = head.removeprefix(UTF8_BOM).lstrip(b" \t\r\n")
    if start and start[:1] not in (b"{", b"["):
        raise Place(path).error(f"not JSON or JSONL: it starts with {ascii(start[:12])[1:]}, where a {{ or [ should be")


def _records(stream: BufferedReader, path: Path) -> Iterator[Record]:
    lines = _lines(stream, path)
    number, first = next((line for line in lines if line[1].strip()), (0, ""))
    if not first:
        raise Place(path).error("the file is empty; it should hold JSON or JSONL")
    if first.lstrip().startswith("{"):
        try:
            yield Record(json.loads(first), Place(path, f"line {number}"))
        except (ValueError, RecursionError):
            pass  # an object laid out over several lines, or a broken first line
        else:
            for number, text in lines:
                if text.strip():
                    yield Record(_parsed(text, path, number), Place(path, f"line {number}"))
            return
    yield from _whole(number, [first, *(text for _, text in lines)], path)


def _whole(number: int, lines: list[str], path: Path) -> Iterator[Record]:
    """The records of a file that is one JSON value; `number` is the line it starts on."""
    try:
        value = json.loads("".join(lines))
    except (ValueError, RecursionError) as broken:
        if lines[0].lstrip().startswith("{") and _is_object(next((text for text in lines[1:] if text.strip()), "")):
            _parsed(lines[0], path, number)  # JSONL with a broken first line, where the error belongs: raises
        line = number + broken.lineno - 1 if isinstance(broken, json.JSONDecodeError) else number
        raise _not_json(path, line, broken) from None
    if not isinstance(value, list):
        yield Record(value, Place(path))
        return
    if not value:
        raise Place(path).error("an empty list; it should hold messages or conversations")
    for count, element in enumerate(value, start=1):
        yield Record(element, Place(path, f"record {count}"))


def _lines(stream: BufferedReader, path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their ends, numbered from 1; decoded one by one, so that an error names the line."""
    for number, line in enumerate(stream, start=1):
        try:
            yield number, (line.removeprefix(UTF8_BOM) if number == 1 else line).decode("utf-8")
        except UnicodeDecodeError as wrong:
            byte = line[wrong.start]
            raise Place(path, f"line {number}").error(f"not UTF-8 text (byte 0x{byte:02x}); save the file as UTF-8") from None


def _parsed(text: str, path: Path, number: int) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as broken:
        raise _not_json(path, number, broken) from None
    return value


def _not_json(path: Path, line: int, broken: Exception) -> FormatError:
    """The parser's own words for what it found; a bare ValueError is a number too long, a RecursionError brackets too deep."""
    if isinstance(broken, json.JSONDecodeError):
        what = f"{broken.msg[:1].lower()}{broken.msg[1:]} at column {broken.colno}"
    else:
        what = "nested too deeply" if isinstance(broken, RecursionError) else str(broken).split(";")[0]
    return Place(path, f"line {line}").error(
        f"not valid JSON: {what}; the file may be cut off or hand-edited: mend the line or export it again"
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
