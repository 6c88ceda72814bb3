"""`memorai show`: one turn, segment, entity or triplet, where it came from and what rests on it."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from memorai_core.cli.options import AnyUser, AsJson, Database, open_memory
from memorai_core.cli.output import clipped, console, counted, indented, plain, print_json, short, when
from memorai_core.models import Entity, Segment, Triplet, Turn
from memorai_core.reports import Audit

LISTED = 12
"""Rows of a list; --json has them all."""


def show(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of a turn, segment, entity or triplet, or the start of one.")],
    db: Database,
    user: AnyUser = None,
    json: AsJson = False,
) -> None:
    """Audit one turn, segment, entity or triplet: its text, where it came from, what cites it."""
    with open_memory(db) as memory:
        audit = memory.show(id, user_id=user)
    if json:
        print_json(audit)
        return
    out = console()
    subject = audit.subject
    out.print(_title(audit.kind, _id(subject)).append(f"  of {plain(audit.user_id)}", style="dim"))
    out.print(indented(_body(subject), 2))
    for title, rows in _parts(audit):
        if rows:
            out.print("", Text(title, style="bold"), *(indented(row, 2) for row in islice(rows, LISTED)), sep="\n")
        if len(rows) > LISTED:
            out.print(indented(Text(f"and {len(rows) - LISTED} more; --json has them all", style="dim"), 2))


def _parts(audit: Audit) -> Iterable[tuple[str, Sequence[RenderableType]]]:
    """The lists under the subject, each with its title."""
    subject = audit.subject
    if audit.segment is not None and not isinstance(subject, Segment):
        yield "Its segment", [_segment_row(audit.segment)]
    if isinstance(subject, Entity):
        yield "What is said of it", [_claim(part.text, f"segment {short(part.segment_id)}") for part in subject.descriptions]
    if not isinstance(subject, Turn):
        title = {"segment": "Its turns", "entity": "The turns that mention it", "triplet": "The turns it rests on"}[audit.kind]
        yield f"{title} ({len(audit.turns)})", [_turn_row(turn) for turn in audit.turns]
    if not isinstance(subject, Triplet):
        title = {"turn": "The triplets that cite it", "segment": "The triplets from it", "entity": "Its triplets"}[audit.kind]
        yield f"{title} ({len(audit.triplets)})", [_triplet_row(triplet) for triplet in audit.triplets]
    if not isinstance(subject, Entity):
        yield f"Entities ({len(audit.entities)})", [_entities(audit.entities)] if audit.entities else []


def _body(subject: Turn | Segment | Entity | Triplet) -> RenderableType:
    """What the subject itself says, whole."""
    if isinstance(subject, Turn):
        fate = {True: "kept by the memory gate", False: "dropped by the memory gate", None: "not indexed yet"}[subject.kept]
        moment = f"{when(subject.timestamp)}{' (inferred)' if subject.timestamp and subject.timestamp_inferred else ''}"
        source = f", source id {plain(subject.source_id)}" if subject.source_id else ""
        where = f"session {plain(subject.session_id)}, position {subject.position}{source}, {fate}"
        who = Text(plain(subject.speaker), style="bold cyan").append(f" ({plain(subject.role)}), {moment}", style="cyan")
        return Group(who, Text(where, style="dim"), Text(plain(subject.text) or "(no text)"))
    if isinstance(subject, Segment):
        made = f"session {plain(subject.session_id)}, {counted(len(subject.turn_ids), 'turn')}, summary by {plain(subject.made_by)}"
        return Group(Text(made, style="dim"), Text(plain(subject.summary) or "(no summary)"))
    if isinstance(subject, Entity):
        return Text(plain(subject.name), style="bold green")
    return Group(
        Text(_spelt(subject), style="bold green"),
        Text(plain(subject.description)),
        Text(f"{subject.origin}, made by {plain(subject.made_by)}", style="dim"),
    )


def _title(kind: str, node_id: str) -> Text:
    return Text(kind, style="bold yellow").append(f"  {node_id}", style="dim")


def _id(subject: Turn | Segment | Entity | Triplet) -> str:
    if isinstance(subject, Turn):
        return subject.turn_id
    if isinstance(subject, Segment):
        return subject.segment_id
    return subject.entity_id if isinstance(subject, Entity) else subject.triplet_id


def _turn_row(turn: Turn) -> Text:
    row = Text(f"{short(turn.turn_id)}  ", style="dim").append(f"{plain(turn.speaker)}, {when(turn.timestamp)}: ", style="cyan")
    return row.append(clipped(turn.text, 200), style="").append("  dropped" if turn.kept is False else "", style="dim")


def _triplet_row(triplet: Triplet) -> Text:
    origin = "" if triplet.origin == "extractive" else f"  {triplet.origin}"
    return Text(f"{short(triplet.triplet_id)}  ", style="dim").append(_spelt(triplet), style="green").append(origin, style="dim")


def _segment_row(segment: Segment) -> Text:
    return Text(f"{short(segment.segment_id)}  ", style="dim").append(clipped(segment.summary, 300), style="")


def _claim(text: str, source: str) -> Text:
    return Text(clipped(text, 200)).append(f"  {source}", style="dim")


def _entities(entities: Sequence[Entity]) -> Text:
    shown = Text()
    for entity in entities[: 2 * LISTED]:
        shown.append(f"{clipped(entity.name, 40)} ", style="green").append(f"{short(entity.entity_id)}   ", style="dim")
    return shown


def _spelt(triplet: Triplet) -> str:
    return f"{clipped(triplet.subject, 80)} {clipped(triplet.relation, 80)} > {clipped(triplet.object, 80)}"
