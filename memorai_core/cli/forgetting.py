"""`memorai forget`: a turn, a session or a user taken back."""

from typing import TYPE_CHECKING, Annotated

import typer

from memorai_core.cli.options import AsJson, Database, User, open_memory
from memorai_core.cli.output import console, counted, print_json
from memorai_core.errors import UnknownTurnError
from memorai_core.models import Turn

if TYPE_CHECKING:
    from memorai_core.memory import Memory


def forget(
    db: Database,
    user: User,
    turn: Annotated[str | None, typer.Option("--turn", metavar="ID", help="One turn, by its id or the start of it.")] = None,
    session: Annotated[str | None, typer.Option("--session", metavar="ID", help="One session.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="All of this user's memory.")] = False,
    json: AsJson = False,
) -> None:
    """Delete a turn, a session or a user, and all that was derived from it."""
    if (turn is not None) + (session is not None) + everything != 1:
        raise typer.BadParameter("give exactly one of --turn, --session and --everything")
    with open_memory(db) as memory:
        if turn is not None:
            turn = _whole_id(memory, turn, user)
            report = memory.forget(user_id=user, turn_id=turn)
        elif session is not None:
            report = memory.forget(user_id=user, session_id=session)
        else:
            report = memory.forget(user_id=user, everything=True)
    if json:
        print_json({"user_id": user, "forgotten": report})
        return
    console().print(
        f"Forgot {counted(report.turns, 'turn')}, and with it {counted(report.segments, 'segment')}, "
        f"{counted(report.triplets, 'triplet')} and {counted(report.entities, 'entity')}."
    )


def _whole_id(memory: "Memory", start: str, user: str) -> str:
    found = memory.show(start, user_id=user)
    if not isinstance(found.subject, Turn):
        raise UnknownTurnError(f"{start!r} is the id of {'an' if found.kind == 'entity' else 'a'} {found.kind}, not of a turn")
    return found.subject.turn_id
