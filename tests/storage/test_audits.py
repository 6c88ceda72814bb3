"""Showing one thing by its id: what it is, where it came from, and what rests on it."""

import pytest
from dialogue import Fickle, chat, say

from memorai_core import UnknownIdError


@pytest.fixture
def memory(open_memory):
    memory = open_memory(analyzer=Fickle())
    memory.append(chat("river", "violin", "quilt", "Hanoi"), user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.append([say("pending")], user_id="u", session_id="s")
    return memory


@pytest.fixture
def graph(memory):
    return memory.graph(user_id="u")


def ids(graph, kind):
    return [node for node, data in graph.nodes(data=True) if data["kind"] == kind]


def test_a_turn_is_shown_with_what_cites_it(memory, graph):
    turn_id = ids(graph, "turn")[0]
    audit = memory.show(turn_id)
    assert (audit.user_id, audit.kind, audit.subject.turn_id, audit.subject.text) == ("u", "turn", turn_id, "river")
    assert audit.turns == (audit.subject,)
    assert audit.segment.segment_id == audit.subject.segment_id
    assert turn_id in audit.segment.turn_ids
    citing = {data["triplet_id"] for *_, data in graph.edges(data=True) if turn_id in data.get("source_turns", ())}
    assert {triplet.triplet_id for triplet in audit.triplets} == citing
    assert {"Alice", "river", "everything"} <= {entity.name for entity in audit.entities}
    assert all(turn_id in entity.turn_ids for entity in audit.entities)


def test_a_pending_turn_is_shown_without_a_segment(memory, graph):
    audit = memory.show(ids(graph, "turn")[-1])
    assert (audit.subject.text, audit.segment, audit.triplets, audit.entities) == ("pending", None, (), ())


def test_a_segment_is_shown_with_its_turns_and_triplets(memory, graph):
    segment_id = ids(graph, "segment")[0]
    audit = memory.show(segment_id)
    assert (audit.kind, audit.subject, audit.subject.segment_id) == ("segment", audit.segment, segment_id)
    assert tuple(turn.turn_id for turn in audit.turns) == audit.subject.turn_ids
    assert [turn.text for turn in audit.turns] == ["river", "violin", "quilt"]
    assert audit.triplets
    assert {triplet.segment_id for triplet in audit.triplets} == {segment_id}
    assert "everything" in {entity.name for entity in audit.entities}


def test_an_entity_is_shown_with_every_turn_and_triplet_of_it(memory, graph):
    for entity_id in ids(graph, "entity"):
        audit = memory.show(entity_id)
        assert (audit.kind, audit.subject.entity_id, audit.segment) == ("entity", entity_id, None)
        assert {turn.turn_id for turn in audit.turns} == set(audit.subject.turn_ids) == set(graph.nodes[entity_id]["turn_ids"])
        touching = {
            data["triplet_id"] for start, end, data in graph.edges(data=True) if data["kind"] == "relation" and entity_id in (start, end)
        }
        assert {triplet.triplet_id for triplet in audit.triplets} == touching
        assert audit.subject in audit.entities
        assert [description.text for description in audit.subject.descriptions] == graph.nodes[entity_id]["descriptions"]


def test_a_triplet_is_shown_with_its_source_turns_and_both_ends(memory, graph):
    for start, end, data in graph.edges(data=True):
        if data["kind"] == "relation":
            audit = memory.show(data["triplet_id"])
            assert (audit.kind, audit.subject.triplet_id) == ("triplet", data["triplet_id"])
            assert audit.triplets == (audit.subject,)
            assert [turn.turn_id for turn in audit.turns] == list(audit.subject.source_turns)
            assert audit.segment.segment_id == data["segment_id"]
            assert {entity.entity_id for entity in audit.entities} == {start, end}
            assert {audit.subject.subject, audit.subject.object} == {graph.nodes[start]["name"], graph.nodes[end]["name"]}


def test_the_start_of_an_id_will_do_where_it_is_clear(memory, graph):
    all_ids = [*graph.nodes, *(data["triplet_id"] for *_, data in graph.edges(data=True) if data["kind"] == "relation")]
    for full in all_ids:
        start = next(full[:length] for length in range(1, 33) if sum(other.startswith(full[:length]) for other in all_ids) == 1)
        assert memory.show(start) == memory.show(full) == memory.show(f"  {start.upper()}\n")
        if len(start) > 1:
            with pytest.raises(UnknownIdError, match="several ids start with") as raised:
                memory.show(start[:-1])
            assert full in str(raised.value) or sum(other.startswith(start[:-1]) for other in all_ids) > 10


def test_an_id_that_nothing_has_is_unknown(memory, graph):
    (turn_id, *_) = ids(graph, "turn")
    other = ("0" if turn_id[-1] != "0" else "1").join([turn_id[:-1], ""])
    for wrong in (other, turn_id + "0", "f" * 40):
        with pytest.raises(UnknownIdError, match="nothing has the id"):
            memory.show(wrong)
