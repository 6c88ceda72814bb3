import json

import networkx as nx

from .running import USER, inside, process, said


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
