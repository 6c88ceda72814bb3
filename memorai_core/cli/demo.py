"""`memorai demo`: a conversation of two friends, remembered and asked about."""

import json as jsonlib
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from memorai_core.cli.ingesting import Ingested, ingest_all, survey, told
from memorai_core.cli.options import AsJson, open_memory
from memorai_core.cli.output import console, counted, plain, print_json, progress
from memorai_core.cli.reading import found
from memorai_core.errors import ConfigurationError
from memorai_core.models import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

CONVERSATION = "two_friends"
TURNS_A_QUESTION = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the demo, the answer its reader can check against, and what was found."""

    question: str
    answer: str
    evidence: Evidence


def demo(
    db: Annotated[Path | None, typer.Option("--db", metavar="FILE", help="Keep the demo's memory in this file.")] = None,
    json: AsJson = False,
) -> None:
    """Remember a conversation of two friends and look up six questions. No key, no server, no network."""
    from memorai_core.rendering import render_prompt

    folder = _data()
    file = survey(folder / f"{CONVERSATION}.jsonl")
    questions = jsonlib.loads((folder / f"{CONVERSATION}.questions.json").read_text(encoding="utf-8"))
    with _database(db) as database, open_memory(database, new=True) as memory, progress(quiet=json) as bar:
        ingested = ingest_all(memory, file, bar)
        asked = [
            Asked(one["question"], one["answer"], memory.retrieve(one["question"], user_id=CONVERSATION, k=TURNS_A_QUESTION))
            for one in questions
        ]
    prompt = render_prompt(asked[0].evidence, asked[0].question)
    if json:
        print_json(_as_printed(ingested, asked, prompt))
    else:
        _tell(console(), ingested, asked, prompt, db)


def _tell(out: "Console", ingested: Ingested, asked: Iterable[Asked], prompt: str, db: Path | None) -> None:
    out.print(Text("Ines and Bram", style="bold") + Text(f" wrote {counted(ingested.turns, 'message')} on {ingested.sessions} days."))
    if ingested.index:
        out.print(Text(told(ingested.index), style="dim"))
    for one in asked:
        out.print("", Rule(Text(one.question, style="bold yellow"), align="left", style="dim"), sep="\n")
        for rank, turn in enumerate(one.evidence.turns, start=1):
            out.print(*found(rank, turn, triplets=1), sep="\n")
    title = "What a chat model is given for the first question"
    out.print("", Panel(plain(prompt), title=title, title_align="left", border_style="dim"), sep="\n")
    if db is None:
        out.print(Text("Keep this memory:    memorai demo --db demo.db", style="dim"))
    out.print(Text(f"Audit any id above:  memorai show ID --db {db or 'demo.db'}", style="dim"), soft_wrap=True)
    out.print(Text("Your own chats:      memorai ingest PATH --db memory.db", style="dim"))


def _as_printed(ingested: Ingested, asked: Iterable[Asked], prompt: str) -> dict[str, object]:
    answers = [
        {"question": one.question, "answer": one.answer, "turns": one.evidence.turns, "timings_ms": one.evidence.timings_ms}
        for one in asked
    ]
    return {"ingested": ingested, "questions": answers, "prompt": prompt}


@contextmanager
def _database(db: Path | None) -> "Iterator[Path]":
    if db is not None:
        yield db
        return
    with TemporaryDirectory(prefix="memorai-demo-") as folder:
        yield Path(folder) / "demo.db"


def _data() -> Path:
    """The demo's folder: in the package as installed, or in the repository."""
    package = Path(__file__).parent.parent
    for folder in (package / "_demo", package.parent / "cookbook" / "data"):
        if (folder / f"{CONVERSATION}.jsonl").is_file():
            return folder
    raise ConfigurationError("the demo's conversation is missing from this installation; install memorai again")
