import gzip
import json
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.errors import ConfigurationError, FormatError
from memorai_core.formats import read_conversations
from memorai_core.formats.ids import numbered

ASKED = [{"role": "user", "content": "I moved to Porto.", "has_answer": True}, {"role": "assistant", "content": "Noted."}]


def instance(question_id="q1", *, sessions=(ASKED,), ids=("s1",), dates=("2023/05/30 (Tue) 23:40",), **more):
    return {
        "question_id": question_id,
        "question_type": "single-session-user",
        "question": "Where do I live?",
        "question_date": "2023/05/30 (Tue) 20:00",
        "answer": 5,
        "answer_session_ids": ["s1"],
        "haystack_dates": list(dates),
        "haystack_session_ids": list(ids),
        "haystack_sessions": list(sessions),
        **more,
    }


@pytest.fixture
def write(tmp_path):
    def to_file(*instances):
        path: Path = tmp_path / "instances"
        path.write_text(json.dumps(list(instances)), encoding="utf-8")
        return path

    return to_file


def test_a_haystack_becomes_the_conversation_of_its_question(write):
    (conversation,) = read_conversations(write(instance("q1_abs")))
    assert conversation.user_id == "q1_abs"
    (session,) = conversation.sessions
    assert [(message.role, message.text, message.id, message.name) for message in session.messages] == [
        ("user", "I moved to Porto.", "s1:0", None),
        ("assistant", "Noted.", "s1:1", None),
    ]
    assert {message.timestamp for message in session.messages} == {datetime(2023, 5, 30, 23, 40)}


def test_sessions_keep_the_files_order_and_repeated_ids_are_told_apart(write):
    dates = ("2023/05/30 (Tue) 23:40", "2023/05/20 (Sat) 04:48", "2023/06/01 (Thu) 10:00")
    path = write(instance(sessions=(ASKED, ASKED, ASKED[:1]), ids=("s1", "s2", "s1"), dates=dates))
    (conversation,) = read_conversations(path)
    assert [session.session_id for session in conversation.sessions] == ["s1", "s2", "s1#2"]
    assert [session.messages[0].timestamp.day for session in conversation.sessions] == [30, 20, 1]
    assert conversation.sessions[2].messages[0].id == "s1#2:0"


def test_an_empty_message_stays_and_keeps_its_place(write):
    path = write(instance(sessions=([{"role": "user", "content": ""}, *ASKED],)))
    (conversation,) = read_conversations(path)
    assert [(message.id, message.text) for message in conversation.sessions[0].messages] == [
        ("s1:0", ""),
        ("s1:1", "I moved to Porto."),
        ("s1:2", "Noted."),
    ]


def test_a_session_without_messages_is_skipped(write):
    dates = ("2023/05/30 (Tue) 23:40",) * 2
    (conversation,) = read_conversations(write(instance(sessions=([], ASKED), ids=("s1", "s1"), dates=dates)))
    assert [session.session_id for session in conversation.sessions] == ["s1#2"]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([instance("q1"), instance("q2")]).encode(),
        "\n".join(json.dumps(one) for one in (instance("q1"), instance("q2"))).encode(),
        gzip.compress("\n".join(json.dumps(one) for one in (instance("q1"), instance("q2"))).encode()),
        json.dumps([instance("q1"), instance("q2")], indent=2).encode("utf-8-sig"),
    ],
)
def test_json_jsonl_and_gzip_are_recognised_by_content(tmp_path, content):
    path = tmp_path / "data.txt"
    path.write_bytes(content)
    assert [conversation.user_id for conversation in read_conversations(path)] == ["q1", "q2"]


def test_one_user_for_several_haystacks_is_refused_before_any_is_given(write):
    with pytest.raises(ConfigurationError, match="several conversations"):
        next(read_conversations(write(instance("q1"), instance("q2")), user_id="ana"))


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (instance(ids=("s1", "s2")), "found 2 haystack_session_ids, 1 haystack_dates, 1 haystack_sessions"),
        (instance(dates=()), "0 haystack_dates"),
        (instance(dates=("soon",)), "record 1: session 's1': 'soon' is not a date"),
        (instance(sessions=("hello",)), r"haystack_sessions\[0\]: input should be a valid list, found 'hello'"),
        (instance(sessions=([{"role": "user"}],)), r"haystack_sessions\[0\]\[0\]\.content: field required"),
        (instance(sessions=([{"role": "user", "content": 7}],)), r"haystack_sessions\[0\]\[0\]\.content: .*found 7"),
        (instance(sessions=([{"role": "", "content": "hi"}],)), r"haystack_sessions\[0\]\[0\]\.role: "),
        (instance(sessions=(), ids=(), dates=()), "record 1: found no turns"),
        (instance(sessions=([],)), "record 1: found no turns"),
        (instance(question_id=None), "record 1: question_id: "),
        ({"haystack_sessions": None}, "record 1: question_id: field required .and 3 more"),
    ],
)
def test_wrong_types_say_where(write, broken, expected):
    with pytest.raises(FormatError, match=expected):
        list(read_conversations(write(broken)))


def test_a_file_that_turns_into_another_format_is_refused_there(write):
    conversations = read_conversations(write(instance(), {"role": "user", "content": "hi"}))
    assert next(conversations).user_id == "q1"
    with pytest.raises(FormatError, match="record 2: question_id: field required"):
        next(conversations)


@given(st.lists(st.sampled_from(["a", "b", "a#2", "a#3", "b#2"]), max_size=12))
def test_numbered_ids_are_unique_and_first_ones_stay(ids):
    unique = numbered(ids)
    assert len(set(unique)) == len(ids)
    assert all(new == old or new.startswith(f"{old}#") for new, old in zip(unique, ids, strict=True))
    for name in set(ids):
        assert unique[ids.index(name)] == name


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=4))
def test_a_grown_list_keeps_the_ids_it_had(ids, later):
    assert numbered(ids + later)[: len(ids)] == numbered(ids)
