"""What a user sees of an agent's stream, and what is remembered of one that nobody reads to its end."""

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")

from langchain_core.language_models import FakeListChatModel

from memorai_core.flow import Prompt
from memorai_core.indexing.extractive import ExtractiveAnalyzer
from memorai_langchain import LangChainChatModel, MemoraiMiddleware

from .agents import THREAD, Agent, Context
from .fakes import calls, texts

ASKED = "What is my cat called?"


class Asking(ExtractiveAnalyzer):
    """Asks the chat model something before it does its work."""

    def analyze(self, session, turn_vectors):
        yield [Prompt("internal question", "gate", "1")]
        return (yield from super().analyze(session, turn_vectors))


@pytest.fixture
def asking(open_memory):
    model = FakeListChatModel(responses=["internal reply"])
    return open_memory("asking.db", chat_model=LangChainChatModel(model), analyzer=Asking())


def streaming(memory, *replies, index="inline", **options):
    return Agent(memory, replies, middleware=MemoraiMiddleware(memory=memory, index=index, raise_errors=True), **options).graph


def given(text=ASKED):
    return {"input": {"messages": [("user", text)]}, "config": THREAD, "context": Context("alice")}


@pytest.mark.parametrize("index", ["inline", "background"])
def test_internal_calls_do_not_leak_into_the_tokens(asking, index):
    agent = streaming(asking, "It is Miso.", index=index)
    tokens = [message.content for message, _ in agent.stream(**given(), stream_mode="messages")]
    assert "".join(tokens) == "It is Miso."
    assert len(tokens) > 2
    asking.drain()
    assert asking.stats("alice")[0].pending == 0


@pytest.mark.parametrize("index", ["inline", "background"])
async def test_nor_in_async(asking, index):
    agent = streaming(asking, "It is Miso.", index=index)
    tokens = [message.content async for message, _ in agent.astream(**given(), stream_mode="messages")]
    assert "".join(tokens) == "It is Miso."
    await asking.adrain()
    assert asking.stats("alice")[0].pending == 0


async def test_nor_into_the_events(asking):
    events = [event async for event in streaming(asking, "It is Miso.").astream_events(**given(), version="v2")]
    told = [event for event in events if event["event"].startswith("on_chat_model")]
    assert {event["metadata"].get("lc_source") for event in told} == {None}
    assert not any("internal" in str(event["data"]) for event in events)


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
def test_nor_into_the_messages_of_a_run(asking):
    pytest.importorskip("langchain.agents.middleware.internal_call_transformer", reason="langchain before 1.5 has no such runs")
    run = streaming(asking, "It is Miso.").stream_events(given()["input"], THREAD, context=Context("alice"), version="v3")
    assert ["".join(message.text) for message in run.messages] == ["It is Miso."]


def test_what_is_recalled_is_seen_in_no_mode_of_streaming(alice):
    agent = streaming(alice, calls("weather", city="Hanoi"), "It is sunny.")
    parts = list(agent.stream(**given("How is my cat?"), stream_mode=["values", "updates", "messages", "custom"]))
    assert len(parts) > 5
    assert "Miso" not in str(parts)


def test_what_the_state_keeps_of_ours_is_no_text(alice):
    *_, last = streaming(alice, "Miso.").stream(**given(), stream_mode="values")
    marks = last["memorai_marks"]
    assert set(marks) == {message.id for message in last["messages"]}
    assert all(set(mark) <= set("0123456789abcdef") for mark in marks.values())


class TestAbandoned:
    """Nothing after the model runs when nobody reads on; the next run makes up for it."""

    def test_the_user_s_turn_is_stored_and_the_answer_by_the_next_run(self, alice):
        agent = streaming(alice, "It is Miso.", "You are welcome.")
        for part in agent.stream(**given(), stream_mode="updates"):
            if "model" in part:
                break
        assert texts(alice, "alice", "tuesday") == [ASKED]
        agent.invoke(**given("Thank you"))
        assert texts(alice, "alice", "tuesday") == [ASKED, "It is Miso.", "Thank you", "You are welcome."]

    async def test_in_async(self, alice):
        agent = streaming(alice, "It is Miso.", "You are welcome.")
        stream = agent.astream(**given(), stream_mode="updates")
        async for part in stream:
            if "model" in part:
                break
        await stream.aclose()
        assert texts(alice, "alice", "tuesday") == [ASKED]
        await agent.ainvoke(**given("Thank you"))
        assert texts(alice, "alice", "tuesday") == [ASKED, "It is Miso.", "Thank you", "You are welcome."]

    def test_in_the_middle_of_an_answer(self, alice):
        agent = streaming(alice, "It is Miso.", "I said Miso.")
        tokens = agent.stream(**given(), stream_mode="messages")
        next(tokens)
        tokens.close()
        agent.invoke(**given("What?"))
        stored = texts(alice, "alice", "tuesday")
        assert [text for text in stored if text != "It is Miso."] == [ASKED, "What?", "I said Miso."]
        assert len(stored) == len(set(stored))
