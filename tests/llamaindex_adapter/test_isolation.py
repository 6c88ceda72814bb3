"""Two users on one index and one memory: nothing crosses, and who is forgotten is gone."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, ContextVar, copy_context

import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.llms.mock import MockLLM

from llamaindex_adapter.fakes import CONNECTION, texts, two_users
from memorai_core import ConfigurationError
from memorai_llamaindex import (
    MemoraiEmbedding,
    MemoraiMemory,
    MemoraiPGRetriever,
    MemoraiPropertyGraphStore,
    delete_from_property_graph,
    export_to_property_graph,
)

pytestmark = pytest.mark.filterwarnings(CONNECTION)
TASKS, ROUNDS = 8, 6
current_user: ContextVar[str] = ContextVar("current_user")


@pytest.fixture
def memory():
    with two_users() as memory:
        yield memory


@pytest.fixture
def index(memory):
    store = MemoraiPropertyGraphStore(memory=memory, user_id=current_user.get)
    return PropertyGraphIndex.from_existing(store, llm=MockLLM(), embed_model=MemoraiEmbedding(memory.embedder), use_async=False)


def said(memory, user):
    return {turn.text for turn in memory.view(user_id=user).turns()}


async def test_tasks_of_two_users_interleaved_on_one_index_see_their_own_alone(memory, index):
    store = index.property_graph_store
    retriever = index.as_retriever(
        sub_retrievers=[MemoraiPGRetriever(store, k=6), VectorContextRetriever(store, embed_model=index._embed_model, include_text=True)]
    )

    async def converse(number: int) -> None:
        user, other = ("alice", "bob") if number % 2 else ("bob", "alice")
        current_user.set(user)
        chat = MemoraiMemory(memory=memory, user_id=current_user.get, session_id=f"task {number}", k=6, raise_errors=True)
        for turn in range(ROUNDS):
            await chat.aput(ChatMessage(f"{user}'s word number {turn} of {number}: moved, museum, accordion."))
            recalled = "".join(message.content or "" for message in await chat.aget())
            nodes = await retriever.aretrieve("moved museum accordion")
            assert f"{other}'s word" not in recalled
            assert nodes
            assert {node.metadata["user_id"] for node in nodes} == {user}
            assert all(node.properties["user_id"] == user for node in await store.aget())
        await chat.sql_store._async_engine.dispose()

    await asyncio.gather(*map(converse, range(TASKS)))
    await memory.adrain()
    for user in ("alice", "bob"):
        own = [text for text in said(memory, user) if "'s word" in text]
        assert len(own) == TASKS // 2 * ROUNDS, "each message once"
        assert all(text.startswith(f"{user}'s word") for text in own)
        assert memory.stats(user)[0].pending == 0


def test_threads_of_two_users_on_one_retriever_see_their_own_alone(memory, index):
    retriever = MemoraiPGRetriever(index.property_graph_store, k=6)

    def ask(user: str) -> set[str]:
        current_user.set(user)
        return {node.metadata["user_id"] for _ in range(ROUNDS) for node in retriever.retrieve("moved museum accordion")}

    with ThreadPoolExecutor(TASKS) as threads:
        users = ["alice", "bob"] * (TASKS // 2)
        waiting = [threads.submit(copy_context().run, ask, user) for user in users]
        assert [one.result() for one in waiting] == [{user} for user in users]


def test_without_a_user_there_is_no_reading(index):
    with pytest.raises(LookupError):
        Context().run(lambda: MemoraiPGRetriever(index.property_graph_store).retrieve("museum"))
    with pytest.raises(ConfigurationError, match="user_id"):
        MemoraiPropertyGraphStore(memory=index.property_graph_store.memory, user_id="").get()


def test_a_user_who_is_forgotten_is_gone_from_either_store(memory, index):
    exported = SimplePropertyGraphStore()
    for user in ("alice", "bob"):
        export_to_property_graph(memory, user, exported)
    current_user.set("alice")
    index.property_graph_store.delete(properties={"user_id": "alice"})
    delete_from_property_graph("alice", exported)
    stock = VectorContextRetriever(index.property_graph_store, embed_model=index._embed_model)
    for retriever in (MemoraiPGRetriever(index.property_graph_store), stock):
        assert retriever.retrieve("Rex museum Hanoi violin") == []
    assert index.property_graph_store.get() == []
    assert exported.get(properties={"user_id": "alice"}) == []
    assert "alice" not in exported.graph.model_dump_json()
    assert "Rex" not in exported.graph.model_dump_json()
    current_user.set("bob")
    assert "Mia broke my accordion." in texts(MemoraiPGRetriever(index.property_graph_store).retrieve("accordion"))
    assert exported.get(properties={"user_id": "bob"})
