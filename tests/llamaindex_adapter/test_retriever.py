from datetime import UTC, datetime

import pytest
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.indices.property_graph import BasePGRetriever, PGRetriever
from llama_index.core.schema import QueryBundle

from llamaindex_adapter.fakes import CountingEmbedding, in_running_loop, texts, two_users
from memorai_core import ConfigurationError, Memory, Message
from memorai_core.testing import HashingEmbedder
from memorai_llamaindex import LlamaIndexEmbedder, MemoraiPGRetriever, MemoraiPropertyGraphStore

QUESTION = "Who found the old violin?"


@pytest.fixture
def memory():
    with two_users() as memory:
        yield memory


def test_it_is_a_sub_retriever_that_brings_its_own_text(memory):
    retriever = MemoraiPGRetriever(SimplePropertyGraphStore(), memory=memory, user_id="alice")
    assert isinstance(retriever, BasePGRetriever)
    assert retriever.include_text is False


def test_nodes_are_the_cores_turns_in_its_order_with_its_scores(memory):
    evidence = memory.retrieve(QUESTION, user_id="alice", k=3)
    nodes = MemoraiPGRetriever(memory=memory, user_id="alice", k=3).retrieve(QUESTION)
    assert [node.node_id for node in nodes] == [turn.turn_id for turn in evidence.turns]
    assert [node.score for node in nodes] == [turn.score for turn in evidence.turns]
    assert nodes[0].text == "Alice (2025-03-01 09:00): Rex found an old violin at the museum."


def test_a_node_names_all_that_the_turn_rests_on_and_is_shown_as_text_alone(memory):
    (node,) = MemoraiPGRetriever(memory=memory, user_id="alice", k=1).retrieve(QUESTION)
    (turn,) = memory.retrieve(QUESTION, user_id="alice", k=1).turns
    found = node.node.metadata
    assert {name: found[name] for name in ("turn_id", "source_id", "session_id", "segment_id", "speaker", "role", "position", "kept")} == {
        name: getattr(turn, name) for name in ("turn_id", "source_id", "session_id", "segment_id", "speaker", "role", "position", "kept")
    }
    assert found["timestamp"] == "2025-03-01T09:00:00+00:00"
    assert found["summary"]
    assert [triplet["triplet_id"] for triplet in found["triplets"]] == [triplet.triplet_id for triplet in turn.triplets]
    assert all(turn.turn_id in triplet["source_turns"] for triplet in found["triplets"])
    assert found["triplets"]
    assert node.node.get_content("llm") == node.node.get_content("embed") == node.text


async def test_sync_async_and_sync_inside_a_running_loop_are_one(memory):
    retriever = MemoraiPGRetriever(memory=memory, user_id="alice", k=4)
    one = await retriever.aretrieve(QUESTION)
    assert one == await in_running_loop(lambda: retriever.retrieve(QUESTION))
    assert [node.node_id for node in one] == [turn.turn_id for turn in memory.retrieve(QUESTION, user_id="alice", k=4).turns]


def test_the_same_words_twice_are_two_nodes_behind_the_frameworks_removal_of_doubles():
    with Memory.open(":memory:", embedder=HashingEmbedder()) as memory:
        memory.append([Message(role="user", text=text) for text in ("Yes.", "Yes.", "No.")], user_id="a", session_id="s")
        nodes = PGRetriever([MemoraiPGRetriever(memory=memory, user_id="a")], use_async=False).retrieve("yes")
        assert [node.node.metadata["text"] for node in nodes].count("Yes.") == 2
        assert len({node.text for node in nodes}) == len(nodes)


def test_an_unknown_user_or_session_has_no_turns(memory):
    assert MemoraiPGRetriever(memory=memory, user_id="nobody").retrieve(QUESTION) == []
    assert MemoraiPGRetriever(memory=memory, user_id="alice", session_id="s9").retrieve(QUESTION) == []


