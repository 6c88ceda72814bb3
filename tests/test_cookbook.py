import json
import runpy
from pathlib import Path

import pytest

from memorai_core.formats import read_conversations

DATA = Path(__file__).parent.parent / "cookbook" / "data"


def test_the_demo_conversation_is_long_dated_and_between_two():
    (conversation,) = read_conversations(DATA / "two_friends.jsonl")
    messages = [message for session in conversation.sessions for message in session.messages]
    dates = [message.timestamp for message in messages]
    assert len(conversation.sessions) >= 5
    assert len(messages) >= 90
    assert {message.name for message in messages} == {"Ines", "Bram"}
    assert dates == sorted(dates)
    assert (dates[-1] - dates[0]).days > 150
    assert len({message.id for message in messages}) == len(messages)


@pytest.mark.parametrize("question", json.loads((DATA / "two_friends.questions.json").read_text(encoding="utf-8")))
def test_each_demo_question_rests_on_turns_that_exist(question):
    (conversation,) = read_conversations(DATA / "two_friends.jsonl")
    ids = {message.id for session in conversation.sessions for message in session.messages}
    assert question["question"].endswith("?")
    assert question["answer"]
    assert question["turns"]
    assert set(question["turns"]) <= ids


def test_the_quickstart_runs(capsys, tmp_path):
    path = DATA.parent / "quickstart.py"
    quickstart = runpy.run_path(str(path))
    quickstart["main"](tmp_path / "memory.db")
    printed = capsys.readouterr().out
    for question in json.loads((DATA / "two_friends.questions.json").read_text(encoding="utf-8")):
        assert question["question"] in printed
    assert "Saudades de Maio" in printed
    assert " - speaks_of - " in printed
    assert "[1]" in printed
