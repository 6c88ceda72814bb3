"""What a system made of a conversation, kept on disk so that a stopped run goes on where it was."""

import json
import sqlite3
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from memorai_core.bench.systems import IndexStatistics
from memorai_core.bench.units import Unit

SCHEMA = "CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, outcome TEXT NOT NULL)"


class Ranked(BaseModel):
    """One question's ranking."""

    model_config = ConfigDict(frozen=True)

    best: Mapping[Unit, tuple[int, ...]]
    """The first DEPTH units of each kind."""
    milliseconds: float
    """Of the ranking of utterances alone, the query's vector being given."""
    embed_milliseconds: float
    """What the query's vector took when it was made."""
    measured: Mapping[str, float] = {}
    """What the system says of this ranking, by name."""


class Outcome(BaseModel):
    """One system's index and rankings of one conversation."""

    model_config = ConfigDict(frozen=True)

    ranked: Mapping[str, Ranked]
    """By question id, for the questions with evidence."""
    statistics: IndexStatistics
    seconds: float
    """To index, the embedder's work included as it would be without a cache."""
    embedding_seconds: float


class Outcomes:
    """Finished outcomes in one SQLite file under a folder, by a key that names all they depend on."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(folder / "outcomes.sqlite", timeout=60)
        self._connection.execute(SCHEMA)

    def get(self, key: str) -> Outcome | None:
        """The outcome of this key, if it is there."""
        row = self._connection.execute("SELECT outcome FROM outcomes WHERE key = ?", [key]).fetchone()
        return Outcome.model_validate_json(row[0]) if row else None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keeps an outcome for good."""
        with self._connection:
            self._connection.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", [key, outcome.model_dump_json()])

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


def outcome_key(**parts: object) -> str:
    """A sha256 over everything an outcome depends on, as JSON."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def code_digest() -> str:
    """A sha256 over the source of memorai_core, so that no figure outlives the code that made it."""
    root = Path(__file__).parent.parent
    whole = sha256()
    for path in sorted(root.rglob("*.py")):
        whole.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return whole.hexdigest()
