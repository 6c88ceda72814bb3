from datetime import UTC, datetime

import pytest

pytest.importorskip("langchain_core", reason="needs the extra [langchain]")

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from memorai_langchain import to_messages
from memorai_langchain.convert import text_of

NOW = datetime(2024, 5, 1, 9, 0, tzinfo=UTC)
CALL = {"name": "look", "args": {"at": "Hanoi"}, "id": "1"}
IMAGE = {"type": "image", "base64": "iVBORw0KGgo", "mime_type": "image/png"}


def converted(message, **options):
    (only,) = to_messages([message], **options)
    return only


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (HumanMessage("hello"), "user"),
        (HumanMessageChunk(content="hello"), "user"),
        (AIMessage("hello"), "assistant"),
        (AIMessageChunk(content="hello"), "assistant"),
        (ChatMessage("hello", role="human"), "user"),
        (ChatMessage("hello", role="critic"), "critic"),
    ],
)
def test_who_speaks(message, role):
    assert (converted(message).role, converted(message).text) == (role, "hello")


@pytest.mark.parametrize(
    "message",
    [
        SystemMessage("Be nice."),
        ChatMessage("Be nice.", role="System"),
        ChatMessage("Be nice.", role="developer"),
        RemoveMessage(id="1"),
        ToolMessage("42", tool_call_id="1"),
        FunctionMessage("42", name="look"),
        HumanMessage(""),
        HumanMessage("  \n"),
        HumanMessage("Summary of the conversation so far.", additional_kwargs={"lc_source": "summarization"}),
        AIMessage("", tool_calls=[CALL]),
        AIMessage([{"type": "reasoning", "reasoning": "Let me see."}]),
        AIMessage([{"type": "thinking", "thinking": "Let me see.", "signature": "x"}, {"type": "tool_use", "id": "1", "input": {}}]),
        AIMessage("<think>Let me see.</think>"),
        HumanMessage([IMAGE]),
    ],
)
def test_what_is_not_remembered(message):
    assert to_messages([message]) == []


def test_what_tools_return_is_remembered_on_demand_without_its_artifact():
    message = ToolMessage("42 degrees", tool_call_id="1", name="weather", artifact={"secret": 1}, id="t1")
    found = converted(message, tool_results=True)
    assert found.model_dump() == {"role": "tool", "text": "42 degrees", "name": "weather", "timestamp": None, "id": "t1"}


def test_text_beside_a_tool_call_is_remembered():
    assert converted(AIMessage("I look it up.", tool_calls=[CALL])).text == "I look it up."


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (["I moved ", "to Hanoi."], "I moved to Hanoi."),
        ([{"type": "text", "text": "See: "}, {"type": "text", "text": "this."}], "See: this."),
        ([{"type": "text", "text": "Before."}, IMAGE, {"type": "text", "text": "After."}], "Before.\nAfter."),
        ([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "Yes."}, {"type": "tool_use"}], "Yes."),
        ([{"type": "input_text", "text": "Hello"}, {"text": " you"}], "Hello you"),
        ([{"type": "text", "text": None}, {"type": "refusal", "refusal": "No."}, {"type": "text-plain", "text": "a file"}], ""),
        ("<think>\nwell\n</think>\n\nYes.", "Yes."),
        ("What does <think>x</think> mean?", "What does <think>x</think> mean?"),
        ("![](data:image/png;base64,iVBORw0KGgo=) there", "![]([image/png]) there"),
        ("data:;base64,AAAA", "[data]"),
        ([], ""),
    ],
)
def test_text_of_content(content, text):
    assert text_of(content) == text


def test_names_ids_and_times():
    dated = HumanMessage("a", name="Alice", id="m1", additional_kwargs={"timestamp": "2024-04-30T18:00:00+02:00"})
    found = converted(dated, now=NOW)
    assert (found.name, found.id) == ("Alice", "m1")
    assert found.timestamp == datetime(2024, 4, 30, 16, 0, tzinfo=UTC)
    answered = AIMessage("b", response_metadata={"created_at": "2024-05-01T07:00:00.123456789Z"})
    assert converted(answered).timestamp == datetime(2024, 5, 1, 7, 0, 0, 123456, UTC)
    assert converted(HumanMessage("c", additional_kwargs={"timestamp": NOW})).timestamp == NOW


@pytest.mark.parametrize("metadata", [{}, {"timestamp": "yesterday"}, {"timestamp": 1714550400}, {"created_at": None}])
def test_without_a_readable_time_it_is_now(metadata):
    assert converted(HumanMessage("a", additional_kwargs=metadata), now=NOW).timestamp == NOW
    assert converted(HumanMessage("a", additional_kwargs=metadata)).timestamp is None


BLOCKS = st.one_of(
    st.text(),
    st.fixed_dictionaries({"type": st.sampled_from(["text", "reasoning", "image", "refusal", "tool_use"]), "text": st.text() | st.none()}),
    st.fixed_dictionaries({"type": st.just("image"), "base64": st.text()}),
)


@given(st.lists(BLOCKS))
def test_any_content_gives_its_text_in_order_or_nothing(blocks):
    wanted = [
        block if isinstance(block, str) else (block.get("text") or "") if block["type"] == "text" else ""
        for block in blocks
    ]  # fmt: skip
    if not any("base64" in text or "<think" in text for text in wanted):
        assert text_of(blocks).replace("\n", "") == "".join(wanted).replace("\n", "")
    assert len(to_messages([HumanMessage(blocks)])) <= 1
