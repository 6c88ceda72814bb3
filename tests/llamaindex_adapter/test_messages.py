from datetime import UTC, datetime

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock

from llamaindex_adapter.fakes import empty
from memorai_core import Message
from memorai_llamaindex.messages import last_user_text, to_message, to_messages, unheard

NOW = datetime(2025, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("role", ["user", "assistant", "chatbot", "model"])
def test_who_speaks_is_the_user_or_the_assistant(role):
    assert to_message(ChatMessage("hello", role=role)).role == ("user" if role == "user" else "assistant")


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage("be kind", role="system"),
        ChatMessage("be kind", role="developer"),
        ChatMessage("42 degrees", role="tool", additional_kwargs={"tool_call_id": "1"}),
        ChatMessage("42 degrees", role="function"),
        ChatMessage(None, role="assistant", additional_kwargs={"tool_calls": [{"id": "1"}]}),
        ChatMessage([ToolCallBlock(tool_name="weather", tool_kwargs={})], role="assistant"),
        ChatMessage([ThinkingBlock(content="hm")], role="assistant"),
        ChatMessage([ImageBlock(image=b"1234", image_mimetype="image/png")], role="user"),
        ChatMessage("  \n", role="user"),
        ChatMessage([], role="user"),
        ChatMessage([TextBlock(text="<memory>\n<memorai>old</memorai>\n</memory>")], role="user"),
    ],
)
def test_what_nobody_said_is_not_remembered(message):
    assert to_message(message) is None


def test_text_is_taken_without_what_stands_around_it():
    blocks = [
        TextBlock(text="<memory>\n<memorai>old</memorai>\n</memory>"),
        ThinkingBlock(content="hm"),
        TextBlock(text="It rains."),
        ToolCallBlock(tool_name="weather", tool_kwargs={}),
        TextBlock(text="Take a coat."),
    ]
    assert to_message(ChatMessage(blocks, role="assistant")).text == "It rains.\nTake a coat."


def test_name_timestamp_and_id_are_read_from_additional_kwargs():
    told = {"name": "Alice", "timestamp": "2025-03-01T09:00:00+00:00", "id": "m1"}
    message = ChatMessage("hello", role="user", additional_kwargs=told)
    moment = datetime(2025, 3, 1, 9, tzinfo=UTC)
    assert to_message(message, now=NOW) == Message(role="user", text="hello", name="Alice", timestamp=moment, id="m1")
    assert to_message(ChatMessage("hello", additional_kwargs={"timestamp": moment}), now=NOW).timestamp == moment
    assert message.additional_kwargs == told


@pytest.mark.parametrize(
    "told", [{}, {"name": 3, "timestamp": "soon", "id": 4}, {"id": "", "timestamp": 1700000000}, {"name": "x" * 2000, "id": "m"}]
)
def test_what_cannot_be_read_is_left_out(told):
    assert to_messages([ChatMessage("hello", additional_kwargs=told)], now=NOW) == [Message(role="user", text="hello", timestamp=NOW)]


def test_the_last_thing_the_user_said_is_the_question():
    said = [ChatMessage("first"), ChatMessage("second"), ChatMessage("answer", role="assistant"), ChatMessage("", role="user")]
    assert last_user_text(said) == "second"
    assert last_user_text([ChatMessage("answer", role="assistant")]) == ""
    assert last_user_text([]) == ""


def test_only_what_a_session_does_not_hold_is_unheard():
    with empty() as memory:
        history = [Message(role="user", text=text) for text in ("yes", "why?", "yes")]
        first = unheard(memory, "a", "s", history)
        assert [message.text for message in first] == ["yes", "why?", "yes"]
        assert len({message.id for message in first}) == 3
        assert first == unheard(memory, "a", "s", history), "the ids are made of the history alone"
        memory.append(first, user_id="a", session_id="s")
        assert unheard(memory, "a", "s", history) == []
        assert [message.text for message in unheard(memory, "a", "s", [*history, Message(role="user", text="yes")])] == ["yes"]
        assert len(unheard(memory, "a", "other", history)) == 3
        own = Message(role="user", text="no", id="m1")
        assert unheard(memory, "a", "s", [own]) == [own]
