import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from memorai_langchain import MemoraiMiddleware

from .fakes import texts

ASKED = "What is my cat called?"


class Passing(AgentMiddleware):
    """Does nothing."""


def test_what_both_sides_say_is_stored_under_the_thread(agent, alice):
    agent("Miso.").say(ASKED)
    assert texts(alice, "alice", "tuesday") == [ASKED, "Miso."]
    alice.drain()
    assert alice.stats("alice")[0].pending == 0


def test_steps_on_the_way_to_an_answer_are_not(agent, alice):
    look = AIMessage("I look it up.", tool_calls=[{"name": "weather", "args": {"city": "Hanoi"}, "id": "1"}])
    agent(look, "Sunny.").say("How is the weather?")
    assert texts(alice, "alice", "tuesday") == ["How is the weather?", "Sunny."]


def test_ids_and_times(agent, alice):
    out = agent("Miso.").say(ASKED)
    nodes = [data for _, data in alice.graph(user_id="alice").nodes(data=True) if data.get("session_id") == "tuesday"]
    turns = [data for data in nodes if data["kind"] == "turn"]
    assert {turn["source_id"] for turn in turns} == {message.id for message in out["messages"]}
    assert not any(turn["timestamp_inferred"] for turn in turns)


def test_a_long_conversation_is_stored_once(agent, alice):
    replies = [f"Answer {number}" for number in range(4)]
    miso = agent(*replies)
    for number in range(4):
        miso.say(f"Question {number}")
    assert texts(alice, "alice", "tuesday") == [text for n in range(4) for text in (f"Question {n}", f"Answer {n}")]


def test_the_user_s_turn_survives_a_model_that_fails(agent, alice):
    miso = agent(ConnectionError("the line is dead"), "Now.")
    with pytest.raises(ConnectionError):
        miso.say("First")
    assert texts(alice, "alice", "tuesday") == ["First"]
    miso.say("Second")
    assert texts(alice, "alice", "tuesday") == ["First", "Second", "Now."]


def test_an_edit_replaces_the_turn_in_place_even_if_it_is_not_the_last(agent, alice):
    miso = agent("One.", "Two.", "Three.")
    miso.say(HumanMessage("I live in Hanoi", id="h1"))
    miso.say(HumanMessage("I like tea", id="h2"))
    miso.say(HumanMessage("I live in Hue", id="h1"), HumanMessage("And coffee", id="h3"))
    assert texts(alice, "alice", "tuesday") == ["I live in Hue", "One.", "I like tea", "Two.", "And coffee", "Three."]


def test_what_was_forgotten_stays_forgotten_though_the_thread_still_shows_it(agent, alice):
    miso = agent("One.", "Two.", saver=True)
    miso.say("I live in Hanoi")
    alice.forget(user_id="alice", session_id="tuesday")
    miso.say("And Linh too")
    assert texts(alice, "alice", "tuesday") == ["And Linh too", "Two."]


def test_that_holds_across_processes(agent, alice):
    saver = InMemorySaver()
    agent("One.", checkpointer=saver).say("I live in Hanoi")
    alice.forget(user_id="alice", session_id="tuesday")
    agent("Two.", checkpointer=saver).say("And Linh too")
    assert texts(alice, "alice", "tuesday") == ["And Linh too", "Two."]


def test_a_thread_that_began_without_memory_is_remembered_from_now_on(agent, alice):
    saver = InMemorySaver()
    agent("One.", checkpointer=saver, middleware=Passing()).say("Before")
    miso = agent("Two.", "Three.", checkpointer=saver)
    miso.say("After")
    miso.say("Later")
    assert texts(alice, "alice", "tuesday") == ["After", "Two.", "Later", "Three."]


def test_several_messages_of_one_turn(agent, alice):
    agent("Miso.").say("I have a cat.", "What is it called?")
    assert texts(alice, "alice", "tuesday") == ["I have a cat.", "What is it called?", "Miso."]


def test_without_a_checkpointer_a_conversation_sent_along_is_stored_once(agent, alice):
    middleware = MemoraiMiddleware(memory=alice, session_id="stateless", raise_errors=True)
    miso = agent("Hello.", "yes", "yes", middleware=middleware, saver=False)
    said = []
    for text in ["Hi", "yes", "yes"]:
        said.append(("user", text))
        out = miso.say(*said, config={})
        said.append(("assistant", out["messages"][-1].content))
    assert texts(alice, "alice", "stateless") == ["Hi", "Hello.", "yes", "yes", "yes", "yes"]


def test_and_a_turn_sent_again_is_the_same_turn(agent, alice):
    middleware = MemoraiMiddleware(memory=alice, session_id="stateless", raise_errors=True)
    miso = agent(ConnectionError("the line is dead"), "Hello.", middleware=middleware, saver=False)
    with pytest.raises(ConnectionError):
        miso.say("Hi", config={})
    miso.say("Hi", config={})
    assert texts(alice, "alice", "stateless") == ["Hi", "Hello."]


@pytest.mark.parametrize(("index", "pending"), [("inline", 0), ("manual", 2)])
def test_who_indexes(agent, alice, index, pending):
    agent("Miso.", middleware=MemoraiMiddleware(memory=alice, index=index)).say(ASKED)
    alice.drain()
    assert alice.stats("alice")[0].pending == pending
