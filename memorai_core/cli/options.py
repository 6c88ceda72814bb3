"""The options the commands share, and the way each command gets at its memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from memorai_core.errors import StoreError

if TYPE_CHECKING:
    from memorai_core.memory import Memory

Database: TypeAlias = Annotated[Path, typer.Option("--db", metavar="FILE", help="The memory's file.")]
User: TypeAlias = Annotated[str, typer.Option("--user", "-u", help="Whose memory.")]
AnyUser: TypeAlias = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory; everyone's if left out.")]
Count: TypeAlias = Annotated[int, typer.Option("-k", min=1, help="How many turns.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON to standard output, and nothing else.")]


@contextmanager
def open_memory(db: Path, *, new: bool = False) -> Iterator["Memory"]:
    """The memory in a file; unless `new`, one that is not there is an error rather than an empty memory."""
    from memorai_core.memory import Memory

    if not new and not db.exists():
        raise StoreError(f"{db}: there is no such file; make one with `memorai ingest PATH --db {db}`")
    with Memory.open(db) as memory:
        yield memory
