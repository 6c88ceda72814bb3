import logging
from types import SimpleNamespace

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from memorai_core import ConfigurationError, UnknownUserError
from memorai_langchain import MemoraiMiddleware, memory_tools
from memorai_langchain.scope import session_of, user_of

from .agents import THREAD, Agent, Context, weather
from .fakes import calls, texts

ASKED = "What is my cat called?"


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def agent(request, alice):
    return lambda *replies, **options: Agent(alice, replies, is_async=request.param, **options)


class TestRecalling:
    def test_the_model_is_told_what_is_remembered(self, agent):
        miso = agent("Miso.")
        assert miso.say(ASKED)["messages"][-1].content == "Miso."
        assert 'speaker="Alice">I adopted a grey cat called Miso.</turn>' in miso.told()

    def test_after_the_system_prompt(self, agent):
        miso = agent("Miso.", system_prompt="Be nice.")
        miso.say(ASKED)
        assert miso.told().startswith("Be nice.\n\nBelow are turns")

    def test_blocks_of_a_system_prompt_stay_as_they_are(self, agent):
        block = {"type": "text", "text": "Be nice.", "cache_control": {"type": "ephemeral"}}
        miso = agent("Miso.", system_prompt=SystemMessage([block]))
        miso.say(ASKED)
        first, second = miso.told()
        assert first == block
        assert "Miso" in second["text"]

    def test_nothing_of_it_enters_the_conversation_or_its_checkpoints(self, agent):
        miso = agent("Yes.")
        out = miso.say("Do I have a cat?")
        assert set(out) == {"messages"}
        assert [message.type for message in out["messages"]] == ["human", "ai"]
        checkpoints = str(list(miso.graph.get_state_history(THREAD)))
        assert "Do I have a cat?" in checkpoints
        assert "Miso" not in checkpoints

    def test_a_new_user_s_system_prompt_is_left_alone(self, agent):
        miso = agent("Hello.", system_prompt="Be nice.")
        miso.say("Hi there", user="new")
        assert miso.told() == "Be nice."

    def test_what_stands_in_the_conversation_is_not_repeated(self, agent):
        miso = agent("Yes.", "Miso.")
        miso.say("I have a cat, a grey cat.")
        miso.say("What cat do I have, a grey cat?")
        assert "I adopted a grey cat called Miso." in miso.told()
        assert "I have a cat" not in miso.told()
        assert "What cat do I have" not in miso.told()

    def test_another_thread_is_recalled(self, agent):
        miso = agent("Oh.", "Blue.")
        miso.say("My bicycle is blue.")
        miso.say("Which colour has my bicycle?", config={"configurable": {"thread_id": "wednesday"}})
        assert "My bicycle is blue." in miso.told()

    def test_once_per_message_however_many_steps_the_agent_takes(self, agent, alice, monkeypatch):
        asked = []
        retrieve = alice.retrieve
        monkeypatch.setattr(alice, "retrieve", lambda query, **options: asked.append(query) or retrieve(query, **options))
        miso = agent(calls("weather", city="Hanoi"), calls("weather", city="Hue"), "Sunny.", "Rainy.")
        miso.say("How is the weather at home?")
        assert asked == ["How is the weather at home?"]
        assert all("Hanoi" in miso.told(call) for call in range(3))
        miso.say("And tomorrow?")
        assert len(asked) == 2

    def test_anew_after_the_agent_has_changed_the_memory(self, agent, alice):
        (turn,) = alice.retrieve("grey cat Miso", user_id="alice", k=1).turns
        miso = agent(calls("forget_memory", turn_ids=[turn.turn_id[:12]]), "Forgotten.", tools=memory_tools(memory=alice))
        miso.say("Forget about my grey cat Miso.")
        assert ["adopted a grey cat" in miso.told(call) for call in range(2)] == [True, False]

    def test_what_a_framework_has_put_in_is_no_question(self, agent):
        miso = agent("Yes.")
        miso.say(ASKED, HumanMessage("Background task finished.", additional_kwargs={"lc_source": "async_subagent"}))
        assert "Miso" in miso.told()

    @pytest.mark.parametrize(("options", "turns"), [({"k": 1}, 1), ({"k": 4}, 4), ({"k": 4, "max_tokens": 150}, 1)])
    def test_k_and_the_token_limit(self, agent, alice, options, turns):
        miso = agent("Miso.", middleware=MemoraiMiddleware(memory=alice, **options))
        miso.say(ASKED)
        assert miso.told().count("<turn ") == turns


