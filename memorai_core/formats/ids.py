"""Ids as files give them, and ids made where files give none."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, StringConstraints

from memorai_core.models import clean_text


def _number_as_text(value: object) -> object:
    """Ids are often written as whole numbers; anything else is left for the validator behind to refuse."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else clean_text(value)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("an id must not be blank")
    return text


Id = Annotated[str, StringConstraints(max_length=900), BeforeValidator(_number_as_text), AfterValidator(_not_blank)]
"""An id as a file gives it: a string, or a whole number taken as one. Leaves room for what is synthesised from it."""


def numbered(ids: Sequence[str]) -> list[str]:
    """The ids in order, made unique: the second "a" becomes "a#2", the third "a#3"."""
    used = set(ids)
    counts: dict[str, int] = {}
    unique: list[str] = []
    for name in ids:
        counts[name] = counts.get(name, 0) + 1
        chosen = name
        while counts[name] > 1 and (chosen := f"{name}#{counts[name]}") in used:
            counts[name] += 1
        used.add(chosen)
        unique.append(chosen)
    return unique


def file_stem(path: Path) -> str:
    """A file's name without its folders and its .gz, .json and .jsonl endings."""
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return str(clean_text(plain.stem)).strip() or "chat"
