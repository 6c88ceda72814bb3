import json

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.indices.property_graph import LLMSynonymRetriever
from llama_index.core.llms.mock import MockLLM

from llamaindex_adapter.fakes import CountingEmbedding, two_users
from memorai_core import ConfigurationError, StoreError, UnknownUserError
from memorai_llamaindex import MemoraiPropertyGraphStore, delete_from_property_graph, export_to_property_graph
from memorai_llamaindex.nodes import triplet_record


@pytest.fixture
def memory():
    with two_users() as memory:
        yield memory


class Simple:
    """The framework's own store, read through its own API."""

    def __init__(self):
        self.store = SimplePropertyGraphStore()

    def turns(self):
        return {node.properties["turn_id"]: node.properties for node in self.store.get(properties={"kind": "turn"})}

    def mentions(self):
        edges = [edge for _, edge, _ in self.store.get_triplets(relation_names=["MENTIONS"])]
        return {(edge.properties["turn_id"], edge.target_id): edge.properties["triplet_ids"] for edge in edges}

    def close(self):
        pass


class CoordiNode:
    """An embedded database. Its store writes properties and does not read them back, so they are read in its query language."""

    def __init__(self):
        embedded = pytest.importorskip("coordinode_embedded", reason="needs coordinode-embedded, which is there for Linux on x86-64")
        adapter = pytest.importorskip("llama_index.graph_stores.coordinode", reason="needs llama-index-graph-stores-coordinode")
        self._client = embedded.LocalClient(":memory:")
        self.store = adapter.CoordinodePropertyGraphStore(client=self._client)

    def turns(self):
        rows = self.store.structured_query("MATCH (n {kind: 'turn'}) RETURN n")
        found = [{name.removeprefix("n."): value for name, value in row.items()} for row in rows]
        return {one["turn_id"]: one for one in found}

    def mentions(self):
        rows = self.store.structured_query(
            "MATCH (a)-[r:MENTIONS]->(b) RETURN r.turn_id AS turn, b.id AS entity, r.triplet_ids AS triplets"
        )
        return {(row["turn"], row["entity"]): row["triplets"] for row in rows}

    def close(self):
        self._client.close()


@pytest.fixture(params=[Simple, CoordiNode])
def database(request):
    database = request.param()
    yield database
    database.close()


def test_provenance_comes_back_whole_from_turns_and_from_mentions(memory, database):
    for user in ("alice", "bob"):
        report = export_to_property_graph(memory, user, database.store)
        assert report.nodes > 10 < report.relations
    turns, mentions = database.turns(), database.mentions()
    for user in ("alice", "bob"):
        view = memory.view(user_id=user)
        for turn in view.turns():
            found = turns[turn.turn_id]
            assert (found["speaker"], found["session_id"], found["segment_id"]) == (turn.speaker, turn.session_id, turn.segment_id)
            assert found["timestamp"] == turn.timestamp.isoformat()
            assert json.loads(found["triplets"]) == [triplet_record(triplet) for triplet in view.triplets(citing=[turn.turn_id])]
        expected = {
            (turn_id, f"{user}/{entity.name}"): [
                triplet.triplet_id for triplet in view.triplets(citing=[turn_id]) if entity.name in (triplet.subject, triplet.object)
            ]
            for entity in view.entities()
            for turn_id in entity.turn_ids
        }
        assert {where: by for where, by in mentions.items() if where[1].startswith(f"{user}/")} == expected
    assert len(turns) == 8


def test_an_export_again_takes_the_place_of_the_last_and_the_other_user_stays(memory, database):
    for user in ("alice", "bob"):
        export_to_property_graph(memory, user, database.store)
    first = memory.view(user_id="alice").turns()[0]
    memory.forget(user_id="alice", turn_id=first.turn_id)
    export_to_property_graph(memory, "alice", database.store)
    turns = database.turns()
    assert first.turn_id not in turns
    assert first.turn_id not in {turn_id for turn_id, _ in database.mentions()}
    assert first.turn_id not in json.dumps(list(turns.values()))
    assert len(turns) == 7


