"""`memorai search`, `memorai explain` and `memorai stats`."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memorai_core.cli.options import AnyUser, AsJson, Count, Database, User, open_memory
from memorai_core.cli.output import Json, as_json, claims, clipped, console, counted, indented, plain, print_json, short, when
from memorai_core.errors import UnknownTurnError
from memorai_core.models import EvidenceTurn, Explanation, Segment, Turn

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memorai_core.memory import Memory

TURN_FIELDS = ("turn_id", "source_id", "session_id", "speaker", "text", "timestamp", "score", "triplets")
"""A turn as `search --json` prints it."""
SHARES = 6
"""Contributions shown of a turn."""
Query = Annotated[str, typer.Argument(help="What to look for, in plain words.")]


def search(query: Query, db: Database, user: User, k: Count = 10, json: AsJson = False) -> None:
    """Find the turns that bear on a question, with the triplets that cite them."""
    with open_memory(db) as memory:
        evidence = memory.retrieve(query, user_id=user, k=k)
    if json:
        print_json({"query": evidence.query, "turns": [_as_found(turn) for turn in evidence.turns], "timings_ms": evidence.timings_ms})
        return
    out = console()
    for rank, turn in enumerate(evidence.turns, start=1):
        out.print(*found(rank, turn), "", sep="\n")
    out.print(Text(f"{counted(len(evidence.turns), 'turn')} in {evidence.timings_ms.get('total', 0.0):.0f} ms", style="dim"))


def explain(
    query: Query,
    db: Database,
    user: User,
    k: Count = 3,
    turn: Annotated[str | None, typer.Option("--turn", help="Explain only this turn: an id or the start of one.")] = None,
    json: AsJson = False,
) -> None:
    """Show where each turn's score comes from: the query itself, and what flows in through the graph."""
    with open_memory(db) as memory:
        evidence = memory.retrieve(query, user_id=user, k=k)
        turns = [found for found in evidence.turns if turn is None or found.turn_id.startswith(turn)]
        if turn is not None and len(turns) != 1:
            raise UnknownTurnError(
                f"{turn!r} is the id of {len(turns) or 'none'} of the {len(evidence.turns)} turns found; see search, or raise -k"
            )
        explained = [(found, memory.explain(evidence, found.turn_id)) for found in turns]
        labels = {} if json else _labels(memory, [explanation for _, explanation in explained])
    if json:
        print_json({"query": evidence.query, "turns": [_as_explained(*pair) for pair in explained]})
        return
    out = console()
    for rank, (found, explanation) in enumerate(explained, start=1):
        out.print(heading(rank, found), indented(clipped(found.text, 160)), indented(_shares(explanation, labels)), "", sep="\n")


def stats(db: Database, user: AnyUser = None, json: AsJson = False) -> None:
    """Count what is stored, user by user."""
    with open_memory(db) as memory:
        counts = memory.stats(user)
    if json:
        print_json({"users": counts})
        return
    names = ("sessions", "turns", "pending", "dropped", "segments", "entities", "triplets")  # as many as 80 columns hold
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("user", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for one in counts:
        table.add_row(plain(one.user_id), *(f"{getattr(one, name):,}" for name in names))
    console().print(table)


def heading(rank: int, turn: EvidenceTurn) -> Text:
    """A found turn's line: who, when, under which ids, with what score."""
    line = Text(f"{rank:>2}  ", style="bold")
    line.append(plain(turn.speaker), style="bold cyan").append(f"  {when(turn.timestamp)}", style="cyan")
    source = f" ({plain(turn.source_id)})" if turn.source_id else ""
    return line.append(
        f"  turn {short(turn.turn_id)}{source}  " + ("by likeness" if turn.filled else f"score {turn.score:.3f}"), style="dim"
    )


def found(rank: int, turn: EvidenceTurn, *, triplets: int = 3) -> Iterable["RenderableType"]:
    """A found turn as a few lines: its heading, its text, the triplets that cite it."""
    yield heading(rank, turn)
    yield indented(clipped(turn.text) or "(no text)")
    for line in claims(turn.triplets, lines=triplets):
        yield indented(line, 6)


def _as_found(turn: EvidenceTurn) -> dict[str, Json]:
    return {name: as_json(getattr(turn, name)) for name in TURN_FIELDS}


def _as_explained(turn: EvidenceTurn, explanation: Explanation) -> dict[str, object]:
    return {"turn_id": turn.turn_id, "source_id": turn.source_id, "score": explanation.score, "contributions": explanation.contributions}


def _labels(memory: "Memory", explanations: Iterable[Explanation]) -> dict[str, str]:
    """What people are told of the turns and segments shown: not an id but the first words."""
    labels: dict[str, str] = {}
    for part in (part for explanation in explanations for part in explanation.contributions[:SHARES]):
        if part.kind in ("turn", "segment") and part.node_id not in labels:
            subject = memory.show(part.node_id).subject
            if isinstance(subject, Turn):
                labels[part.node_id] = f"{subject.speaker}: {subject.text}"
            elif isinstance(subject, Segment):
                labels[part.node_id] = subject.summary
    return labels


def _shares(explanation: Explanation, labels: Mapping[str, str]) -> "RenderableType":
    """The largest contributions as bars; the rest as one."""
    if not explanation.contributions:
        return Text("Found by likeness alone, outside the query's subgraph.", style="dim")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    rows = [(part.kind, labels.get(part.node_id, part.label), part.amount) for part in explanation.contributions]
    rest = rows[SHARES:]
    shown: list[tuple[str, str, float]] = [*rows[:SHARES]]
    if rest:
        shown.append(("", f"{len(rest)} more", sum(amount for _, _, amount in rest)))
    for kind, label, amount in shown:
        share = amount / explanation.score if explanation.score else 0.0
        bar = Text("█" * max(1, round(share * 20)), style="green" if kind == "seed" else "cyan")
        table.add_row(f"{share:>4.0%}", bar, Text(kind, style="dim"), clipped(label.replace("\n", " "), 48))
    return table
