import json
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.errors import ConfigurationError, FormatError
from memorai_core.formats import read_conversations

TURN = {"speaker": "Ana", "dia_id": "D1:1", "text": "I adopted a cat."}


def sample(sample_id="conv-1", **conversation):
    found = conversation or {"session_1": [TURN], "session_1_date_time": "1:56 pm on 8 May, 2023"}
    return {"sample_id": sample_id, "conversation": {"speaker_a": "Ana", "speaker_b": "Ben", **found}, "qa": []}


@pytest.fixture
def write(tmp_path):
    def to_file(*samples, name="samples.json"):
        path: Path = tmp_path / name
        path.write_text(json.dumps(list(samples)), encoding="utf-8")
        return path

    return to_file


def test_a_sample_becomes_its_users_conversation(write):
    path = write(
        sample(
            session_10=[{"speaker": "Ben", "dia_id": "D10:1", "text": "How is the cat?"}],
            session_10_date_time="12:08 am on 1 June, 2023",
            session_2=[TURN],
            session_2_date_time="1:56 pm on 8 May, 2023",
        )
    )
    (conversation,) = read_conversations(path)
    assert conversation.user_id == "conv-1"
    assert [session.session_id for session in conversation.sessions] == ["session_2", "session_10"]
    (message,) = conversation.sessions[0].messages
    assert (message.role, message.name, message.id, message.text) == ("user", "Ana", "D1:1", "I adopted a cat.")
    assert message.timestamp == datetime(2023, 5, 8, 13, 56)
    assert conversation.sessions[1].messages[0].timestamp == datetime(2023, 6, 1, 0, 8)


@pytest.mark.parametrize(
    ("turn", "text"),
    [
        ({"text": "Look!", "blip_caption": "a cat on a sofa"}, "Look!\n[image: a cat on a sofa]"),
        ({"text": "", "blip_caption": "a cat on a sofa"}, "[image: a cat on a sofa]"),
        (
            {"blip_caption": "a cat on a sofa", "img_url": ["x"], "re-download": True},
            "[image: a cat on a sofa]",
        ),
        ({"text": "Look!", "blip_caption": ""}, "Look!"),
        ({"text": "Look!", "blip_caption": None}, "Look!"),
        ({"text": ""}, ""),
    ],
)
def test_a_shared_image_is_told_by_its_caption(write, turn, text):
    (conversation,) = read_conversations(write(sample(session_1=[{"speaker": "Ana", "dia_id": "D1:1", **turn}])))
    assert conversation.sessions[0].messages[0].text == text


def test_a_session_without_turns_is_skipped_and_one_without_a_date_is_undated(write):
    path = write(sample(session_1=[TURN], session_2_date_time="4:10 pm on 26 October, 2023", session_3=[], session_4=[TURN]))
    (conversation,) = read_conversations(path)
    assert [session.session_id for session in conversation.sessions] == ["session_1", "session_4"]
    assert conversation.sessions[0].messages[0].timestamp is None


def test_questions_of_any_make_are_left_aside(write):
    questions = [
        {"question": "?", "answer": 3, "evidence": ["D8:6; D9:17"], "category": 1},
        {"question": "?", "evidence": ["D:11:26", "D30:05"], "adversarial_answer": "no", "category": 5},
        {"question": "?", "answer": None, "evidence": [], "category": 4},
    ]
    path = write(sample() | {"qa": questions, "observation": None, "session_summary": 7})
    (conversation,) = read_conversations(path)
    assert len(conversation.sessions) == 1


def test_a_repeated_turn_id_is_told_apart(write):
    (conversation,) = read_conversations(write(sample(session_1=[TURN, TURN | {"text": "Her name is Miso."}])))
    assert [message.id for message in conversation.sessions[0].messages] == ["D1:1", "D1:1#2"]


def test_many_samples_are_given_one_after_the_other_each_checked_as_a_whole(write):
    conversations = read_conversations(write(sample("conv-1"), sample("conv-2"), sample("conv-3", session_1=[TURN, {}])))
    assert [next(conversations).user_id, next(conversations).user_id] == ["conv-1", "conv-2"]
    with pytest.raises(FormatError, match=r"record 3, session_1: turns\[1\]\.speaker: field required \(and 1 more\)"):
        next(conversations)


def test_one_sample_can_be_given_another_user_but_several_cannot(write):
    (conversation,) = read_conversations(write(sample()), user_id="ana")
    assert conversation.user_id == "ana"
    with pytest.raises(ConfigurationError, match="several conversations"):
        next(read_conversations(write(sample("conv-1"), sample("conv-2")), user_id="ana"))
    with pytest.raises(ConfigurationError, match="user_id is blank"):
        next(read_conversations(write(sample()), user_id=""))


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (sample(session_1="none"), "record 1, session_1: turns: input should be a valid list, found 'none'"),
        (sample(session_1=[TURN | {"text": 5}]), r"turns\[0\].text: input should be a valid string, found 5"),
        (sample(session_1=[TURN | {"speaker": " "}]), r"turns\[0\].speaker: "),
        (sample(session_1=[TURN | {"dia_id": None}]), r"turns\[0\].dia_id: input should be a valid string, found None"),
        (sample(session_1=["hello"]), r"turns\[0\]: .*found 'hello'"),
        (sample(session_1=[TURN], session_1_date_time="some day"), "record 1, session_1: 'some day' is not a date"),
        (sample(session_1=[TURN], session_1_date_time=20230508), "record 1, session_1: date_time: .*found 20230508"),
        (sample(session_1_date_time="1:56 pm on 8 May, 2023"), "record 1: found no turns"),
        ({"conversation": {"session_1": [TURN]}}, "record 1: sample_id: field required"),
        (sample(""), "record 1: sample_id: "),
    ],
)
def test_wrong_types_say_where(write, broken, expected):
    with pytest.raises(FormatError, match=expected):
        list(read_conversations(write(broken)))


def test_two_samples_of_one_name_are_refused(write):
    with pytest.raises(FormatError, match="record 2: the id 'conv-1' already names record 1"):
        list(read_conversations(write(sample("conv-1"), sample("conv-1"))))


@given(st.lists(st.integers(min_value=0, max_value=400), unique=True, min_size=1, max_size=8), st.data())
def test_sessions_come_in_the_order_of_their_numbers_with_every_turn(tmp_path_factory, numbers, data):
    texts = {number: data.draw(st.lists(st.text(max_size=5), min_size=1, max_size=3)) for number in numbers}
    turns = {
        f"session_{number}": [{"speaker": "Ana", "dia_id": f"D{number}:{place}", "text": text} for place, text in enumerate(said)]
        for number, said in texts.items()
    }
    path = tmp_path_factory.mktemp("locomo") / "sample.json"
    path.write_text(json.dumps([sample(**turns)]), encoding="utf-8")
    (conversation,) = read_conversations(path)
    assert [session.session_id for session in conversation.sessions] == [f"session_{number}" for number in sorted(numbers)]
    assert [len(session.messages) for session in conversation.sessions] == [len(texts[number]) for number in sorted(numbers)]
