import json
import logging

import pytest

pytest.importorskip("langchain_core", reason="needs the extra [langchain]")

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ValidationError

from memorai_core import ConfigurationError, UnknownUserError
from memorai_langchain import MemoryTools, memory_tools

from .fakes import texts


@pytest.fixture
def tools(alice):
    return memory_tools(memory=alice, user_id="alice", session_id="s")


def call(tool, **arguments):
    return {"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"}


def test_the_three_tools_and_what_the_model_sees_of_them(tools):
    assert isinstance(tools, MemoryTools)
    assert [tool.name for tool in tools] == ["search_memory", "save_memory", "forget_memory"]
    schemas = [convert_to_openai_tool(tool)["function"]["parameters"]["properties"] for tool in tools]
    assert [list(schema) for schema in schemas] == [["query"], ["text"], ["turn_ids"]]


def test_searching(tools, alice):
    found = tools.search_memory.invoke(call(tools.search_memory, query="What is the cat called?"))
    assert isinstance(found, ToolMessage)
    assert "I adopted a grey cat called Miso." in found.content
    assert "not instructions" in found.content
    best = found.artifact["turns"][0]
    assert best["text"] == "I adopted a grey cat called Miso."
    assert f"Turn ids: [1] {best['turn_id'][:12]}, [2]" in found.content
    assert json.loads(json.dumps(found.artifact)) == found.artifact
    assert tools.search_memory.invoke({"query": "What is the cat called?"}) == found.content


async def test_searching_in_async(tools):
    found = await tools.search_memory.ainvoke(call(tools.search_memory, query="What is the cat called?"))
    assert found.artifact["turns"][0]["text"] == "I adopted a grey cat called Miso."


def test_nothing_is_found_of_a_new_user(memory):
    search = memory_tools(memory=memory, user_id="new").search_memory
    found = search.invoke(call(search, query="cats"))
    assert (found.content, found.artifact) == ("Nothing of that is remembered.", {"turns": []})


async def test_saving_once(tools, alice):
    saved = [tools.save_memory.invoke(call(tools.save_memory, text="Alice works as a nurse.")) for _ in range(2)]
    saved.append(await tools.save_memory.ainvoke(call(tools.save_memory, text="Alice works as a nurse.")))
    assert {message.content for message in saved} == {"Remembered."}
    assert len({message.artifact["turn_ids"][0] for message in saved}) == 1
    assert texts(alice, "alice", "s#notes") == ["Alice works as a nurse."]
    await alice.adrain()
    assert alice.show(saved[0].artifact["turn_ids"][0], user_id="alice").subject.kept


async def test_forgetting_what_is_named_and_nothing_else(tools, alice):
    best, *others = alice.retrieve("grey cat Miso", user_id="alice", k=4).turns
    forget = tools.forget_memory
    done = forget.invoke(call(forget, turn_ids=[f"[{best.turn_id[:12]}]", "0" * 12, others[0].turn_id[:6]]))
    assert done.content.startswith("Forgot 1 of 3 turns.")
    assert others[0].turn_id[:6] in done.content
    assert done.artifact == {"forgotten": [best.turn_id], "unknown": ["0" * 12, others[0].turn_id[:6]]}
    assert len(texts(alice, "alice")) == 3
    done = await forget.ainvoke(call(forget, turn_ids=[others[0].turn_id]))
    assert done.artifact["forgotten"] == [others[0].turn_id]
    assert len(texts(alice, "alice")) == 2


def test_only_turns_are_forgotten(tools, alice):
    triplet = alice.retrieve("grey cat Miso", user_id="alice").triplets[0]
    assert tools.forget_memory.invoke({"turn_ids": [triplet.triplet_id]}).startswith("Forgot 0 of 1")


class TestWhoseMemory:
    def test_another_user_s_turn_cannot_be_forgotten(self, alice):
        (turn,) = alice.retrieve("grey cat Miso", user_id="alice", k=1).turns
        forget = memory_tools(memory=alice, user_id="bob").forget_memory
        assert forget.invoke({"turn_ids": [turn.turn_id]}).startswith("Forgot 0 of 1")
        assert len(texts(alice, "alice")) == 4

    def test_the_run_s_user_wins(self, tools, alice):
        config = {"configurable": {"user_id": "bob", "thread_id": "t"}}
        assert tools.search_memory.invoke({"query": "cat"}, config) == "Nothing of that is remembered."
        tools.save_memory.invoke({"text": "Bob has a dog."}, config)
        assert texts(alice, "bob", "t#notes") == ["Bob has a dog."]
        assert RunnableLambda(lambda query: tools.search_memory.invoke({"query": query})).invoke("dog", config).count("<turn") == 1

    @pytest.mark.parametrize("spoof", [{"user_id": "alice"}, {"runtime": {"context": {"user_id": "alice"}}}, {"config": {}}])
    def test_the_model_cannot_choose_it(self, alice, spoof):
        search = memory_tools(memory=alice, user_id="bob").search_memory
        found = search.invoke(call(search, query="cat", **spoof))
        assert found.content == "Nothing of that is remembered."

    def test_nobody_s_is_an_error_that_says_what_to_do(self, alice):
        tools = memory_tools(memory=alice)
        with pytest.raises(ConfigurationError, match="no user: pass user_id="):
            tools.search_memory.invoke({"query": "cat"})
        with pytest.raises(ConfigurationError, match="no session: pass session_id="):
            memory_tools(memory=alice, user_id="bob").save_memory.invoke({"text": "Bob has a dog."})
        with pytest.raises(UnknownUserError):
            texts(alice, "bob")


@pytest.mark.parametrize("options", [{"k": 0}, {"index": "later"}])
def test_wrong_options_are_errors(memory, options):
    with pytest.raises(ConfigurationError):
        memory_tools(memory=memory, user_id="alice", **options)


def test_wrong_arguments_are_errors(tools):
    for tool, arguments in [(tools.search_memory, {}), (tools.save_memory, {"text": ""}), (tools.forget_memory, {"turn_ids": []})]:
        with pytest.raises(ValidationError):
            tool.invoke(arguments)


async def test_a_failing_memory_tells_the_model(tools, alice, caplog):
    alice.close()
    with caplog.at_level(logging.ERROR, "memorai_langchain"):
        for tool, arguments in zip(tools, [{"query": "a"}, {"text": "a"}, {"turn_ids": ["a" * 12]}], strict=True):
            for message in [tool.invoke(call(tool, **arguments)), await tool.ainvoke(call(tool, **arguments))]:
                assert message.status == "error"
                assert message.content.startswith("The memory cannot be used now")
    assert len(caplog.records) == 6


def test_unless_it_is_told_to_raise(alice):
    tools = memory_tools(memory=alice, user_id="alice", session_id="s", raise_errors=True)
    alice.close()
    with pytest.raises(Exception, match="closed"):
        tools.search_memory.invoke({"query": "a"})
