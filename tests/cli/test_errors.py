import subprocess
import sys

import pytest

from .running import FRIENDS, inside, process, said


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "hello", "--db", "{absent}", "--user", "ana"],
        ["explain", "hello", "--db", "{absent}", "--user", "ana"],
        ["show", "abc", "--db", "{absent}"],
        ["stats", "--db", "{absent}"],
        ["index", "--db", "{absent}"],
        ["export", "--db", "{absent}", "--user", "ana"],
        ["forget", "--db", "{absent}", "--user", "ana", "--everything"],
        ["ingest", "{absent}.json", "--db", "{absent}"],
        ["ingest", "{folder}", "--db", "{absent}"],
        ["ingest", "{broken}", "--db", "{absent}"],
        ["ingest", "{friends}", "--db", "{folder}"],
        ["ingest", "{friends}", "--db", "{folder}/no/such/folder.db"],
        ["ingest", "{friends}", "--db", "{broken}"],
        ["ingest", "{friends}", "--db", "{absent}", "--user", " "],
        ["stats", "--db", "{folder}"],
        ["search", "hello", "--db", "{broken}", "--user", "ana"],
        ["search", "hello", "--db", "{db}", "--user", "nobody"],
        ["explain", "hello", "--db", "{db}", "--user", "nobody"],
        ["index", "--db", "{db}", "--user", "nobody"],
        ["stats", "--db", "{db}", "--user", "nobody"],
        ["export", "--db", "{db}", "--user", "nobody"],
        ["forget", "--db", "{db}", "--user", "nobody", "--everything"],
        ["show", "ffffffffffffffff", "--db", "{db}"],
        ["show", "not-an-id", "--db", "{db}"],
        ["search", "hello", "--db", "{db}", "--user", " "],
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_clear_error_is_one_line_on_standard_error_and_exit_1(db, tmp_path, arguments, as_json):
    broken = tmp_path / "broken.json"
    broken.write_text('[{"role": "user", "content": "hi"},' + " " * 200, encoding="utf-8")
    names = {"absent": tmp_path / "absent.db", "folder": tmp_path, "broken": broken, "db": db, "friends": FRIENDS}
    outcome = inside(*(argument.format(**names) for argument in arguments), *(["--json"] if as_json else []))
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("memorai: ")
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) > 30
    assert not (tmp_path / "absent.db").exists()
    assert broken.read_text(encoding="utf-8").startswith("[{")


def test_a_broken_file_stores_nothing_of_itself(db, write):
    before = inside("stats", "--db", db, "--json").json
    refused = process("ingest", write(said("fine"), said("fine too"), {"role": "user"}), "--db", db)
    assert (refused.code, refused.out) == (1, "")
    assert "line 3: content: field required" in refused.err
    assert "Traceback" not in refused.err
    assert inside("stats", "--db", db, "--json").json == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["search", "hello"],
        ["search", "hello", "--db", "x.db"],
        ["search", "--db", "x.db", "--user", "ana"],
        ["search", "hello", "--db", "x.db", "--user", "ana", "-k", "0"],
        ["search", "hello", "--db", "x.db", "--user", "ana", "-k", "many"],
        ["ingest", "x.json"],
        ["ingest", "--db", "x.db"],
        ["ingest", "x.json", "--db", "x.db", "--nonsense"],
        ["export", "--db", "x.db", "--user", "ana", "--format", "yaml"],
        ["forget", "--db", "x.db", "--everything"],
        ["show", "--db", "x.db"],
    ],
)
def test_wrong_usage_is_exit_2(arguments, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    outcome = inside(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage_as_a_process():
    outcome = process("search", "hello")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err


def test_help_names_every_command_and_loads_no_model():
    code = """
import sys
from memorai_core.cli import app
try:
    app(["--help"])
finally:
    print(sorted({"onnxruntime", "tokenizers", "torch", "langchain_core"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    for command in ("demo", "ingest", "index", "search", "show", "explain", "stats", "export", "forget"):
        assert f" {command} " in done.stdout
    assert done.stdout.endswith("[]\n")
