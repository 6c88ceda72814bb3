"""MemoraiMiddleware beside LangChain's own middleware."""

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")

from langchain.agents.middleware import (
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import FakeListChatModel
from langgraph.types import Command
from pydantic import BaseModel

from memorai_langchain import memory_tools

from .agents import THREAD, Context
from .fakes import calls, texts


@pytest.mark.parametrize("order", ["before", "after"])
def test_summarised_messages_are_stored_before_they_go_and_summaries_are_not(agent, alice, order):
    summariser = SummarizationMiddleware(FakeListChatModel(responses=["A summary."] * 9), trigger=("messages", 4), keep=("messages", 1))
    miso = agent(*(f"Answer {number}" for number in range(5)), **{order: [summariser]})
    for number in range(5):
        out = miso.say(f"Question {number}")
    assert "A summary." in str(out["messages"])
    assert len(out["messages"]) < 6
    assert texts(alice, "alice", "tuesday") == [text for n in range(5) for text in (f"Question {n}", f"Answer {n}")]


def test_what_was_summarised_away_can_be_recalled(agent):
    summariser = SummarizationMiddleware(FakeListChatModel(responses=["A summary."] * 9), trigger=("messages", 3), keep=("messages", 1))
    miso = agent("Nice.", "Fine.", "Blue.", before=[summariser])
    miso.say("My new bicycle is blue.")
    miso.say("It rains a lot.")
    assert "My new bicycle" in str(miso.asked[1]) or "My new bicycle" in miso.told(1)
    miso.say("Which colour has my new bicycle?")
    assert "My new bicycle is blue." in miso.told()


@pytest.mark.parametrize("order", ["before", "after"])
def test_what_is_redacted_is_redacted_in_the_memory_too(agent, alice, order):
    miso = agent("Thanks.", "Fine.", **{order: [PIIMiddleware("email", strategy="redact")]})
    miso.say("Write to alice@example.com please")
    assert texts(alice, "alice", "tuesday") == ["Write to [REDACTED_EMAIL] please", "Thanks."]
    miso.say("And now?")
    assert len(texts(alice, "alice", "tuesday")) == 4


def test_an_interrupt_is_resumed_and_everything_is_stored_once(agent, alice):
    asking = HumanInTheLoopMiddleware(interrupt_on={"forget_memory": True})
    (turn,) = alice.retrieve("grey cat Miso", user_id="alice", k=1).turns
    forget = calls("forget_memory", turn_ids=[turn.turn_id[:12]])
    miso = agent(forget, "Forgotten.", after=[asking], tools=memory_tools(memory=alice))
    assert "__interrupt__" in miso.say("Forget my cat.")
    assert texts(alice, "alice", "tuesday") == ["Forget my cat."]
    assert "I adopted a grey cat called Miso." in texts(alice, "alice")
    out = miso.run(Command(resume={"decisions": [{"type": "approve"}]}), THREAD, context=Context("alice"))
    assert out["messages"][-1].content == "Forgotten."
    assert texts(alice, "alice", "tuesday") == ["Forget my cat.", "Forgotten."]
    assert "I adopted a grey cat called Miso." not in texts(alice, "alice")
    assert "adopted a grey cat" not in miso.told()


def test_a_new_message_in_place_of_a_resumption(agent, alice):
    asking = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    miso = agent(calls("weather", city="Hanoi"), "All right.", after=[asking])
    miso.say("How is the weather?")
    miso.say("Never mind.")
    assert texts(alice, "alice", "tuesday") == ["How is the weather?", "Never mind.", "All right."]


def test_a_model_that_is_asked_again_is_told_the_same(agent, alice):
    miso = agent(ConnectionError("the line is dead"), "Miso.", after=[ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)])
    assert miso.say("What is my cat called?")["messages"][-1].content == "Miso."
    assert miso.told(0) == miso.told(1)
    assert "Miso" in miso.told(1)
    assert texts(alice, "alice", "tuesday") == ["What is my cat called?", "Miso."]


def test_edited_contexts(agent, alice):
    miso = agent("Miso.", after=[ContextEditingMiddleware()])
    miso.say("What is my cat called?")
    assert "Miso" in miso.told()


class Cat(BaseModel):
    """A cat."""

    name: str


def test_structured_answers(agent, alice):
    miso = agent(calls("Cat", name="Miso"), response_format=ToolStrategy(Cat))
    out = miso.say("What is my cat called?")
    assert out["structured_response"] == Cat(name="Miso")
    assert texts(alice, "alice", "tuesday") == ["What is my cat called?"]
