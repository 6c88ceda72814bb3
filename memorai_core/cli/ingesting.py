"""`memorai ingest` and `memorai index`: files into a memory."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memorai_core.cli.options import AnyUser, AsJson, Database, Model, open_memory
from memorai_core.cli.output import console, counted, print_json, progress
from memorai_core.reports import IndexReport

if TYPE_CHECKING:
    from rich.progress import Progress

    from memorai_core.formats import Conversation
    from memorai_core.memory import Memory


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one `ingest` did."""

    path: str
    users: list[str]
    sessions: int
    turns: int
    """Messages in the file."""
    new: int
    """Those of them that were not stored before."""
    index: IndexReport | None
    """None with --no-index."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A file that was read through once and found sound."""

    path: Path
    users: list[str]
    sessions: int
    turns: int
    read: "Callable[[], Iterator[Conversation]]"
    """Reads it again."""


def ingest(
    path: Annotated[Path, typer.Argument(help="LoCoMo, LongMemEval or chat messages; JSON or JSONL, gzipped or not.")],
    db: Database,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Whose memory; by default the file's own ids.")] = None,
    no_index: Annotated[bool, typer.Option("--no-index", help="Store only; `memorai index` does the rest.")] = False,
    model: Model = None,
    json: AsJson = False,
) -> None:
    """Store the conversations of a file and index them. Run again, it goes on where it stopped."""
    file = survey(path, user)
    with open_memory(db, new=True, model=model) as memory, progress(quiet=json) as bar:
        report = ingest_all(memory, file, bar, index=not no_index)
    if json:
        print_json(report)
        return
    out = console()
    who = report.users[0] if len(report.users) == 1 else counted(len(report.users), "user")
    out.print(f"{path}: {counted(report.turns, 'turn')} in {counted(report.sessions, 'session')} of {who}, {report.new:,} of them new")
    if report.index:
        out.print(told(report.index))


def index(
    db: Database,
    user: AnyUser = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Derive everything anew, not only what is pending.")] = False,
    model: Model = None,
    json: AsJson = False,
) -> None:
    """Index what is stored and not indexed yet."""
    with open_memory(db, model=model) as memory, progress(quiet=json) as bar:
        users = [user] if user is not None else memory.users()
        report = index_all(memory, users, bar, rebuild=rebuild)
    if json:
        print_json({"users": users, "index": report})
    else:
        console().print(told(report))


def survey(path: Path, user: str | None = None) -> Surveyed:
    """Reads a file through and keeps only counts, so that one that breaks off halfway stores nothing."""
    from memorai_core.formats import read_conversations

    def read() -> "Iterator[Conversation]":
        return read_conversations(path, user_id=user)

    if not path.is_file():  # a pipe can be read once only; what is not there is told by the reader
        kept = list(read())
        return _surveyed(path, lambda: iter(kept))
    return _surveyed(path, read)


def _surveyed(path: Path, read: "Callable[[], Iterator[Conversation]]") -> Surveyed:
    users: list[str] = []
    sessions = turns = 0
    for conversation in read():
        users.append(conversation.user_id)
        sessions += len(conversation.sessions)
        turns += sum(len(session.messages) for session in conversation.sessions)
    return Surveyed(path, users, sessions, turns, read)


def ingest_all(memory: "Memory", file: Surveyed, bar: "Progress", *, index: bool = True) -> Ingested:
    """Appends a file's conversations, all of them before the first is indexed, so that what was read is safe early."""
    before = _stored(memory, file.users)
    storing = bar.add_task("Storing", total=file.turns)
    for conversation in file.read():
        for session in conversation.sessions:
            memory.append(session.messages, user_id=conversation.user_id, session_id=session.session_id)
            bar.advance(storing, len(session.messages))
    new = _stored(memory, file.users) - before
    report = index_all(memory, file.users, bar) if index else None
    return Ingested(str(file.path), file.users, file.sessions, file.turns, new, report)


def index_all(memory: "Memory", users: Sequence[str], bar: "Progress", *, rebuild: bool = False) -> IndexReport:
    """Indexes users one after the other, under one bar over all their turns."""
    expected = {}
    for user in users:
        (stats,) = memory.stats(user)
        expected[user] = stats.turns if rebuild else stats.pending
    indexing = bar.add_task("Indexing", total=sum(expected.values()))
    reports = []
    done = 0
    for user in users:

        def moved(turns: int, in_all: int, user: str = user, done: int = done) -> None:
            # An open segment is analysed again with what follows it, so a user's turns can be more than the pending ones.
            expected[user] = in_all
            bar.update(indexing, completed=done + turns, total=sum(expected.values()))

        reports.append(memory.index(user_id=user, rebuild=rebuild, progress=moved))
        done += expected[user]
        bar.update(indexing, completed=done)
    return added(reports)


def added(reports: Iterable[IndexReport]) -> IndexReport:
    """Several reports as one."""
    totals: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    for report in reports:
        rejected.update(report.rejected)
        totals.update({field.name: getattr(report, field.name) for field in fields(report) if field.name != "rejected"})
    return IndexReport(**totals, rejected=dict(rejected))


def told(report: IndexReport) -> str:
    """A report in a sentence or two."""
    if not report.turns:
        return "Nothing was left to index."
    text = (
        f"Indexed {counted(report.turns, 'turn')} in {report.seconds:.1f} s: {counted(report.segments, 'segment')}, "
        f"{report.kept:,} turns kept and {report.dropped:,} dropped by the memory gate, "
        f"{counted(report.triplets, 'triplet')}, {report.entities:,} entities"
    )
    if report.calls:
        text += f"\n{counted(report.calls, 'model call')}, {report.input_tokens:,} tokens in, {report.output_tokens:,} out"
    if report.rejected:
        text += f"\nRejected: {', '.join(f'{count} {kind}' for kind, count in sorted(report.rejected.items()))}"
    return text


def _stored(memory: "Memory", users: Sequence[str]) -> int:
    known = set(memory.users())
    return sum(memory.stats(user)[0].turns for user in users if user in known)
