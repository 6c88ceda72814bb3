import gzip
import json
import os
import threading

import pytest

from memorai_core.cli.output import as_json
from memorai_core.memory import Memory
from memorai_core.reports import IndexReport

from .running import FRIENDS, USER, inside, process


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes by name here")
def test_a_pipe_is_read_once(tmp_path):
    pipe, db = tmp_path / "talk.jsonl", tmp_path / "talk.db"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(json.dumps({"role": "user", "content": "hello"}),))
    writer.start()
    report = inside("ingest", pipe, "--db", db, "--no-index", "--json").json
    writer.join()
    assert (report["turns"], report["new"]) == (1, 1)
