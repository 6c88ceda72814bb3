import pytest

pytest.importorskip("langchain_core", reason="needs the extra [langchain]")

from memorai_core import Message
from memorai_langchain.recall import arecall, recall

QUESTION = "What is the cat called?"


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_turns_in_sight_are_made_up_for(memory, asynchronous):
    near = [Message(role="user", text="My cat is called Miso.", id=str(number)) for number in range(30)]
    memory.append(near, user_id="alice", session_id="now")
    memory.append([Message(role="user", text="My cat likes fish.", id="old")], user_id="alice", session_id="before")
    asked, retrieve = [], memory.retrieve
    memory.retrieve = lambda query, **options: asked.append(options["k"]) or retrieve(query, **options)
    in_sight = {("now", message.id) for message in near}
    options = {"user_id": "alice", "k": 2, "in_sight": in_sight}
    found = await arecall(memory, QUESTION, **options) if asynchronous else recall(memory, QUESTION, **options)
    assert [turn.source_id for turn in found.turns] == ["old"]
    assert asked == [4, 32]
    assert {segment.segment_id for segment in found.segments} == {turn.segment_id for turn in found.turns if turn.segment_id}
