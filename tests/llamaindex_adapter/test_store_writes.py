import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.indices.property_graph import ImplicitPathExtractor
from llama_index.core.llms.mock import MockLLM
from llama_index.core.schema import Document, TextNode

from llamaindex_adapter.fakes import two_users
from memorai_core import ConfigurationError
from memorai_llamaindex import MemoraiEmbedding, MemoraiExtractor, MemoraiPropertyGraphStore

TRANSCRIPT = "Carol: I bought a boat.\nDan: Which colour?\nCarol: My boat is green and called Esmeralda."


@pytest.fixture
def memory():
    with two_users() as memory:
        yield memory


@pytest.fixture
def store(memory):
    return MemoraiPropertyGraphStore(memory=memory, user_id="alice")


def turns(memory, user_id="alice", session_id=None):
    return [turn.text for turn in memory.view(user_id=user_id).turns(session_id=session_id)]


def index_over(store, *extractors):
    model = MemoraiEmbedding(store.memory.embedder)
    return PropertyGraphIndex.from_existing(store, llm=MockLLM(), embed_model=model, use_async=False, kg_extractors=list(extractors))


@pytest.mark.parametrize("prefix", ["", None])
def test_an_index_puts_documents_into_the_memory_once(memory, store, prefix):
    index = index_over(store, MemoraiExtractor(memory=memory, user_id="alice", prefix=prefix))
    for _ in range(2):
        index.insert(Document(text=TRANSCRIPT, id_="doc"))
    assert turns(memory, session_id="doc") == ["I bought a boat.", "Which colour?", "My boat is green and called Esmeralda."]
    assert memory.stats("alice")[0].pending == 0
    assert store.get(ids=["boat"])


def test_the_frameworks_implicit_relations_are_taken_for_what_they_are(memory, store):
    index_over(store, ImplicitPathExtractor()).insert(Document(text="The boat is green.", id_="doc"))
    assert turns(memory, session_id="doc") == ["The boat is green."]


async def test_nodes_come_in_as_turns_and_are_indexed_as_asked(memory):
    for index, pending in (("inline", 0), ("manual", 1)):
        store = MemoraiPropertyGraphStore(memory=memory, user_id=index, session_id="s", index=index)
        store.upsert_llama_nodes([TextNode(id_="n", text="The boat is green.", metadata={"session_id": "not this"})])
        assert turns(memory, index, "s") == ["The boat is green."]
        assert memory.stats(index)[0].pending == pending
        await store.aupsert_nodes([ChunkNode(id_="m", text="It sails.", properties={"speaker": "Dan", "role": "user"})])
        assert turns(memory, index, "s") == ["The boat is green.", "It sails."]
        assert memory.view(user_id=index).turns()[1].speaker == "Dan"


def test_what_the_memory_holds_is_left_as_it_is(memory, store):
    before = memory.view(user_id="alice").triplets()
    nodes = store.get()
    store.upsert_nodes(nodes)
    store.upsert_relations([edge for _, edge, _ in store.get_triplets(relation_names=["speaks_of"])])
    assert memory.view(user_id="alice").triplets() == before
    assert len(turns(memory)) == 4


async def test_what_it_cannot_take_is_refused_by_name_and_nothing_is_stored(memory, store):
    strange = [ChunkNode(id_="c", text="new"), EntityNode(name="Zorro"), EntityNode(name="Alice")]
    with pytest.raises(ConfigurationError, match=r"holds no 'Zorro': .*MemoraiExtractor"):
        store.upsert_nodes(strange)
    with pytest.raises(ConfigurationError, match="holds no 'Alice -> hates -> Rex'"):
        await store.aupsert_relations([Relation(label="hates", source_id="Alice", target_id="Rex")])
    with pytest.raises(ConfigurationError, match="'E4' and 2 more"):
        store.upsert_nodes([EntityNode(name=f"E{number}") for number in range(7)])
    assert len(turns(memory)) == 4


def test_deleting_nothing_or_the_unknown_deletes_nothing(memory, store):
    store.delete()
    store.delete(ids=[])
    store.delete(ids=["unknown"])
    store.delete(properties={})
    store.delete(properties={"session_id": "s9"})
    store.delete_llama_nodes([])
    store.delete_llama_nodes(["unknown"], ["unknown"])
    assert len(turns(memory)) == 4


def test_deleting_a_turn_forgets_what_rests_on_it_and_nothing_else(memory, store):
    first, second, *_ = memory.view(user_id="alice").turns()
    store.delete(ids=[first.turn_id])
    left = memory.view(user_id="alice")
    assert first.turn_id not in {turn.turn_id for turn in left.turns()}
    assert all(first.turn_id not in triplet.source_turns for triplet in left.triplets())
    assert store.get(ids=["dog Rex"]) == []
    assert second.turn_id in store.get(ids=["Hanoi"])[0].properties["turn_ids"]
    for subject, _, object_ in store.get_triplets(relation_names=["speaks_of"]):
        assert store.get(ids=[subject.id])
        assert store.get(ids=[object_.id])
    assert len(turns(memory, "bob")) == 4


async def test_turns_go_by_segment_by_node_and_by_property(memory, store):
    store.upsert_llama_nodes([TextNode(id_="n", text=TRANSCRIPT), TextNode(id_="m", text="The boat is green.")])
    await store.adelete(ids=["n"])
    assert len(turns(memory)) == 5
    await store.adelete_llama_nodes(["m"])
    assert len(turns(memory)) == 4
    segment = next(segment for segment in memory.view(user_id="alice").segments() if segment.session_id == "s1")
    store.delete(ids=[segment.segment_id])
    assert set(turns(memory)).isdisjoint(turn for turn in turns(memory, session_id="s1") if turn)
    store.delete(properties={"session_id": "s2", "speaker": "Bob"})
    assert len(turns(memory, session_id="s2")) == 2
    store.delete(properties={"session_id": "s2", "position": 1})
    assert turns(memory, session_id="s2") == ["Rex found an old violin at the museum."]


def test_documents_go_as_the_sessions_they_became(memory, store):
    index_over(store, MemoraiExtractor(memory=memory, user_id="alice")).insert(Document(text=TRANSCRIPT, id_="doc"))
    store.delete_llama_nodes(ref_doc_ids=["doc"])
    assert turns(memory, session_id="doc") == []
    assert store.get(ids=["boat", "Esmeralda"]) == []


def test_deleting_all_turns_forgets_the_user(memory, store):
    store.delete(properties={"user_id": "alice"})
    assert memory.users() == ["bob"]
    assert store.get() == []


@pytest.mark.parametrize("what", [{"entity_names": ["Alice"]}, {"relation_names": ["speaks_of"]}, {"ids": ["Alice"]}])
def test_entities_and_relations_go_with_their_turns_alone(memory, store, what):
    with pytest.raises(ConfigurationError, match="turns"):
        store.delete(**what)
    assert len(turns(memory)) == 4
