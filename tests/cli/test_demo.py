import json

from .running import DATA, inside, process


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
