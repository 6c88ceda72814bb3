from .running import USER, inside, process


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
