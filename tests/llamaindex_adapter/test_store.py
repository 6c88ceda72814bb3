import json

import pytest
from llama_index.core.graph_stores.types import TRIPLET_SOURCE_KEY, ChunkNode, EntityNode
from llama_index.core.indices.property_graph import LLMSynonymRetriever, VectorContextRetriever
from llama_index.core.llms.mock import MockLLM
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)

from llamaindex_adapter.fakes import TOLD, in_running_loop, two_users
from memorai_llamaindex import MemoraiEmbedding, MemoraiPropertyGraphStore


@pytest.fixture
def memory():
    with two_users() as memory:
        yield memory


@pytest.fixture
def store(memory):
    return MemoraiPropertyGraphStore(memory=memory, user_id="alice")


def query(memory, text, **more):
    return VectorStoreQuery(query_embedding=memory.embedder.embed_query(text), **more)


def filters(*three, condition=FilterCondition.AND):
    return MetadataFilters(
        filters=[MetadataFilter(key=key, operator=operator, value=value) for key, operator, value in three], condition=condition
    )


def test_nothing_asked_for_is_everything_and_an_empty_list_is_nothing(memory, store):
    view = memory.view(user_id="alice")
    kinds = [node.properties["kind"] for node in store.get()]
    assert kinds.count("turn") == len(view.turns()) == 4
    assert kinds.count("segment") == len(view.segments())
    assert kinds.count("entity") == len({entity.name for entity in view.entities()})
    assert store.get(ids=[]) == store.get_llama_nodes([]) == store.get_triplets() == []
    assert store.get_rel_map([]) == []


def test_nodes_are_found_by_name_in_any_spelling_and_by_id(memory, store):
    view = memory.view(user_id="alice")
    turn, segment = view.turns()[2], view.segments()[0]
    (hanoi,) = store.get(ids=["hanoi"])
    assert (hanoi.id, hanoi.label) == ("Hanoi", "entity")
    assert [node.id for node in store.get(ids=["alice/Hanoi", turn.turn_id, segment.segment_id, "unknown"])] == [
        turn.turn_id, segment.segment_id, "Hanoi",
    ]  # fmt: skip
    for node in store.get():
        assert node in store.get(ids=[node.id])


def test_properties_must_all_be_met(memory, store):
    found = store.get(properties={"kind": "turn", "session_id": "s2"})
    assert [node.text for node in found] == [f"Alice: {text}" for text in TOLD["s2"]]
    assert store.get(properties={"kind": "turn", "session_id": "s9"}) == []
    assert store.get(properties={"session_id": "s2", "speaker": "Bob"}) == []
    assert store.get(properties={"kind": "turn", "session_id": "s2"}, ids=[found[1].id]) == [found[1]]


def test_a_turns_node_holds_the_triplets_that_rest_on_it_whole(memory, store):
    view = memory.view(user_id="alice")
    for node in store.get(properties={"kind": "turn"}):
        held = json.loads(node.properties["triplets"])
        assert [one["triplet_id"] for one in held] == [triplet.triplet_id for triplet in view.triplets(citing=[node.id])]
        assert held
        assert all(node.id in one["source_turns"] for one in held)


def test_triplets_are_narrowed_by_everything_given(memory, store):
    view = memory.view(user_id="alice")
    assert len(store.get_triplets(relation_names=["speaks_of"])) == len(view.triplets())
    about = store.get_triplets(entity_names=["hanoi"])
    assert about
    assert all("Hanoi" in (subject.id, object_.id) for subject, _, object_ in about)
    assert store.get_triplets(entity_names=["Hanoi"], relation_names=["hates"]) == []
    turn = view.turns()[0].turn_id
    (one,) = store.get_triplets(entity_names=["Hanoi"], ids=[turn])
    assert one in about
    assert one[1].properties["source_turns"] == [turn] == [one[0].properties[TRIPLET_SOURCE_KEY]]
    assert store.get_triplets(properties={"session_id": "s1", "speaker": "Alice"}, entity_names=["Hanoi"]) == about
    assert store.get_triplets(properties={"session_id": "s1", "speaker": "Bob"}) == []


def test_around_a_node_stand_its_triplets_with_their_sources(memory, store):
    view = memory.view(user_id="alice")
    (hanoi,) = store.get(ids=["Hanoi"])
    near = store.get_rel_map([hanoi], depth=1)
    assert {edge.properties["triplet_ids"][0] for _, edge, _ in near} == {one.triplet_id for one in view.triplets(about=["Hanoi"])}
    for subject, edge, _ in near:
        assert subject.properties[TRIPLET_SOURCE_KEY] in edge.properties["source_turns"]
    far = store.get_rel_map([hanoi], depth=2)
    assert len(far) == len(view.triplets()) > len(near)
    assert len(store.get_rel_map([hanoi], depth=2, limit=3)) == 3
    assert store.get_rel_map([hanoi], depth=2, ignore_rels=["speaks_of"]) == []
    (turn,) = store.get(ids=[view.turns()[3].turn_id])
    assert {edge.properties[TRIPLET_SOURCE_KEY] for _, edge, _ in store.get_rel_map([turn], depth=1)} == {turn.id}


