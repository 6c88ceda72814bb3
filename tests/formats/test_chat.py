import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from memorai_core.errors import FormatError
from memorai_core.formats import Conversation, read_conversations


@pytest.fixture
def write(tmp_path):
    def to_file(*messages, name="chat.jsonl"):
        path: Path = tmp_path / name
        path.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
        return path

    return to_file


def read(path, **options) -> Conversation:
    (conversation,) = read_conversations(path, **options)
    return conversation


def said(content, **more):
    return {"role": "user", "content": content, **more}


def test_all_fields_are_kept(write):
    message = said("I moved to Porto", name="Ana", timestamp="2024-03-02T10:00:00Z", id="m1", session_id="spring", model="x")
    (session,) = read(write(message)).sessions
    assert session.session_id == "spring"
    (only,) = session.messages
    assert (only.role, only.text, only.name, only.id) == ("user", "I moved to Porto", "Ana", "m1")
    assert only.timestamp == datetime(2024, 3, 2, 10, tzinfo=UTC)


def test_without_ids_all_are_one_session_of_the_files_name(write):
    conversation = read(write(said("hi"), {"role": "assistant", "content": "hello"}, name="talk.v2.jsonl"))
    assert conversation.user_id == "talk.v2"
    (session,) = conversation.sessions
    assert session.session_id == "talk.v2"
    assert [message.id for message in session.messages] == ["talk.v2:0", "talk.v2:1"]
    assert [message.role for message in session.messages] == ["user", "assistant"]


@pytest.mark.parametrize("name", ["talk.json", "talk.jsonl", "talk.jsonl.gz", "talk.GZ", "talk"])
def test_the_user_is_named_after_the_file_or_as_told(write, name):
    path = write(said("hi"), name=name)
    assert read(path).user_id == "talk"
    assert read(path, user_id="ana").user_id == "ana"
    assert read(path, user_id="ana").sessions[0].session_id == "talk"


def test_sessions_are_gathered_in_the_order_of_their_first_messages(write):
    path = write(said("1", session_id="b"), said("2", session_id="a"), said("3", session_id="b"), said("4", session_id=7))
    conversation = read(path)
    assert [(session.session_id, [message.text for message in session.messages]) for session in conversation.sessions] == [
        ("b", ["1", "3"]),
        ("a", ["2"]),
        ("7", ["4"]),
    ]
    assert [message.id for message in conversation.sessions[0].messages] == ["b:0", "b:1"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "one"}, {"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "tool_use", "id": "t", "input": {}}], ""),
        (["bare", {"type": "output_text", "text": "typed"}], "bare\ntyped"),
        ("a\u0000b", "ab"),
        ("lone \ud83d surrogate", "lone \ufffd surrogate"),
    ],
)
def test_content_may_be_blocks(write, content, text):
    assert read(write(said(content))).sessions[0].messages[0].text == text


def test_nulls_and_blanks_stand_for_absent_fields(write):
    (message,) = read(write(said("hi", name=None, timestamp=None, id=None, session_id=None))).sessions[0].messages
    assert (message.name, message.timestamp, message.id) == (None, None, "chat:0")
    (message,) = read(write(said("hi", name=" ", timestamp=""))).sessions[0].messages
    assert (message.name, message.timestamp) == (None, None)


def test_a_message_given_twice_is_read_once_and_an_id_with_two_texts_is_refused(write):
    twice = read(write(said("hi", id="m1"), said("hi", id="m1"), said("yes"), said("yes")))
    assert [message.id for message in twice.sessions[0].messages] == ["m1", "chat:2", "chat:3"]
    apart = read(write(said("hi", id="m1", session_id="a"), said("ho", id="m1", session_id="b")))
    assert len(apart.sessions) == 2
    with pytest.raises(FormatError, match="line 2: the id 'm1' already stands at line 1 with other text"):
        read(write(said("hi", id="m1"), said("ho", id="m1")))


def test_a_made_id_never_takes_a_given_one(write):
    conversation = read(write(said("first"), said("second", id="chat:0"), said("third", id=3)))
    assert [message.id for message in conversation.sessions[0].messages] == ["chat:0'", "chat:0", "3"]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "user"}, "line 2: content: field required"),
        ({"content": "hi"}, "line 2: role: field required"),
        (said(7), "line 2: content: input should be a valid string, found 7"),
        (said({"text": "hi"}), "line 2: content: input should be a valid string, found an object with the keys 'text'"),
        (said([3]), "line 2: content: .*a block of content is neither text nor an object with a type, found a list of 1"),
        (said([{"type": "text", "text": None}]), "line 2: content: "),
        (said("hi", role=" "), "line 2: role: "),
        (said("hi", role=None), "line 2: role: "),
        (said("hi", name=["Ana"]), "line 2: name: "),
        (said("hi", name="n" * 2000), "line 2: name: "),
        (said("hi", id=""), "line 2: id: "),
        (said("hi", session_id=" "), "line 2: session_id: .*must not be blank"),
        (said("hi", id="x" * 2000), "line 2: id: "),
        (said("hi", id=True), "line 2: id: .*found True"),
        (said("hi", session_id=1.5), "line 2: session_id: .*found 1.5"),
        (said("hi", timestamp=1700000000), "line 2: timestamp: .*must be a text, .*found 1700000000"),
        (said("hi", timestamp=0), "line 2: timestamp: "),
        (said("hi", timestamp="next week"), "line 2: timestamp: .*not a date"),
        ("hello", "line 2: .*found 'hello'"),
        (None, "line 2: .*found None"),
    ],
)
def test_wrong_types_say_which_line_and_nothing_is_given(write, message, expected):
    with pytest.raises(FormatError, match=expected):
        next(read_conversations(write(said("fine"), message)))


MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=8) | st.none()},
        optional={
            "name": st.text(max_size=8) | st.none(),
            "session_id": st.sampled_from(["a", "b", "chat", 3, None]),
            "id": st.sampled_from(["x", "y", "a:0", "a:1", "chat:0", "chat:0'", 5, None]),
            "timestamp": st.datetimes(timezones=st.none() | st.just(UTC)).map(datetime.isoformat),
            "extra": st.integers(),
        },
    ),
    min_size=1,
    max_size=12,
)


@given(MESSAGES)
def test_ids_are_unique_in_a_session_and_the_same_on_every_reading(tmp_path_factory, messages):
    path = tmp_path_factory.mktemp("chat") / "chat.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    try:
        conversation = read(path)
    except FormatError as refused:
        event("an id with two texts")
        assume("already stands at" not in str(refused))
        raise
    assert read(path) == conversation
    for session in conversation.sessions:
        ids = [message.id for message in session.messages]
        assert None not in ids
        assert len(set(ids)) == len(ids)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=6), st.lists(st.text(max_size=8), max_size=6))
def test_a_file_grown_at_its_end_keeps_the_messages_it_had(tmp_path_factory, texts, later):
    path = tmp_path_factory.mktemp("chat") / "chat.json"
    path.write_text(json.dumps([said(text) for text in texts]), encoding="utf-8")
    before = read(path).sessions[0].messages
    path.write_text(json.dumps([said(text) for text in texts + later]), encoding="utf-8")
    after = read(path).sessions[0].messages
    assert after[: len(before)] == before
    assert len(after) == len(texts) + len(later)
