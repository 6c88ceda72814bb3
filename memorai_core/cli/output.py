"""What the commands print: JSON for programs, and for people text that fits a terminal."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from memorai_core.models import Triplet

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SHORT_ID = 10
"""Characters of an id that people are shown; `show` finds the rest."""
LONGEST_TEXT = 500
"""Characters of a turn in a list of turns; `show` gives the whole."""

# What a terminal would obey rather than print; messages come from anyone. Tabs and line ends stay.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def console() -> Console:
    """Standard output; nothing in a user's text is taken for markup."""
    return Console(markup=False, highlight=False, soft_wrap=False)


def notes() -> Console:
    """Standard error, for what is not a result."""
    return Console(stderr=True, markup=False, highlight=False, soft_wrap=True)


def print_json(value: object) -> None:
    """Writes a value as JSON; dataclasses as objects, dates in ISO 8601."""
    print_text(json.dumps(as_json(value), ensure_ascii=False, indent=2) + "\n")


def print_text(text: str) -> None:
    """Writes what another program is to read: always UTF-8, whatever the terminal's letters are."""
    typer.echo(text.encode("utf-8", "replace"), nl=False)


def as_json(value: object) -> Json:
    """A value as JSON has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Iterable):
        return [as_json(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def plain(text: str) -> str:
    """A text from outside without anything a terminal would obey."""
    return text.translate(_CONTROLS)


def clipped(text: str, longest: int = LONGEST_TEXT) -> str:
    """A text as `plain`, cut at a space where it is longer than `longest`."""
    text = plain(text)
    if len(text) <= longest:
        return text
    head = text[:longest]
    return f"{head[: head.rfind(' ')] if ' ' in head[longest // 2 :] else head} ..."


def when(moment: datetime | None) -> str:
    """A date as people read it, in UTC."""
    return f"{moment.day} {moment:%b %Y %H:%M}" if moment else "undated"


def counted(count: int, noun: str) -> str:
    """As in "1 turn", "2,760 turns"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def short(node_id: str) -> str:
    """The first characters of an id."""
    return node_id[:SHORT_ID]


def indented(text: "RenderableType", by: int = 4) -> Padding:
    """Anything set in from the left."""
    return Padding(text, (0, 0, 0, by))


def claims(triplets: Iterable[Triplet], *, lines: int = 3) -> list[Text]:
    """Triplets, a line for each subject and relation with its objects; what a model or a data set made comes first."""
    ranked = sorted(triplets, key=lambda triplet: triplet.origin == "extractive")
    objects: dict[tuple[str, str], dict[str, None]] = {}
    for triplet in ranked:
        objects.setdefault((triplet.subject, triplet.relation), {})[triplet.object] = None
    found = []
    for (subject, relation), named in list(objects.items())[:lines]:
        shown = list(named)[:6]
        more = f" +{len(named) - len(shown)}" if len(named) > len(shown) else ""
        line = Text(f"{clipped(subject, 60)} ", style="green", no_wrap=True, overflow="ellipsis")
        line.append(f"{clipped(relation, 60)} > ", style="dim")
        line.append(" · ".join(clipped(name, 60) for name in shown)).append(more, style="dim")
        found.append(line)
    if len(objects) > lines:
        found.append(Text(f"and {len(objects) - lines} more", style="dim"))
    return found


def progress(*, quiet: bool) -> "Progress":
    """A progress bar over turns on standard error; nothing when `quiet` or when that is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f} turns/s" if speed else "", style="dim")

    shown = notes()
    columns = (TextColumn("{task.description:<8}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn(compact=True))
    return Progress(*columns, console=shown, disable=quiet or not shown.is_terminal)
