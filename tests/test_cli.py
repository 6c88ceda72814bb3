import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import networkx as nx
import pytest
from typer.testing import CliRunner

from memorai_core.cli import app
from memorai_core.cli.ingesting import added
from memorai_core.cli.output import as_json, claims, clipped, counted, plain, when
from memorai_core.cli.reading import TURN_FIELDS
from memorai_core.memory import Memory
from memorai_core.models import IndexReport, Triplet

DATA = Path(__file__).parent.parent / "cookbook" / "data"
FRIENDS = DATA / "two_friends.jsonl"
USER = "two_friends"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def process(*arguments: object) -> Outcome:
    """The command as its own process, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-m", "memorai_core.cli", *map(str, arguments)]
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment | {"NO_COLOR": "1"}, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def inside(*arguments: object) -> Outcome:
    """The command within this process, which is faster."""
    done = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "80"}).invoke(app, [str(argument) for argument in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Outcome(done.exit_code, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory) -> tuple[Path, Outcome]:
    db = tmp_path_factory.mktemp("cli") / "friends.db"
    return db, process("ingest", FRIENDS, "--db", db, "--json")


@pytest.fixture(scope="module")
def db(ingested) -> Path:
    return ingested[0]


@pytest.fixture
def write(tmp_path) -> Callable[..., Path]:
    def to_file(*messages: object, name: str = "chat.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
        return path

    return to_file


def said(content: str, **more: object) -> dict[str, object]:
    return {"role": "user", "content": content, **more}


# Writing


def test_ingest_stores_and_indexes_and_reports_it(ingested):
    _, outcome = ingested
    assert (outcome.code, outcome.err) == (0, "")
    report = outcome.json
    assert (report["path"], report["users"], report["sessions"]) == (str(FRIENDS), [USER], 6)
    assert report["turns"] == report["new"] == report["index"]["turns"] == 118
    assert report["index"]["segments"] >= 6
    assert report["index"]["triplets"] > 118


def test_the_same_file_again_adds_nothing(db):
    before = inside("stats", "--db", db, "--json").json
    again = process("ingest", FRIENDS, "--db", db, "--json")
    assert again.code == 0
    assert (again.json["turns"], again.json["new"], again.json["index"]["turns"]) == (118, 0, 0)
    assert inside("stats", "--db", db, "--json").json == before
    assert "Nothing was left to index." in inside("ingest", FRIENDS, "--db", db).out


def test_a_file_that_grew_goes_on_where_it_stopped(tmp_path):
    lines = FRIENDS.read_text(encoding="utf-8").splitlines(keepends=True)
    path, db = tmp_path / "talk.jsonl", tmp_path / "talk.db"
    path.write_text("".join(lines[:10]), encoding="utf-8")
    assert inside("ingest", path, "--db", db, "--no-index", "--json").json["index"] is None
    (stats,) = inside("stats", "--db", db, "--json").json["users"]
    assert (stats["user_id"], stats["turns"], stats["pending"]) == ("talk", 10, 10)
    path.write_text("".join(lines[:14]), encoding="utf-8")
    assert inside("ingest", path, "--db", db, "--no-index", "--json").json["new"] == 4
    assert inside("index", "--db", db, "--json").json["index"]["turns"] == 14
    assert inside("index", "--db", db, "--json").json == {
        "users": ["talk"],
        "index": as_json(IndexReport()) | {"seconds": pytest.approx(0, abs=5)},
    }
    assert inside("index", "--db", db, "--user", "talk", "--rebuild", "--json").json["index"]["turns"] == 14


def test_an_interrupted_ingest_says_so_and_goes_on(tmp_path, monkeypatch):
    lines = FRIENDS.read_text(encoding="utf-8").splitlines(keepends=True)
    path, db = tmp_path / "talk.jsonl", tmp_path / "talk.db"
    path.write_text("".join(lines[:40]), encoding="utf-8")
    index = Memory.index

    def interrupted(self, *, user_id, rebuild, progress):
        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        return index(self, user_id=user_id, rebuild=rebuild, progress=stop)

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "index", interrupted)
        stopped = inside("ingest", path, "--db", db)
    assert (stopped.code, stopped.out) == (130, "")
    assert "the same command goes on" in stopped.err
    (between,) = inside("stats", "--db", db, "--json").json["users"]
    assert between["turns"] == 40
    assert 0 < between["pending"] < 40
    rest = inside("ingest", path, "--db", db, "--json").json
    assert (rest["new"], rest["index"]["turns"]) == (0, between["pending"])


def test_each_conversation_of_a_file_is_its_own_user_with_its_own_ids(tmp_path):
    samples = [
        {"sample_id": name, "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [turn]}}
        for name, turn in (
            ("conv-1", {"speaker": "Ana", "dia_id": "D1:1", "text": "I adopted a cat called Miso."}),
            ("conv-2", {"speaker": "Ben", "dia_id": "D1:1", "text": "My cat is called Pepper."}),
        )
    ]
    path, db = tmp_path / "samples", tmp_path / "samples.db"
    path.write_bytes(gzip.compress(json.dumps(samples).encode()))
    assert inside("ingest", path, "--db", db, "--json").json["users"] == ["conv-1", "conv-2"]
    found = inside("search", "What is the cat called?", "--db", db, "--user", "conv-2", "--json").json
    assert [(turn["source_id"], turn["speaker"], turn["timestamp"]) for turn in found["turns"]] == [
        ("D1:1", "Ben", "2023-05-08T13:56:00+00:00")
    ]
    refused = inside("ingest", path, "--db", db, "--user", "ana")
    assert refused.code == 1
    assert "several conversations" in refused.err


# Reading


def test_search_prints_the_agreed_json(db):
    outcome = process("search", "What is Bram allergic to?", "--db", db, "--user", USER, "-k", 5, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = outcome.json
    assert list(found) == ["query", "turns", "timings_ms"]
    assert found["query"] == "What is Bram allergic to?"
    assert len(found["turns"]) == 5
    assert all(tuple(turn) == TURN_FIELDS for turn in found["turns"])
    assert TURN_FIELDS == ("turn_id", "source_id", "session_id", "speaker", "text", "timestamp", "score", "triplets")
    scores = [turn["score"] for turn in found["turns"]]
    assert scores == sorted(scores, reverse=True)
    (told,) = [turn for turn in found["turns"] if turn["source_id"] == "1.18"]
    assert (told["speaker"], told["session_id"]) == ("Bram", "2025-01-12")
    assert datetime.fromisoformat(told["timestamp"]) == datetime(2025, 1, 12, 19, 22, 23, tzinfo=UTC)
    assert told["triplets"]
    assert all(told["turn_id"] in triplet["source_turns"] for triplet in told["triplets"])
    assert found["timings_ms"].keys() == {"embed", "rank", "total"}


def test_search_for_people_names_speaker_date_and_ids(db):
    outcome = inside("search", "What is Bram allergic to?", "--db", db, "--user", USER, "-k", 2)
    assert outcome.code == 0
    assert "walnuts" in outcome.out
    assert "Bram  12 Jan 2025" in outcome.out
    assert "(1.18)" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


@pytest.fixture(scope="module")
def walnuts(db):
    """The turn that tells of the allergy, as `search --json` gives it."""
    turns = inside("search", "What is Bram allergic to?", "--db", db, "--user", USER, "--json").json["turns"]
    return next(turn for turn in turns if turn["source_id"] == "1.18")


def test_explained_shares_sum_to_the_score(db, walnuts):
    question = ("explain", "What is Bram allergic to?", "--db", db, "--user", USER)
    turns = inside(*question, "-k", 4, "--json").json["turns"]
    assert len(turns) == 4
    for turn in turns:
        assert sum(part["amount"] for part in turn["contributions"]) == pytest.approx(turn["score"])
    (one,) = inside(*question, "--turn", walnuts["turn_id"][:12], "-k", 10, "--json").json["turns"]
    assert one["source_id"] == "1.18"
    told = inside(*question, "-k", 1)
    assert "seed" in told.out
    assert "%" in told.out
    assert inside(*question, "--turn", "ffff").code == 1


def test_show_audits_a_turn_a_triplet_a_segment_and_an_entity(db, walnuts):
    turn = process("show", walnuts["turn_id"], "--db", db, "--json").json
    assert (turn["kind"], turn["user_id"], turn["subject"]["text"]) == ("turn", USER, walnuts["text"])
    assert turn["subject"]["kept"] is True
    assert {triplet["triplet_id"] for triplet in turn["triplets"]} == {triplet["triplet_id"] for triplet in walnuts["triplets"]}

    triplet = inside("show", walnuts["triplets"][0]["triplet_id"], "--db", db, "--json").json
    assert triplet["kind"] == "triplet"
    assert [source["text"] for source in triplet["turns"]] == [walnuts["text"]]

    segment = inside("show", turn["segment"]["segment_id"], "--db", db, "--json").json
    assert segment["kind"] == "segment"
    assert walnuts["turn_id"] in [one["turn_id"] for one in segment["turns"]]

    entity = inside("show", turn["entities"][0]["entity_id"], "--db", db, "--json").json
    assert entity["kind"] == "entity"
    assert walnuts["turn_id"] in entity["subject"]["turn_ids"]


def test_show_for_people_takes_the_start_of_an_id(db, walnuts):
    audit = inside("show", walnuts["turn_id"], "--db", db, "--json").json
    turn = inside("show", walnuts["turn_id"][:10], "--db", db)
    assert turn.code == 0
    assert "turn  " + walnuts["turn_id"] in turn.out
    assert "kept by the memory gate" in turn.out
    assert "source id 1.18" in turn.out
    assert "The triplets that cite it" in turn.out
    for kind, node_id, line in (
        ("segment", audit["segment"]["segment_id"], "Its turns"),
        ("triplet", walnuts["triplets"][0]["triplet_id"], "The turns it rests on (1)"),
        ("entity", audit["entities"][0]["entity_id"], "The turns that mention it"),
    ):
        shown = inside("show", node_id[:16], "--db", db, "--user", USER)
        assert shown.out.startswith(f"{kind}  {node_id}")
        assert line in shown.out
        assert max(map(len, shown.out.splitlines())) <= 80


def test_stats_count_every_user(db):
    (stats,) = inside("stats", "--db", db, "--user", USER, "--json").json["users"]
    assert (stats["user_id"], stats["sessions"], stats["turns"], stats["pending"]) == (USER, 6, 118, 0)
    assert stats["kept"] + stats["dropped"] == 118
    assert USER in inside("stats", "--db", db).out


def test_export_as_json_and_graphml_gives_the_same_graph(db, tmp_path):
    exported = process("export", "--db", db, "--user", USER)
    graph = nx.node_link_graph(exported.json, edges="edges")
    turns = {node: data for node, data in graph.nodes(data=True) if data["kind"] == "turn"}
    assert len(turns) == 118
    assert {data["source_id"] for data in turns.values()} >= {"1.18", "6.16"}

    path = tmp_path / "friends.graphml"
    written = inside("export", "--db", db, "--user", USER, "--format", "graphml", "--output", path, "--json").json
    assert written == {"path": str(path), "format": "graphml", "nodes": len(graph), "edges": graph.number_of_edges()}
    read = nx.read_graphml(path, force_multigraph=True)
    assert set(read) == set(graph)
    assert read.number_of_edges() == graph.number_of_edges()
    for node, data in turns.items():
        assert (read.nodes[node]["text"], read.nodes[node]["kept"]) == (data["text"], data["kept"])
    relations = [data for _, _, data in read.edges(data=True) if data["kind"] == "relation"]
    assert relations
    assert all(set(json.loads(data["source_turns"])) <= set(turns) for data in relations)


def test_export_to_standard_output(db):
    assert inside("export", "--db", db, "--user", USER, "--json").json["multigraph"] is True
    assert inside("export", "--db", db, "--user", USER, "--format", "graphml").out.startswith("<?xml")
    assert inside("export", "--db", db, "--user", USER, "--format", "graphml", "--json").code == 2
    refused = inside("export", "--db", db, "--user", USER, "--output", db.parent)
    assert refused.code == 1
    assert "cannot be written" in refused.err


def test_graphml_survives_texts_that_xml_has_no_form_for(write, tmp_path):
    db, path = tmp_path / "odd.db", tmp_path / "odd.graphml"
    inside("ingest", write(said("a bell \x07, an escape \x1b[31m, an ending ]]> & <b>\uffff")), "--db", db)
    assert inside("export", "--db", db, "--user", "chat", "--format", "graphml", "-o", path).code == 0
    texts = [data["text"] for _, data in nx.read_graphml(path).nodes(data=True) if data["kind"] == "turn"]
    assert texts == ["a bell \ufffd, an escape \ufffd[31m, an ending ]]> & <b>\ufffd"]


def test_a_terminal_is_not_obeyed_and_markup_is_not_read(write, tmp_path):
    db = tmp_path / "odd.db"
    path = write(said("look [bold]here[/bold] \x1b[2J [image: a cat]", name="An\x1ba"))
    inside("ingest", path, "--db", db)
    shown = inside("search", "look", "--db", db, "--user", "chat")
    assert "look [bold]here[/bold] \ufffd[2J [image: a cat]" in shown.out
    assert "An\ufffda" in shown.out
    assert "\x1b" not in shown.out


# Forgetting


def test_forget_a_turn_a_session_and_everything(write, tmp_path):
    db = tmp_path / "chat.db"
    path = write(said("My dog is called Rex", session_id="a"), said("I live in Oslo", session_id="a"), said("I like tea", session_id="b"))
    inside("ingest", path, "--db", db)
    (dog,) = inside("search", "What is the dog called?", "--db", db, "--user", "chat", "-k", 1, "--json").json["turns"]
    assert dog["text"] == "My dog is called Rex"

    forget = ("forget", "--db", db, "--user", "chat")
    gone = process(*forget, "--turn", dog["turn_id"][:10], "--json")
    assert (gone.code, gone.json["user_id"], gone.json["forgotten"]["turns"]) == (0, "chat", 1)
    left = inside("search", "What is the dog called?", "--db", db, "--user", "chat", "--json").json["turns"]
    assert {turn["text"] for turn in left} == {"I live in Oslo", "I like tea"}
    assert inside("show", dog["turn_id"], "--db", db).code == 1

    assert "Forgot 1 turn" in inside(*forget, "--session", "b").out
    assert inside(*forget, "--session", "b").code == 1
    assert inside(*forget, "--everything", "--json").json["forgotten"]["turns"] == 1
    assert inside("stats", "--db", db, "--json").json == {"users": []}


def test_forget_wants_exactly_one_thing_and_only_a_turns_id(db, walnuts):
    forget = ("forget", "--db", db, "--user", USER)
    assert inside(*forget).code == 2
    assert inside(*forget, "--everything", "--session", "2025-01-12").code == 2
    refused = inside(*forget, "--turn", walnuts["triplets"][0]["triplet_id"])
    assert refused.code == 1
    assert "the id of a triplet, not of a turn" in refused.err
    assert inside("stats", "--db", db, "--json").json["users"][0]["turns"] == 118


# Errors


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
    names = {"absent": tmp_path / "absent.db", "folder": tmp_path, "broken": broken, "db": db}
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


# The demo


def test_demo_prints_six_questions_with_their_evidence_and_a_prompt():
    outcome = process("demo")
    assert (outcome.code, outcome.err) == (0, "")
    questions = json.loads((DATA / "two_friends.questions.json").read_text(encoding="utf-8"))
    assert len(questions) == 6
    for asked in questions:
        assert asked["question"] in outcome.out
    assert "(3.3)" in outcome.out
    assert "Saudades de Maio" in outcome.out
    assert "[1]" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_demo_as_json_finds_what_answers_each_question(tmp_path):
    db = tmp_path / "demo.db"
    printed = inside("demo", "--db", db, "--json").json
    wanted = json.loads((DATA / "two_friends.questions.json").read_text(encoding="utf-8"))
    for asked, found in zip(wanted, printed["questions"], strict=True):
        assert set(asked["turns"]) & {turn["source_id"] for turn in found["turns"]}, asked["question"]
    assert printed["ingested"]["turns"] == 118
    assert wanted[0]["question"] in printed["prompt"]
    assert inside("stats", "--db", db, "--json").json["users"][0]["turns"] == 118


# What is printed


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
