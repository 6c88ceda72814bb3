"""MemoraiMemory in LangChain's classic chains, which are deprecated and in use."""

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra [classic]")

from langchain_classic.chains import ConversationChain, LLMChain
from langchain_classic.memory import CombinedMemory, ConversationBufferMemory, ReadOnlySharedMemory
from langchain_core.language_models import FakeListChatModel, FakeListLLM
from langchain_core.prompts import PromptTemplate

from memorai_core import Memory
from memorai_langchain import MemoraiMemory

from .fakes import chat, texts

pytestmark = pytest.mark.filterwarnings(
    "ignore:The class `(ConversationChain|LLMChain|ConversationBufferMemory|InMemoryChatMessageHistory)`",
    "ignore:Please see the migration guide",
)
ASKED = "What is my cat called?"


@pytest.fixture
def bound(alice):
    return MemoraiMemory(memory=alice, user_id="alice", session_id="tuesday", raise_errors=True)


def test_conversation_chain(bound):
    model = chat("Miso.", "Peanuts.")
    chain = ConversationChain(llm=model, memory=bound)
    assert chain.invoke({"input": ASKED})["response"] == "Miso."
    assert "I adopted a grey cat called Miso." in model.asked[0][0].content
    assert chain.predict(input="What am I allergic to?") == "Peanuts."
    assert texts(bound.memory, "alice", "tuesday") == [ASKED, "Miso.", "What am I allergic to?", "Peanuts."]


async def test_conversation_chain_in_async(bound):
    model = chat("Miso.")
    chain = ConversationChain(llm=model, memory=bound)
    assert (await chain.ainvoke({"input": ASKED}))["response"] == "Miso."
    assert "I adopted a grey cat called Miso." in model.asked[0][0].content
    assert texts(bound.memory, "alice", "tuesday") == [ASKED, "Miso."]


async def test_conversation_chain_streamed(bound):
    chain = ConversationChain(llm=FakeListChatModel(responses=["Miso."]), memory=bound)
    assert [part["response"] for part in chain.stream({"input": ASKED})] == ["Miso."]
    assert [part["response"] async for part in chain.astream({"input": ASKED})] == ["Miso."]
    assert texts(bound.memory, "alice", "tuesday") == [ASKED, "Miso."] * 2


@pytest.mark.parametrize("inputs", [{"question": ASKED}, {"question": ASKED, "language": "English"}])
async def test_llm_chain(alice, inputs):
    memory = MemoraiMemory(memory=alice, user_id="alice", session_id="s", memory_key="known", raise_errors=True)
    prompt = PromptTemplate.from_template("\n".join(f"{{{name}}}" for name in ["known", *inputs]))
    chain = LLMChain(llm=FakeListLLM(responses=["Miso.", "Miso!"]), prompt=prompt, memory=memory)
    assert chain.invoke(inputs)["text"] == "Miso."
    answered = await chain.ainvoke(inputs)
    assert answered["text"] == "Miso!"
    assert "a grey cat called Miso" in answered["known"]
    assert texts(alice, "alice", "s") == [ASKED, "Miso.", ASKED, "Miso!"]


async def test_combined_with_a_window_of_the_conversation(alice):
    long_term = MemoraiMemory(memory=alice, user_id="alice", session_id="s", memory_key="known", raise_errors=True)
    recent = ConversationBufferMemory(memory_key="history", input_key="input")
    model = chat("Miso.", "Yes.")
    prompt = PromptTemplate.from_template("{known}\n{history}\nHuman: {input}")
    chain = ConversationChain(llm=model, memory=CombinedMemory(memories=[recent, long_term]), prompt=prompt)
    chain.invoke({"input": ASKED})
    await chain.ainvoke({"input": "Are you sure?"})
    assert f"Human: {ASKED}\nAI: Miso." in model.asked[1][0].content
    assert texts(alice, "alice", "s") == [ASKED, "Miso.", "Are you sure?", "Yes."]


def test_shared_for_reading_only(bound):
    chain = ConversationChain(llm=FakeListChatModel(responses=["Miso."]), memory=ReadOnlySharedMemory(memory=bound))
    assert "Miso" in chain.invoke({"input": ASKED})["history"]
    assert len(texts(bound.memory, "alice")) == 4


async def test_a_failing_memory_does_not_cost_the_answer(alice):
    chain = ConversationChain(
        llm=FakeListChatModel(responses=["I do not know."]), memory=MemoraiMemory(memory=alice, user_id="alice", session_id="s")
    )
    alice.close()
    assert chain.invoke({"input": ASKED})["response"] == "I do not know."
    assert (await chain.ainvoke({"input": ASKED}))["response"] == "I do not know."


def test_a_model_that_fails_stores_nothing(bound):
    chain = ConversationChain(llm=chat(ConnectionError("the line is dead")), memory=bound)
    with pytest.raises(ConnectionError):
        chain.invoke({"input": ASKED})
    assert len(texts(bound.memory, "alice")) == 4


def test_the_chain_keeps_the_memory_it_is_given(bound):
    chain = ConversationChain(llm=FakeListChatModel(responses=["Miso."]), memory=bound)
    assert chain.memory is bound
    assert isinstance(bound.memory, Memory)
