"""The options the commands share, and the way each command gets at its memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from memorai_core.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from memorai_core.memory import Memory
    from memorai_core.protocols import ChatModel

Database: TypeAlias = Annotated[Path, typer.Option("--db", metavar="FILE", help="The memory's file.")]
User: TypeAlias = Annotated[str, typer.Option("--user", "-u", help="Whose memory.")]
AnyUser: TypeAlias = Annotated[str | None, typer.Option("--user", "-u", help="Whose memory; everyone's if left out.")]
Count: TypeAlias = Annotated[int, typer.Option("-k", min=1, help="How many turns.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON to standard output, and nothing else.")]


Model: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", metavar="PROVIDER:NAME", help="A chat model that indexes, as in openai:gpt-4o-mini; none if left out."),
]


@contextmanager
def open_memory(db: Path, *, new: bool = False, model: str | None = None) -> Iterator["Memory"]:
    """The memory in a file; unless `new`, one that is not there is an error rather than an empty memory."""
    from memorai_core.memory import Memory

    if not new and not db.exists():
        raise StoreError(f"{db}: there is no such file; make one with `memorai ingest PATH --db {db}`")
    with Memory.open(db, chat_model=chat_model(model) if model else None) as memory:
        yield memory


def chat_model(name: str) -> "ChatModel":
    """The chat model of a name; the adapter that makes it is imported for it alone."""
    try:
        from memorai_langchain.named_model import named_chat_model
    except ImportError as error:
        raise ConfigurationError("--model needs an extra: pip install 'memorai-plugins[models]'") from error
    return named_chat_model(name)
