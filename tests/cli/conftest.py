import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .running import FRIENDS, USER, Outcome, inside, process


@pytest.fixture(scope="session")
def ingested(tmp_path_factory) -> tuple[Path, Outcome]:
    db = tmp_path_factory.mktemp("cli") / "friends.db"
    return db, process("ingest", FRIENDS, "--db", db, "--json")


@pytest.fixture(scope="session")
def db(ingested) -> Path:
    return ingested[0]


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    def to_file(*messages: object, name: str = "chat.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
        return path

    return to_file


@pytest.fixture(scope="session")
def walnuts(db):
    """The turn that tells of the allergy, as `search --json` gives it."""
    turns = inside("search", "What is Bram allergic to?", "--db", db, "--user", USER, "--json").json["turns"]
    return next(turn for turn in turns if turn["source_id"] == "1.18")