def test_a_user_taken_out_leaves_nothing_and_the_other_user_stays(memory, database):
    for user in ("alice", "bob"):
        export_to_property_graph(memory, user, database.store)
    for _ in range(2):
        delete_from_property_graph("alice", database.store)
    assert {one["user_id"] for one in database.turns().values()} == {"bob"}
    assert all(entity.startswith("bob/") for _, entity in database.mentions())
    assert database.store.get(properties={"user_id": "alice"}) == []
    assert len(database.turns()) == 4


def test_the_frameworks_retrievers_read_an_export_and_show_the_turns(memory):
    store = SimplePropertyGraphStore()
    export_to_property_graph(memory, "alice", store, prefix="")
    retriever = LLMSynonymRetriever(store, llm=MockLLM(), output_parsing_fn=lambda said: ["Hanoi"])
    found = "\n".join(node.text for node in retriever.retrieve("anything"))
    assert "Alice -> speaks_of -> Hanoi" in found
    assert "Alice: I moved to Hanoi with my dog Rex." in found


def test_users_whose_ids_begin_alike_do_not_meet(memory):
    store = SimplePropertyGraphStore()
    memory.append(memory_messages(memory), user_id="alice/x", session_id="s1")
    memory.index(user_id="alice/x")
    for user in ("alice", "alice/x"):
        export_to_property_graph(memory, user, store)
    delete_from_property_graph("alice", store)
    assert {node.properties["user_id"] for node in store.get()} == {"alice/x"}
    assert "alice%2Fx/Alice" in {node.id for node in store.get()}


def memory_messages(memory):
    from memorai_core import Message

    return [Message(role=turn.role, name=turn.speaker, text=turn.text) for turn in memory.view(user_id="alice").turns()]


def test_nodes_get_vectors_where_a_model_is_given(memory):
    store, model = SimplePropertyGraphStore(), CountingEmbedding()
    export_to_property_graph(memory, "alice", store, embed_model=model)
    assert all(node.embedding for node in store.get())
    (turn,) = store.get(properties={"source_id": "s1/0"})
    assert turn.embedding == model.get_text_embedding("Alice: I moved to Hanoi with my dog Rex.")
    export_to_property_graph(memory, "alice", store)
    assert not any(node.embedding for node in store.get())


def test_a_memory_is_no_place_for_an_export_of_itself(memory):
    store = MemoraiPropertyGraphStore(memory=memory, user_id="alice")
    for call in (lambda: export_to_property_graph(memory, "alice", store), lambda: delete_from_property_graph("alice", store)):
        with pytest.raises(ConfigurationError, match=r"memory\.forget"):
            call()
    assert len(memory.view(user_id="alice").turns()) == 4
    with pytest.raises(UnknownUserError):
        export_to_property_graph(memory, "nobody", SimplePropertyGraphStore())


class Careless(SimplePropertyGraphStore):
    """Ignores properties when it reads, cannot delete by them, and may not delete at all."""

    keeps = False

    def get(self, properties=None, ids=None):
        return super().get(ids=ids)

    def delete(self, entity_names=None, relation_names=None, properties=None, ids=None):
        if properties:
            raise NotImplementedError("not by property")
        if not self.keeps:
            super().delete(ids=ids)


def test_a_store_that_does_not_filter_loses_no_more_than_the_user(memory):
    store = Careless()
    store.upsert_nodes([EntityNode(name="alice"), ChunkNode(id_="alice's", text="mine")])
    store.upsert_relations([Relation(label="owns", source_id="alice", target_id="alice's")])
    for user in ("alice", "bob"):
        export_to_property_graph(memory, user, store)
    delete_from_property_graph("alice", store)
    assert {node.properties.get("user_id") for node in store.get()} == {None, "bob"}
    assert len(store.get_triplets(relation_names=["owns"])) == 1
    store.keeps = True
    with pytest.raises(StoreError, match="keeps nodes"):
        delete_from_property_graph("bob", store)
