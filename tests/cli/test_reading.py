from datetime import UTC, datetime

import pytest

from memorai_core.cli.reading import TURN_FIELDS

from .running import USER, inside, process, said


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


def test_stats_count_every_user(db):
    (stats,) = inside("stats", "--db", db, "--user", USER, "--json").json["users"]
    assert (stats["user_id"], stats["sessions"], stats["turns"], stats["pending"]) == (USER, 6, 118, 0)
    assert stats["kept"] + stats["dropped"] == 118
    assert USER in inside("stats", "--db", db).out


def test_a_terminal_is_not_obeyed_and_markup_is_not_read(write, tmp_path):
    db = tmp_path / "odd.db"
    path = write(said("look [bold]here[/bold] \x1b[2J [image: a cat]", name="An\x1ba"))
    inside("ingest", path, "--db", db)
    shown = inside("search", "look", "--db", db, "--user", "chat")
    assert "look [bold]here[/bold] \ufffd[2J [image: a cat]" in shown.out
    assert "An\ufffda" in shown.out
    assert "\x1b" not in shown.out
