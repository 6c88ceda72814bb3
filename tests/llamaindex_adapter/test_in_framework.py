"""The adapter inside the framework's index, engines and agents, with the framework's own stand-ins for models."""

import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, SimpleChatEngine
from llama_index.core.indices.property_graph import LLMSynonymRetriever, VectorContextRetriever
from llama_index.core.llms.mock import MockFunctionCallingLLM, MockLLM, MockLLMWithChatMemoryOfLastCall
from llama_index.core.memory import Memory

from llamaindex_adapter.fakes import CONNECTION, DEPRECATED, dispose, in_running_loop, two_users
from memorai_llamaindex import MemoraiEmbedding, MemoraiMemory, MemoraiMemoryBlock, MemoraiPGRetriever, MemoraiPropertyGraphStore

pytestmark = pytest.mark.filterwarnings(CONNECTION)
QUESTION = "What did Rex find at the museum?"
ANSWER = "Rex found an old violin at the museum."


@pytest.fixture
def memory():
    with two_users() as memory:
        yield memory


@pytest.fixture
def index(memory):
    store = MemoraiPropertyGraphStore(memory=memory, user_id="alice")
    return PropertyGraphIndex.from_existing(store, llm=MockLLM(), embed_model=MemoraiEmbedding(memory.embedder), use_async=False)


@pytest.fixture
def chat(memory):
    chat = MemoraiMemory(memory=memory, user_id="alice", session_id="now", k=3, index="inline", raise_errors=True)
    yield chat
    dispose(chat)


def ours(index):
    return MemoraiPGRetriever(index.property_graph_store, k=2)


def heard(memory):
    return [(turn.role, turn.text) for turn in memory.view(user_id="alice").turns(session_id="now")]


def test_alone_and_beside_the_stock_retrievers(index):
    store, model = index.property_graph_store, index._embed_model
    stock = [
        LLMSynonymRetriever(store, llm=MockLLM(), output_parsing_fn=lambda said: ["Rex found"]),
        VectorContextRetriever(store, embed_model=model),
    ]
    alone = index.as_retriever(sub_retrievers=[ours(index)]).retrieve(QUESTION)
    assert alone == ours(index).retrieve(QUESTION)
    among = index.as_retriever(sub_retrievers=[ours(index), *stock]).retrieve(QUESTION)
    assert among[:2] == alone
    assert len({node.node_id for node in among}) > 2
    last = index.as_retriever(sub_retrievers=[*stock, ours(index)]).retrieve(QUESTION)
    assert {node.node_id for node in last} == {node.node_id for node in among}
    assert any("Alice -> speaks_of -> Rex found" in node.text and ANSWER in node.text for node in last)
    assert all(node.metadata["triplets"] for node in last)


def test_the_indexs_own_default_retrievers_read_the_store(index):
    assert any(ANSWER in node.text for node in index.as_retriever().retrieve(QUESTION))


async def test_the_retriever_of_an_index_async_and_sync_in_a_running_loop(memory):
    store = MemoraiPropertyGraphStore(memory=memory, user_id="alice")
    model = MemoraiEmbedding(memory.embedder)
    index = PropertyGraphIndex.from_existing(store, llm=MockLLM(), embed_model=model, use_async=True)
    retriever = index.as_retriever(sub_retrievers=[ours(index), VectorContextRetriever(store, embed_model=model)])
    nodes = [node.text for node in await retriever.aretrieve(QUESTION)]
    assert nodes == [node.text for node in await in_running_loop(lambda: retriever.retrieve(QUESTION))]
    assert ANSWER in nodes[0]


async def test_a_query_engine_is_given_the_turns(index):
    engine = index.as_query_engine(sub_retrievers=[ours(index)], llm=MockLLM())
    for answer in (engine.query(QUESTION), await engine.aquery(QUESTION), await in_running_loop(lambda: engine.query(QUESTION))):
        assert ANSWER in str(answer)
        assert "triplet_id" not in str(answer), "metadata are not for the model"
        assert answer.source_nodes[0].node.metadata["triplets"]


