import pytest

pytest.importorskip("langchain_core", reason="needs the extra [langchain]")

from langchain_core.messages import AIMessage, HumanMessage

from memorai_core import ConfigurationError
from memorai_langchain import MemoraiMemory

from .fakes import texts

ASKED = {"input": "What is my cat called?"}


@pytest.mark.parametrize(
    "inputs",
    [
        {"input": "Hi there"},
        {"anything": "Hi there"},
        {"question": "Hi there", "context": "a document"},
        {"anything": "Hi there", "history": "what is recalled", "stop": ["\n"], "past": [HumanMessage("before"), AIMessage("yes")]},
        {"anything": "Hi there", "chat_history": "Human: before"},
        {"input": HumanMessage("Hi there")},
        {"input": [{"type": "text", "text": "Hi there"}, {"type": "image", "base64": "aaaa"}]},
        {"messages": [HumanMessage("before"), AIMessage("yes"), HumanMessage("Hi there")]},
    ],
)
def test_the_input_is_found(bound, both_ways, inputs):
    both_ways(bound).load(inputs)
    both_ways(bound).save(inputs, {"output": "Hello"})
    assert texts(bound.memory, "alice", "tuesday") == ["Hi there", "Hello"]


@pytest.mark.parametrize(
    "outputs",
    [
        {"anything": "Hello"},
        {"answer": "Hello", "source_documents": []},
        {"output": "Hello", "intermediate_steps": [("look", "saw")]},
        {"text": AIMessage("Hello")},
        {"output": [{"type": "text", "text": "Hello", "index": 0}]},
        {"messages": [HumanMessage("Hi there"), AIMessage("", tool_calls=[{"name": "a", "args": {}, "id": "1"}]), AIMessage("Hello")]},
    ],
)
def test_the_output_is_found(bound, both_ways, outputs):
    both_ways(bound).save({"input": "Hi there"}, outputs)
    assert texts(bound.memory, "alice", "tuesday") == ["Hi there", "Hello"]


def test_named_keys_win(alice):
    memory = MemoraiMemory(memory=alice, user_id="alice", session_id="s", input_key="mine", output_key="yours")
    memory.save_context({"mine": "a", "input": "b"}, {"yours": "c", "output": "d"})
    assert texts(alice, "alice", "s") == ["a", "c"]


def test_an_ambiguous_input_is_an_error_that_lists_the_candidates(bound, both_ways):
    with pytest.raises(ConfigurationError, match=r"input_key=: there are 'language', 'topic'"):
        both_ways(bound).load({"language": "en", "topic": "cats", "history": "before"})


def test_an_ambiguous_output_is_an_error_that_lists_the_candidates(bound, both_ways):
    with pytest.raises(ConfigurationError, match=r"output_key=: there are 'draft', 'score'"):
        both_ways(bound).save(ASKED, {"draft": "a", "score": 1})


@pytest.mark.parametrize("outputs", [{}, {"output": "a"}])
def test_a_named_key_that_is_not_there_is_an_error(alice, outputs):
    memory = MemoraiMemory(memory=alice, user_id="alice", session_id="s", output_key="reply")
    with pytest.raises(ConfigurationError, match=r"no output 'reply'.*there are ('output'|none)"):
        memory.save_context(ASKED, outputs)
