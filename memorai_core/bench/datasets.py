"""A benchmark file as cases: a conversation with the questions that are asked of it."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from memorai_core.bench.names import DatasetName
from memorai_core.bench.questions import Question, locomo_questions, longmemeval_questions
from memorai_core.errors import ConfigurationError
from memorai_core.formats import Conversation, locomo, longmemeval
from memorai_core.formats.records import Record, read_records


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation, the questions asked of it, and the record they were read from."""

    conversation: Conversation
    questions: tuple[Question, ...]
    record: Record


@dataclass(frozen=True, slots=True)
class Dataset:
    """A benchmark file; it is read anew, a record at a time, on each pass over `cases`."""

    name: DatasetName
    path: Path
    sha256: str
    """Of the file's bytes."""

    def cases(self, limit: int | None = None) -> Iterator[Case]:
        """The first `limit` conversations, or all, in the file's order."""
        recognises = locomo.recognises if self.name == "locomo" else longmemeval.recognises
        read = locomo.read if self.name == "locomo" else longmemeval.read
        ask = locomo_questions if self.name == "locomo" else longmemeval_questions
        for record in islice(read_records(self.path), limit):
            if not recognises(record.value):
                raise record.place.error(f"this is not {self.name}; name the data set it is with --dataset")
            conversation = read(record)
            yield Case(conversation, ask(record, conversation), record)


def open_dataset(name: DatasetName, path: Path) -> Dataset:
    """The file at `path` as a data set; raises FormatError where it cannot be read."""
    next(read_records(path))
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return Dataset(name, path, digest.hexdigest())


def parse_categories(name: DatasetName, chosen: str | None) -> frozenset[str] | None:
    """The categories of "1-4", "2,5" or, in LongMemEval, of question types with commas between; None for all."""
    if chosen is None:
        return None
    parts = [part.strip() for part in chosen.split(",")]
    if name == "longmemeval":
        return frozenset(parts)
    numbers: set[str] = set()
    for part in parts:
        bounds = re.fullmatch(r"([1-5])(?:-([1-5]))?", part)
        if bounds is None or (bounds[2] or bounds[1]) < bounds[1]:
            raise ConfigurationError(f"--categories {chosen!r}: LoCoMo's categories are 1 to 5; write it as in 1-4 or 1,3")
        numbers |= {str(number) for number in range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1)}
    return frozenset(numbers)
