"""The graph that users look at: every node and edge of §3.2, and nothing but what the store holds."""

import networkx as nx
import pytest
from dialogue import DAY, Fickle, chat, long_chat, say

from memorai_core import UnknownUserError


@pytest.fixture
def graph(open_memory):
    memory = open_memory(analyzer=Fickle())
    memory.append(chat("river", "violin", "quilt", "Hanoi"), user_id="u", session_id="s1")
    memory.append([say("mango", name="Carol")], user_id="u", session_id="s2")
    memory.index(user_id="u")
    memory.append([say("pending", name="Dan")], user_id="u", session_id="s2")
    memory.append(long_chat(3), user_id="other", session_id="s1")
    return memory.graph(user_id="u")


def nodes(graph, kind):
    return {node: data for node, data in graph.nodes(data=True) if data["kind"] == kind}


def edges(graph, kind):
    return [(start, end, data) for start, end, data in graph.edges(data=True) if data["kind"] == kind]


def test_turns_carry_what_was_said(graph):
    turns = list(nodes(graph, "turn").values())
    assert [turn["text"] for turn in turns] == ["river", "violin", "quilt", "Hanoi", "mango", "pending"]
    assert [turn["kept"] for turn in turns] == [True, True, False, True, True, None]
    assert {**turns[1], "segment_id": None} == {
        "kind": "turn", "source_id": "m1", "session_id": "s1", "position": 1, "role": "user", "speaker": "Bob", "text": "violin",
        "timestamp": DAY.replace(hour=10).isoformat(), "timestamp_inferred": False, "segment_id": None, "kept": True,
    }  # fmt: skip
    assert turns[4]["timestamp"] is None


def test_turns_follow_each_other_within_their_session(graph):
    turns = list(nodes(graph, "turn"))
    assert [(start, end) for start, end, _ in edges(graph, "followed_by")] == [
        (turns[0], turns[1]), (turns[1], turns[2]), (turns[2], turns[3]), (turns[4], turns[5]),
    ]  # fmt: skip


def test_every_indexed_turn_is_part_of_the_segment_that_lists_it(graph):
    segments = nodes(graph, "segment")
    turns = nodes(graph, "turn")
    pairs = {(start, end) for start, end, _ in edges(graph, "part_of")}
    assert pairs == {(turn_id, segment_id) for segment_id, segment in segments.items() for turn_id in segment["turn_ids"]}
    assert pairs == {(turn_id, turn["segment_id"]) for turn_id, turn in turns.items() if turn["segment_id"]}
    assert sorted(len(segment["turn_ids"]) for segment in segments.values()) == [1, 1, 3]
    assert all(segment["summary"].startswith("Of topic") and segment["made_by"] == "extractive" for segment in segments.values())


def test_relations_are_triplets_with_their_provenance(graph):
    turns = nodes(graph, "turn")
    relations = [(start, end, data) for start, end, data in edges(graph, "relation") if data["relation"] == "spoke_of"]
    assert len(relations) == 3
    for start, end, data in edges(graph, "relation"):
        assert {graph.nodes[start]["kind"], graph.nodes[end]["kind"]} == {"entity"}
        assert graph.get_edge_data(start, end, data["triplet_id"]) == data
        assert set(data["source_turns"]) <= set(turns)
        assert {turns[turn_id]["segment_id"] for turn_id in data["source_turns"]} == {data["segment_id"]}
    _, _, first = relations[0]
    assert (first["description"], first["origin"], first["made_by"]) == ("river and so on", "model", "extractive")
    assert [turns[turn_id]["text"] for turn_id in first["source_turns"]] == ["river", "violin"]


def test_entities_mention_the_turns_that_speak_of_them_for_the_reasons_given(graph):
    entities = nodes(graph, "entity")
    triplets = {data["triplet_id"]: (start, end, data) for start, end, data in edges(graph, "relation")}
    mentions = {(start, end): data for start, end, data in edges(graph, "mentions")}
    expected = {}
    for triplet_id, (start, end, data) in triplets.items():
        for turn_id in data["source_turns"]:
            for entity in {start, end}:
                expected.setdefault((entity, turn_id), set()).add(triplet_id)
    assert {pair: set(data["triplet_ids"]) for pair, data in mentions.items() if data["triplet_ids"]} == expected
    for entity_id, entity in entities.items():
        assert {end for start, end in mentions if start == entity_id} == set(entity["turn_ids"])
        said = {text for (start, _), data in mentions.items() if start == entity_id for text in data["descriptions"]}
        assert said == set(entity["descriptions"])
    everything = next(entity for entity in entities.values() if entity["name"] == "everything")
    assert len(everything["descriptions"]) == 3
    assert len(everything["turn_ids"]) == 5, "a dropped turn too, by a description"


def test_there_is_nothing_else(graph):
    assert {data["kind"] for _, data in graph.nodes(data=True)} == {"turn", "segment", "entity"}
    assert {data["kind"] for *_, data in graph.edges(data=True)} == {"relation", "mentions", "part_of", "followed_by"}
    assert isinstance(graph, nx.MultiDiGraph)


def test_a_user_whose_turns_are_all_pending_has_turns_alone(memory):
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    graph = memory.graph(user_id="u")
    assert len(graph) == 2
    assert [data["kind"] for *_, data in graph.edges(data=True)] == ["followed_by"]


def test_the_graph_is_a_copy(memory):
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    memory.index(user_id="u")
    graph = memory.graph(user_id="u")
    graph.clear()
    assert len(memory.graph(user_id="u")) > 2


def test_nobody_has_no_graph(memory):
    with pytest.raises(UnknownUserError, match="'nobody'"):
        memory.graph(user_id="nobody")
