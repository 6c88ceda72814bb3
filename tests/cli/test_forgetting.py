from .running import USER, inside, process, said


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