class TestCapturing:
    def test_what_both_sides_say_is_stored_under_the_thread(self, agent, alice):
        agent("Miso.").say(ASKED)
        assert texts(alice, "alice", "tuesday") == [ASKED, "Miso."]
        alice.drain()
        assert alice.stats("alice")[0].pending == 0

    def test_steps_on_the_way_to_an_answer_are_not(self, agent, alice):
        look = AIMessage("I look it up.", tool_calls=[{"name": "weather", "args": {"city": "Hanoi"}, "id": "1"}])
        agent(look, "Sunny.").say("How is the weather?")
        assert texts(alice, "alice", "tuesday") == ["How is the weather?", "Sunny."]

    def test_ids_and_times(self, agent, alice):
        out = agent("Miso.").say(ASKED)
        nodes = [data for _, data in alice.graph(user_id="alice").nodes(data=True) if data.get("session_id") == "tuesday"]
        turns = [data for data in nodes if data["kind"] == "turn"]
        assert {turn["source_id"] for turn in turns} == {message.id for message in out["messages"]}
        assert not any(turn["timestamp_inferred"] for turn in turns)

    def test_a_long_conversation_is_stored_once(self, agent, alice):
        replies = [f"Answer {number}" for number in range(4)]
        miso = agent(*replies)
        for number in range(4):
            miso.say(f"Question {number}")
        assert texts(alice, "alice", "tuesday") == [text for n in range(4) for text in (f"Question {n}", f"Answer {n}")]

    def test_the_user_s_turn_survives_a_model_that_fails(self, agent, alice):
        miso = agent(ConnectionError("the line is dead"), "Now.")
        with pytest.raises(ConnectionError):
            miso.say("First")
        assert texts(alice, "alice", "tuesday") == ["First"]
        miso.say("Second")
        assert texts(alice, "alice", "tuesday") == ["First", "Second", "Now."]

    def test_an_edit_replaces_the_turn_in_place_even_if_it_is_not_the_last(self, agent, alice):
        miso = agent("One.", "Two.", "Three.")
        miso.say(HumanMessage("I live in Hanoi", id="h1"))
        miso.say(HumanMessage("I like tea", id="h2"))
        miso.say(HumanMessage("I live in Hue", id="h1"), HumanMessage("And coffee", id="h3"))
        assert texts(alice, "alice", "tuesday") == ["I live in Hue", "One.", "I like tea", "Two.", "And coffee", "Three."]

    def test_what_was_forgotten_stays_forgotten_though_the_thread_still_shows_it(self, agent, alice):
        miso = agent("One.", "Two.", saver=True)
        miso.say("I live in Hanoi")
        alice.forget(user_id="alice", session_id="tuesday")
        miso.say("And Linh too")
        assert texts(alice, "alice", "tuesday") == ["And Linh too", "Two."]

    def test_that_holds_across_processes(self, agent, alice):
        saver = InMemorySaver()
        agent("One.", checkpointer=saver).say("I live in Hanoi")
        alice.forget(user_id="alice", session_id="tuesday")
        agent("Two.", checkpointer=saver).say("And Linh too")
        assert texts(alice, "alice", "tuesday") == ["And Linh too", "Two."]

    def test_a_thread_that_began_without_memory_is_remembered_from_now_on(self, agent, alice):
        saver = InMemorySaver()
        agent("One.", checkpointer=saver, middleware=Passing()).say("Before")
        miso = agent("Two.", "Three.", checkpointer=saver)
        miso.say("After")
        miso.say("Later")
        assert texts(alice, "alice", "tuesday") == ["After", "Two.", "Later", "Three."]

    def test_several_messages_of_one_turn(self, agent, alice):
        agent("Miso.").say("I have a cat.", "What is it called?")
        assert texts(alice, "alice", "tuesday") == ["I have a cat.", "What is it called?", "Miso."]

    def test_without_a_checkpointer_a_conversation_sent_along_is_stored_once(self, agent, alice):
        middleware = MemoraiMiddleware(memory=alice, session_id="stateless", raise_errors=True)
        miso = agent("Hello.", "yes", "yes", middleware=middleware, saver=False)
        said = []
        for text in ["Hi", "yes", "yes"]:
            said.append(("user", text))
            out = miso.say(*said, config={})
            said.append(("assistant", out["messages"][-1].content))
        assert texts(alice, "alice", "stateless") == ["Hi", "Hello.", "yes", "yes", "yes", "yes"]

    def test_and_a_turn_sent_again_is_the_same_turn(self, agent, alice):
        middleware = MemoraiMiddleware(memory=alice, session_id="stateless", raise_errors=True)
        miso = agent(ConnectionError("the line is dead"), "Hello.", middleware=middleware, saver=False)
        with pytest.raises(ConnectionError):
            miso.say("Hi", config={})
        miso.say("Hi", config={})
        assert texts(alice, "alice", "stateless") == ["Hi", "Hello."]

    @pytest.mark.parametrize(("index", "pending"), [("inline", 0), ("manual", 2)])
    def test_who_indexes(self, agent, alice, index, pending):
        agent("Miso.", middleware=MemoraiMiddleware(memory=alice, index=index)).say(ASKED)
        alice.drain()
        assert alice.stats("alice")[0].pending == pending


