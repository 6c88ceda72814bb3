"""The `memorai` command. Exit codes: 0 done, 1 a clear error on standard error, 2 wrong usage."""

import sys
from io import TextIOWrapper

import typer
from typer.core import TyperGroup

from memorai_core.bench.cli import app as bench
from memorai_core.cli.asking import ask
from memorai_core.cli.demo import demo
from memorai_core.cli.exporting import export
from memorai_core.cli.forgetting import forget
from memorai_core.cli.ingesting import index, ingest
from memorai_core.cli.output import notes
from memorai_core.cli.reading import explain, search, stats
from memorai_core.cli.showing import show
from memorai_core.errors import MemoraiError

__all__ = ["app"]

INTERRUPTED = 130
"""What shells say of a program stopped with Ctrl-C."""


class _Commands(TyperGroup):
    """Tells memorai's own errors in a line; any other is a defect, and keeps its traceback."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal that cannot show a letter shows "?"
        try:
            return super().invoke(ctx)
        except MemoraiError as error:
            notes().print(f"memorai: {error}")
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            notes().print("memorai: stopped; what was stored stays, and the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A long-term memory for chats that can be audited, turn by turn. Start with `memorai demo`.",
)
for command in (demo, ingest, index, search, ask, show, explain, stats, export, forget):
    app.command()(command)
app.add_typer(bench, name="bench")