@pytest.mark.parametrize("mode", ["context", "condense_plus_context", "condense_question"])
async def test_a_chat_engine_of_the_index_is_given_the_turns(index, mode):
    engine = index.as_chat_engine(chat_mode=mode, llm=MockLLM(), sub_retrievers=[ours(index)])
    for answer in (engine.chat(QUESTION), await engine.achat(QUESTION), await in_running_loop(lambda: engine.chat(QUESTION))):
        assert ANSWER in str(answer.sources[0].content if answer.sources else "") or ANSWER in str(answer.source_nodes[0].text)


async def test_a_chat_engine_remembers(memory, chat):
    llm = MockLLMWithChatMemoryOfLastCall(max_tokens=3)
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=chat)
    engine.chat(QUESTION)
    assert ANSWER in llm.last_chat_messages[0].content
    await engine.achat("And then?")
    await in_running_loop(lambda: engine.chat("Where?"))
    asked = [text for role, text in heard(memory) if role == "user"]
    assert asked == [QUESTION, "And then?", "Where?"]
    assert [role for role, _ in heard(memory)] == ["user", "assistant"] * 3


def test_a_streamed_answer_is_remembered_whole(memory, chat):
    engine = CondensePlusContextChatEngine.from_defaults(
        retriever=MemoraiPGRetriever(memory=memory, user_id="alice"), llm=MockLLM(max_tokens=5), memory=chat
    )
    said = "".join(engine.stream_chat(QUESTION).response_gen)
    assert heard(memory) == [("user", QUESTION), ("assistant", said)]


def answering(messages, **kwargs):
    """Asks for the tool once, then answers."""
    if messages[-1].role == "user":
        call = ToolCallBlock(tool_call_id="1", tool_name="weather", tool_kwargs={"place": "Hanoi"})
        return ChatMessage([call], role="assistant")
    return ChatMessage(f"It rains. {len(messages)} messages.", role="assistant")


def weather(place: str) -> str:
    """The weather in a place."""
    return f"It rains in {place}."


@pytest.mark.filterwarnings(DEPRECATED)
async def test_an_agent_with_memory_recalls_and_remembers_each_message_once(memory, chat):
    given = []

    def spoken(messages, **kwargs):
        given.append(messages)
        return answering(messages)

    agent = FunctionAgent(tools=[weather], llm=MockFunctionCallingLLM(response_generator=spoken), streaming=False)
    answer = await agent.run(user_msg=QUESTION, memory=chat)
    assert "It rains." in str(answer)
    assert any(ANSWER in (message.content or "") for message in given[0] if message.role == "system")
    assert [role for role, _ in heard(memory)] == ["user", "assistant"]
    assert heard(memory)[0] == ("user", QUESTION)
    history = await chat.aget_all()
    await agent.run(user_msg="And then?", chat_history=history, memory=chat)
    assert [text for role, text in heard(memory) if role == "user"] == [QUESTION, "And then?"]
    assert len(heard(memory)) == 4


@pytest.mark.filterwarnings(DEPRECATED)
async def test_an_agent_with_a_new_memory_each_time_stores_the_history_once(memory):
    agent = FunctionAgent(llm=MockFunctionCallingLLM(response_generator=lambda messages, **_: ChatMessage("Fine.", role="assistant")))
    history: list[ChatMessage] = []
    for asked in ("How are you?", "Really?", "How are you?"):
        chat = MemoraiMemory(memory=memory, user_id="alice", session_id="now", index="manual", raise_errors=True)
        answer = await agent.run(user_msg=asked, chat_history=history, memory=chat)
        history += [ChatMessage(asked), ChatMessage(str(answer), role="assistant")]
        await chat.sql_store._async_engine.dispose()
    assert heard(memory) == [(message.role.value, message.content) for message in history]


@pytest.mark.filterwarnings(DEPRECATED)
async def test_an_agent_with_the_frameworks_memory_and_the_block(memory):
    chat = Memory.from_defaults(memory_blocks=[MemoraiMemoryBlock(memory=memory, user_id="alice", k=2)])
    given = []

    def spoken(messages, **kwargs):
        given.append(messages)
        return ChatMessage("A violin.", role="assistant")

    agent = FunctionAgent(llm=MockFunctionCallingLLM(response_generator=spoken))
    assert str(await agent.run(user_msg=QUESTION, memory=chat)) == "A violin."
    assert ANSWER in "".join(message.content or "" for message in given[0])
    await chat.sql_store._async_engine.dispose()