def test_the_nearest_entities_come_first_with_their_cosines(memory, store):
    nodes, scores = store.vector_query(query(memory, "Alice: I moved to Hanoi with my dog Rex.", similarity_top_k=3))
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == pytest.approx(1.0, abs=0.01)
    assert all(isinstance(node, EntityNode) for node in nodes)
    assert len(nodes) == 3
    assert store.vector_query(VectorStoreQuery(query_embedding=None)) == ([], [])


def test_filters_are_met_before_the_nearest_are_counted(memory, store):
    everything, _ = store.vector_query(query(memory, "museum", similarity_top_k=100))
    in_both = filters(
        ("session_ids", FilterOperator.CONTAINS, "s1"),
        ("session_ids", FilterOperator.CONTAINS, "s2"),
        ("display_name", FilterOperator.NE, "Alice"),
    )
    found, scores = store.vector_query(query(memory, "museum", similarity_top_k=2, filters=in_both))
    expected = [node for node in everything if node.properties["session_ids"] == ["s1", "s2"] and node.id != "Alice"]
    assert found == expected[:2]
    assert len(scores) == len(found) >= 1
    either = filters(
        ("display_name", FilterOperator.EQ, "Hanoi"), ("display_name", FilterOperator.EQ, "museum"), condition=FilterCondition.OR
    )
    assert {node.id for node in store.vector_query(query(memory, "museum", filters=either, similarity_top_k=9))[0]} == {"Hanoi", "museum"}
    assert [node.id for node in store.vector_query(query(memory, "museum", node_ids=["Hanoi"]))[0]] == ["Hanoi"]
    assert all("s2" in node.properties["session_ids"] for node in store.vector_query(query(memory, "x", doc_ids=["s2"]))[0])


@pytest.mark.parametrize("depth", [1, 2])
async def test_the_frameworks_vector_retriever_reads_it_and_shows_the_right_turn(memory, store, depth):
    retriever = VectorContextRetriever(store, embed_model=MemoraiEmbedding(memory.embedder), path_depth=depth, similarity_top_k=2)
    nodes = retriever.retrieve("Alice: I work as a guide at the museum in Hanoi.")
    assert "I work as a guide at the museum in Hanoi." in nodes[0].text
    assert [node.text for node in await retriever.aretrieve("Alice: I work as a guide at the museum in Hanoi.")] == [
        node.text for node in nodes
    ]
    assert [
        node.text for node in await in_running_loop(lambda: retriever.retrieve("Alice: I work as a guide at the museum in Hanoi."))
    ] == [node.text for node in nodes]


async def test_the_frameworks_synonym_retriever_reads_it(store):
    retriever = LLMSynonymRetriever(store, llm=MockLLM(), include_text=False, output_parsing_fn=lambda said: ["HANOI", "no such thing"])
    found = {node.text for node in retriever.retrieve("anything")}
    assert found == {node.text for node in await retriever.aretrieve("anything")}
    assert found
    assert all("Hanoi" in text for text in found)


def test_turns_come_back_as_text_nodes(memory, store):
    turn = memory.view(user_id="alice").turns()[1]
    (node,) = store.get_llama_nodes([turn.turn_id, "unknown"])
    assert (node.node_id, node.metadata["source_id"]) == (turn.turn_id, "s1/1")
    assert node.get_content() == "Alice (2025-03-02 09:00): I work as a guide at the museum in Hanoi."


async def test_every_async_read_gives_what_the_sync_one_gives(memory, store):
    asked = query(memory, "museum", similarity_top_k=3)
    (hanoi,) = store.get(ids=["Hanoi"])
    assert await store.aget(ids=["Hanoi"]) == [hanoi]
    assert await store.aget(properties={"kind": "turn"}) == store.get(properties={"kind": "turn"})
    assert await store.aget_triplets(entity_names=["Hanoi"]) == store.get_triplets(entity_names=["Hanoi"])
    assert await store.aget_rel_map([hanoi], 2, 5, []) == store.get_rel_map([hanoi], 2, 5, [])
    assert await store.avector_query(asked) == store.vector_query(asked)
    assert await store.aget_llama_nodes([hanoi.properties["turn_ids"][0]]) == store.get_llama_nodes([hanoi.properties["turn_ids"][0]])


def test_an_unknown_user_has_an_empty_graph(memory):
    store = MemoraiPropertyGraphStore(memory=memory, user_id="nobody")
    assert store.get() == store.get_triplets(relation_names=["speaks_of"]) == store.get_llama_nodes(["x"]) == []
    assert store.get_rel_map([ChunkNode(text="x"), EntityNode(name="Rex")]) == []
    assert store.vector_query(query(memory, "museum")) == ([], [])
    store.delete(ids=["x"])
    store.delete_llama_nodes(["x"], ["y"])


def test_one_users_graph_shows_nothing_of_another(memory, store):
    other = MemoraiPropertyGraphStore(memory=memory, user_id="bob")
    names = [node.id for node in store.get()]
    assert {node.properties["user_id"] for node in other.get(ids=names)} <= {"bob"}
    assert other.get(ids=["Alice", "Hanoi", "Rex found"]) == []
    for three in [*other.get_triplets(entity_names=names), *other.get_rel_map(store.get())]:
        assert {part.properties["user_id"] for part in three} == {"bob"}


def test_there_is_no_query_language(store, memory):
    assert not store.supports_structured_queries
    assert store.client is memory
    with pytest.raises(NotImplementedError, match="export_to_property_graph"):
        store.structured_query("MATCH (n) RETURN n")
