import logging
from types import SimpleNamespace

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")


from memorai_core import ConfigurationError, UnknownUserError
from memorai_langchain import MemoraiMiddleware, memory_tools
from memorai_langchain.scope import session_of, user_of

from .agents import Context, weather
from .fakes import calls, texts

ASKED = "What is my cat called?"


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