def test_session_and_moment_narrow_the_turns(memory):
    nodes = MemoraiPGRetriever(memory=memory, user_id="alice", session_id="s1").retrieve(QUESTION)
    assert {node.metadata["session_id"] for node in nodes} == {"s1"}
    nodes = MemoraiPGRetriever(memory=memory, user_id="alice", as_of=datetime(2025, 3, 1, 9, tzinfo=UTC)).retrieve(QUESTION)
    assert {node.metadata["timestamp"] for node in nodes} == {"2025-03-01T09:00:00+00:00"}


def test_a_store_of_a_memory_brings_memory_and_user_and_what_is_given_wins(memory):
    store = MemoraiPropertyGraphStore(memory=memory, user_id="alice")
    assert texts(MemoraiPGRetriever(store, k=1).retrieve(QUESTION)) == ["Rex found an old violin at the museum."]
    assert texts(MemoraiPGRetriever(store, user_id="bob", k=1).retrieve("Who moved to Porto?")) == ["I moved to Porto with my cat Mia."]


@pytest.mark.parametrize("given", [{}, {"user_id": "alice"}])
def test_without_a_memory_or_a_user_there_is_no_retriever(given):
    with pytest.raises(ConfigurationError, match="needs memory= and user_id="):
        MemoraiPGRetriever(SimplePropertyGraphStore(), **given)


def test_wrong_arguments_are_refused(memory):
    with pytest.raises(ConfigurationError, match="index must be one of"):
        MemoraiPGRetriever(memory=memory, user_id="alice", index="later")
    with pytest.raises(TypeError, match="user"):
        MemoraiPGRetriever(memory=memory, user="alice")
    with pytest.raises(ConfigurationError, match="user_id"):
        MemoraiPGRetriever(memory=memory, user_id=lambda: None).retrieve(QUESTION)
    with pytest.raises(ConfigurationError, match="k must be"):
        MemoraiPGRetriever(memory=memory, user_id="alice", k=0).retrieve(QUESTION)


@pytest.mark.parametrize(("index", "pending"), [("manual", 1), ("inline", 0), ("background", 0)])
async def test_pending_turns_are_indexed_as_asked(memory, index, pending):
    memory.append([Message(role="user", text="Rex ate my shoe.")], user_id="alice", session_id="s3")
    retriever = MemoraiPGRetriever(memory=memory, user_id="alice", k=9, index=index)
    assert "Rex ate my shoe." in texts(retriever.retrieve("shoe"))
    memory.drain()
    assert memory.stats("alice")[0].pending == pending
    memory.append([Message(role="user", text="Rex buried the other shoe.")], user_id="alice", session_id="s3")
    assert "Rex buried the other shoe." in texts(await retriever.aretrieve("buried"))
    memory.drain()
    assert memory.stats("alice")[0].pending == 2 * pending


async def test_the_querys_embedding_is_used_where_it_comes_from_the_same_model():
    model = CountingEmbedding()
    with Memory.open(":memory:", embedder=LlamaIndexEmbedder(model)) as memory:
        memory.append(
            [Message(role="user", text="Rex found a violin."), Message(role="user", text="It rains.")], user_id="a", session_id="s"
        )
        memory.index(user_id="a")
        retriever = MemoraiPGRetriever(memory=memory, user_id="a")
        expected = {question: retriever.retrieve(question) for question in ("violin", "rain", "Rex")}
        bundles = [QueryBundle(question, embedding=model.get_query_embedding(question)) for question in expected]
        model.queries.clear()
        assert [retriever.retrieve(bundles[0]), await retriever.aretrieve(bundles[1]), retriever.retrieve(bundles[2])] == [
            *expected.values()
        ]
        assert model.queries == ["violin"], "the first alone, to compare"


async def test_embeddings_of_another_model_are_not_used(memory):
    retriever = MemoraiPGRetriever(memory=memory, user_id="alice")
    for embedding in ([1.0] * 32, memory.embedder.embed_query("something else"), memory.embedder.embed_query(QUESTION)):
        assert await retriever.aretrieve(QueryBundle(QUESTION, embedding=embedding)) == retriever.retrieve(QUESTION)
    assert retriever.retrieve(QueryBundle(" ", embedding=[1.0])) == retriever.retrieve(" ")
