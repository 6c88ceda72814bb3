import re
from datetime import UTC, datetime
from functools import partial
from io import StringIO

import pytest
from rich.console import Console

from memorai_core.cli import output
from memorai_core.cli.ingesting import added
from memorai_core.cli.output import as_json, claims, clipped, counted, plain, when
from memorai_core.models import Triplet
from memorai_core.reports import IndexReport

from .running import inside, process, said


def test_reports_are_added_up():
    first = IndexReport(sessions=1, turns=2, seconds=0.5, rejected={"json": 1})
    second = IndexReport(sessions=2, turns=3, seconds=0.25, rejected={"json": 1, "grounding": 4})
    assert added([first, second]) == IndexReport(sessions=3, turns=5, seconds=0.75, rejected={"json": 2, "grounding": 4})
    assert added([]) == IndexReport()


def test_texts_are_made_fit_to_print():
    assert plain("a\x00\x1b\x9b\r\n\tb") == "a\ufffd\ufffd\ufffd\ufffd\n\tb"
    assert clipped("word " * 10, 12) == "word word ..."
    assert clipped("x" * 50, 10) == "x" * 10 + " ..."
    assert clipped("short", 10) == "short"
    assert when(datetime(2025, 5, 1, 9, 5, tzinfo=UTC)) == "1 May 2025 09:05"
    assert when(None) == "undated"
    numbers = [counted(1, "turn"), counted(2760, "turn"), counted(1, "entity"), counted(2, "entity")]
    assert numbers == ["1 turn", "2,760 turns", "1 entity", "2 entities"]


def test_triplets_are_gathered_by_subject_and_relation_with_a_models_first():
    def triplet(subject: str, relation: str, thing: str, origin: str) -> Triplet:
        return Triplet(thing, subject, relation, thing, "", ("t",), "s", origin, origin)  # type: ignore[arg-type]

    said = [triplet("Ana", "speaks_of", f"thing{number}", "extractive") for number in range(8)]
    lines = claims([*said, triplet("Ana", "lives_in", "Oslo", "model")])
    assert [line.plain for line in lines] == [
        "Ana lives_in > Oslo",
        "Ana speaks_of > thing0 · thing1 · thing2 · thing3 · thing4 · thing5 +2",
    ]
    assert [line.plain for line in claims([*said, triplet("Ana", "lives_in", "Oslo", "model")], lines=1)][-1] == "and 1 more"


def test_what_has_no_form_in_json_is_refused():
    with pytest.raises(TypeError, match="object has no form"):
        as_json(object())


def test_progress_is_for_terminals_and_gives_rate_and_time_left(monkeypatch):
    for terminal, quiet, shown in ((True, False, True), (True, True, False), (False, False, False)):
        written = StringIO()
        monkeypatch.setattr(output, "notes", partial(Console, file=written, force_terminal=terminal, width=100))
        clock = iter(range(0, 10_000, 2))
        with output.progress(quiet=quiet) as bar:
            bar.get_time = lambda clock=clock: next(clock)
            task = bar.add_task("Indexing", total=400)
            for _ in range(3):
                bar.advance(task, 100)
            bar.refresh()
        text = written.getvalue()
        assert ("Indexing" in text) is shown
        assert ("300/400" in text) is shown
        assert bool(re.search(r"\d+ turns/s", text)) is shown
        assert bool(re.search(r"\d\d:\d\d", text)) is shown


def test_json_is_utf8_whatever_the_terminal_writes(write, tmp_path):
    db = tmp_path / "chat.db"
    inside("ingest", write(said("Καλημέρα, 早上好")), "--db", db)
    found = process("search", "早上好", "--db", db, "--user", "chat", "--json", PYTHONIOENCODING="ascii")
    assert found.json["turns"][0]["text"] == "Καλημέρα, 早上好"
    people = process("search", "早上好", "--db", db, "--user", "chat", PYTHONIOENCODING="ascii")
    assert (people.code, people.err) == (0, "")
    assert "????????, ???" in people.out