class Passing(AgentMiddleware):
    """Does nothing."""


class TestScope:
    def test_one_agent_serves_many_users(self, agent, alice):
        miso = agent("Miso.", "I do not know.", middleware=MemoraiMiddleware(memory=alice, user_id="nobody"))
        miso.say(ASKED)
        miso.say(ASKED, user="bob", config={"configurable": {"thread_id": "b"}})
        assert "Miso" in miso.told(0)
        assert miso.told(1) == ""
        assert texts(alice, "bob") == [ASKED, "I do not know."]
        with pytest.raises(UnknownUserError):
            texts(alice, "nobody")

    def test_configurable_and_constructor_follow_the_context(self, agent, alice):
        miso = agent("Miso.", "Miso.", middleware=MemoraiMiddleware(memory=alice, user_id="alice"))
        miso.say(ASKED, user=None)
        assert "Miso" in miso.told()
        miso.say(ASKED, user=None, config={"configurable": {"thread_id": "b", "user_id": "bob"}})
        assert miso.told() == ""

    def test_neither_user_nor_session_is_an_error_that_says_what_to_do(self, agent, alice):
        failing_open = MemoraiMiddleware(memory=alice)
        with pytest.raises(ConfigurationError, match="no user: pass user_id="):
            agent("Miso.", middleware=failing_open).say(ASKED, user=None)
        with pytest.raises(ConfigurationError, match="no session: pass session_id="):
            agent("Miso.", middleware=failing_open, saver=False).say(ASKED, config={})

    def test_a_server_s_login_is_a_user(self):
        server = SimpleNamespace(user=SimpleNamespace(identity="alice"))
        assert user_of("bob", SimpleNamespace(context=None, server_info=server)) == "alice"
        assert user_of("bob", SimpleNamespace(context={"user_id": "carol"}, server_info=server)) == "carol"
        assert session_of("s", SimpleNamespace(context={"session_id": 7}, server_info=server)) == "7"

    @pytest.mark.parametrize("options", [{"index": "later"}, {"k": 0}])
    def test_wrong_arguments_are_errors(self, agent, alice, options):
        with pytest.raises(ConfigurationError):
            agent("Miso.", middleware=MemoraiMiddleware(memory=alice, **options)).say(ASKED)

    def test_the_memory_of_tools_and_middleware_is_the_context_s(self, agent, alice):
        miso = agent(calls("search_memory", query="cat"), "Miso.", tools=[weather, *memory_tools(memory=alice, user_id="nobody")])
        out = miso.say("Hello, who am I?")
        assert "Miso" in out["messages"][-2].content


class TestFailing:
    def test_a_failing_memory_does_not_stop_the_agent(self, agent, alice, caplog):
        miso = agent("I do not know.", middleware=MemoraiMiddleware(memory=alice))
        alice.close()
        with caplog.at_level(logging.ERROR, "memorai_langchain"):
            assert miso.say(ASKED)["messages"][-1].content == "I do not know."
        assert caplog.text.count("saving failed") == 2
        assert "recalling failed" in caplog.text

    def test_unless_it_is_told_to(self, agent, alice):
        alice.close()
        with pytest.raises(Exception, match="closed"):
            agent("Miso.").say(ASKED)

    def test_what_could_not_be_stored_is_stored_by_the_next_run(self, agent, alice, monkeypatch):
        miso = agent("One.", "Two.", middleware=MemoraiMiddleware(memory=alice))
        with monkeypatch.context() as broken:
            broken.setattr(alice, "append", lambda *given, **options: 1 / 0)
            miso.say("First")
        miso.say("Second")
        assert texts(alice, "alice", "tuesday") == ["First", "One.", "Second", "Two."]

    def test_what_is_stored_but_could_not_be_indexed_is_not_stored_again(self, agent, alice, monkeypatch, caplog):
        miso = agent("One.", "Two.", middleware=MemoraiMiddleware(memory=alice, index="inline"))
        with monkeypatch.context() as broken:
            broken.setattr(alice, "index", lambda **options: 1 / 0)
            broken.setattr(alice, "aindex", lambda **options: 1 / 0)
            miso.say("First")
        assert caplog.text.count("saving failed") == 2
        appended, append = [], alice.append
        monkeypatch.setattr(alice, "append", lambda messages, **options: appended.extend(messages) or append(messages, **options))
        miso.say("Second")
        assert [message.text for message in appended] == ["Second", "Two."]
        assert texts(alice, "alice", "tuesday") == ["First", "One.", "Second", "Two."]

    def test_an_error_of_the_model_is_the_model_s(self, agent):
        with pytest.raises(ConnectionError, match="dead"):
            agent(ConnectionError("the line is dead")).say(ASKED)


def test_context_may_be_a_dictionary_or_an_object(alice):
    for context in [{"user_id": "alice"}, Context("alice")]:
        assert user_of(None, SimpleNamespace(context=context)) == "alice"
