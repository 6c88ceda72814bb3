import asyncio
import logging

import pytest
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.memory import InsertMethod, Memory, StaticMemoryBlock
from llama_index.core.storage.chat_store.base_db import MessageStatus
from pydantic import ValidationError

from llamaindex_adapter.fakes import CONNECTION, dispose, empty, in_running_loop, two_users
from memorai_core import ConfigurationError, StoreError
from memorai_llamaindex import MemoraiMemory, MemoraiMemoryBlock

pytestmark = pytest.mark.filterwarnings(CONNECTION)
QUESTION = ChatMessage("What did Rex find at the museum?")


@pytest.fixture
def memory():
    with two_users() as memory:
        yield memory


@pytest.fixture
def chat(memory):
    chat = MemoraiMemory(memory=memory, user_id="alice", session_id="now", k=2, index="inline", raise_errors=True)
    yield chat
    dispose(chat)


def told(memory, session_id="now", user_id="alice"):
    return [(turn.role, turn.text) for turn in memory.view(user_id=user_id).turns(session_id=session_id)]


def test_every_message_is_stored_as_it_is_said_and_indexed(memory, chat):
    chat.put(ChatMessage("I bought a boat."))
    chat.put_messages([ChatMessage("Nice!", role="assistant"), ChatMessage("be kind", role="system")])
    assert told(memory) == [("user", "I bought a boat."), ("assistant", "Nice!")]
    assert [message.content for message in chat.get_all()] == ["I bought a boat.", "Nice!", "be kind"]
    assert memory.stats("alice")[0].pending == 0
    assert all(turn.timestamp and not turn.timestamp_inferred for turn in memory.view(user_id="alice").turns(session_id="now"))


async def test_async_and_sync_inside_a_running_loop_store_alike(memory, chat):
    await chat.aput(ChatMessage("one"))
    await in_running_loop(lambda: chat.put(ChatMessage("two")))
    await chat.aput_messages([ChatMessage("three")])
    assert [text for _, text in told(memory)] == ["one", "two", "three"]


def test_what_bears_on_the_question_comes_back_in_the_system_message(memory, chat):
    chat.put(QUESTION)
    system, asked = chat.get()
    assert system.role == "system"
    assert "Rex found an old violin at the museum." in system.content
    assert "<memorai>" in system.content
    assert "Mia" not in system.content
    assert asked.content == QUESTION.content


def test_what_the_conversation_shows_is_not_recalled_and_does_not_cost_a_place(memory, chat):
    chat.put(QUESTION)
    chat.put(ChatMessage("Rex found a bone at the museum.", role="assistant"))
    (system, *_), again = chat.get(), chat.get(input=QUESTION.content)
    assert QUESTION.content not in system.content
    assert "bone" not in system.content
    assert system.content.count("<turn ") == 2
    assert again[0].content == system.content, "the question once more asks the same"


def test_an_old_turn_of_the_session_is_recalled_once_it_has_left_the_conversation(memory, chat):
    chat.put(ChatMessage("Rex found a bone at the museum."))
    asyncio.run(Memory.aset(chat, [QUESTION]))
    assert "bone" in chat.get()[0].content


def test_a_new_user_has_nothing_to_recall_and_then_has(memory):
    chat = MemoraiMemory(memory=memory, user_id="carol", index="inline", raise_errors=True)
    assert chat.get() == []
    chat.put(QUESTION)
    assert [message.content for message in chat.get()] == [QUESTION.content]
    dispose(chat)


def test_a_history_set_again_and_again_is_stored_once(memory, chat):
    history = [ChatMessage(text, role=role) for role, text in (("user", "yes"), ("assistant", "sure?"), ("user", "yes"))]
    for _ in range(3):
        chat.set(history)
    assert [text for _, text in told(memory)] == ["yes", "sure?", "yes"]
    chat.put(ChatMessage("yes"))
    assert [text for _, text in told(memory)] == ["yes", "sure?", "yes", "yes"]
    chat.set([*chat.get_all(), ChatMessage("new")])
    assert [text for _, text in told(memory)] == ["yes", "sure?", "yes", "yes", "new"]
    assert len(chat.get_all()) == 5


async def test_a_history_set_by_several_at_once_is_stored_once(memory, chat):
    history = [ChatMessage(f"message {number}") for number in range(20)]
    others = [MemoraiMemory(memory=memory, user_id="alice", session_id="now", index="manual", raise_errors=True) for _ in range(3)]
    await asyncio.gather(*(one.aset(history) for one in [chat, *others]))
    assert sorted(text for _, text in told(memory)) == sorted(message.content for message in history)
    await asyncio.gather(*(one.sql_store._async_engine.dispose() for one in others))


def test_a_message_of_ones_own_id_is_an_edit(memory, chat):
    chat.put(ChatMessage("I bought a boat.", additional_kwargs={"id": "m1", "name": "Alice"}))
    chat.put(ChatMessage("I bought a ship.", additional_kwargs={"id": "m1"}))
    assert told(memory) == [("user", "I bought a ship.")]
    assert memory.view(user_id="alice").turns(session_id="now")[0].speaker == "Alice"


async def test_the_callers_messages_stay_as_they_are(memory, chat):
    messages = [ChatMessage("one"), ChatMessage([ToolCallBlock(tool_name="x", tool_kwargs={}), TextBlock(text="two")], role="assistant")]
    before = [message.model_dump() for message in messages]
    await chat.aput(messages[0])
    await chat.aput_messages(messages[1:])
    await chat.aset(messages)
    block = MemoraiMemoryBlock(memory=memory, user_id="alice")
    await block.aput(messages, session_id="other")
    await block.aget(messages, session_id="other")
    assert [message.model_dump() for message in messages] == before


def test_reset_forgets_the_session_alone(memory, chat):
    chat.put(ChatMessage("I bought a boat."))
    asyncio.run(chat.areset(status=MessageStatus.ARCHIVED))
    assert len(told(memory)) == 1
    chat.reset()
    chat.reset()
    assert told(memory) == chat.get_all() == []
    assert len(memory.view(user_id="alice").turns()) == 4


def test_memory_in_the_users_message_is_not_taken_for_what_the_user_said(memory):
    chat = MemoraiMemory.from_defaults(
        memory=memory, user_id="alice", session_id="now", index="inline", raise_errors=True, insert_method=InsertMethod.USER
    )
    chat.put(QUESTION)
    (asked,) = chat.get()
    assert "old violin" in asked.content
    chat.set([asked])
    assert told(memory) == [("user", QUESTION.content)]
    dispose(chat)


def test_other_blocks_stand_behind_it_and_the_defaults_are_the_frameworks(memory):
    static = StaticMemoryBlock(name="rules", static_content=[TextBlock(text="Be kind.")])
    mine = MemoraiMemoryBlock(memory=memory, user_id="alice")
    team = MemoraiMemoryBlock(memory=memory, user_id="bob", name="team", accept_short_term_memory=False)
    chat = MemoraiMemory.from_defaults(memory=memory, user_id="alice", memory_blocks=[mine, team, static], token_limit=700, k=3)
    stock = Memory.from_defaults(token_limit=700)
    assert [block.name for block in chat.memory_blocks] == ["memorai", "team", "rules"]
    assert chat.memory_blocks[0] is not mine
    assert (chat.token_limit, chat.token_flush_size, chat.k) == (700, stock.token_flush_size, 3)
    assert isinstance(chat, MemoraiMemory)
    chat.put(QUESTION)
    system = chat.get()[0].content
    assert all(text in system for text in ("Be kind.", "old violin", "<team>", "Mia"))
    for one in (chat, stock):
        dispose(one)


def test_what_overflows_the_queue_is_not_stored_twice(memory):
    chat = MemoraiMemory(memory=memory, user_id="alice", session_id="now", token_limit=60, index="manual", raise_errors=True)
    said = [ChatMessage(f"I have said {number} words or so about it.", role=("user", "assistant")[number % 2]) for number in range(12)]
    for message in said:
        chat.put(message)
    assert len(chat.get_all(status=MessageStatus.ARCHIVED)) > 4
    assert [text for _, text in told(memory)] == [message.content for message in said]
    dispose(chat)


def test_a_block_in_the_frameworks_memory_stores_what_overflows(memory):
    block = MemoraiMemoryBlock(memory=memory, user_id="alice", index="inline", raise_errors=True)
    chat = Memory.from_defaults(session_id="now", token_limit=60, memory_blocks=[block])
    for number in range(12):
        chat.put(ChatMessage(f"I have said {number} words or so about it.", role=("user", "assistant")[number % 2]))
    archived = chat.get_all(status=MessageStatus.ARCHIVED)
    assert [text for _, text in told(memory)] == [message.content for message in archived]
    assert archived
    assert "<turn " in chat.get()[0].content
    dispose(chat)


@pytest.mark.parametrize("raise_errors", [False, True])
async def test_an_error_costs_the_memory_and_not_the_conversation_unless_it_is_to_be_raised(caplog, raise_errors):
    with empty() as memory:
        chat = MemoraiMemory(memory=memory, user_id="alice", raise_errors=raise_errors)
    for call in (lambda: chat.aput(QUESTION), lambda: chat.aset([QUESTION])):
        if raise_errors:
            with pytest.raises(StoreError):
                await call()
            continue
        with caplog.at_level(logging.ERROR):
            await call()
            assert [message.content for message in await chat.aget()] == [QUESTION.content]
        assert "could not reach its memory" in caplog.text
    await chat.sql_store._async_engine.dispose()


def test_a_history_given_at_the_start_is_stored_too(memory):
    history = [ChatMessage("I bought a boat."), ChatMessage("Nice!", role="assistant")]
    for _ in range(2):
        chat = MemoraiMemory.from_defaults(memory=memory, user_id="alice", session_id="now", chat_history=history, raise_errors=True)
        assert [message.content for message in chat.get_all()] == ["I bought a boat.", "Nice!"]
        dispose(chat)
    assert told(memory) == [("user", "I bought a boat."), ("assistant", "Nice!")]


async def test_wrong_arguments_are_always_raised(memory):
    with pytest.raises(ValidationError, match="give it another name"):
        MemoraiMemory(memory=memory, user_id="alice", memory_blocks=[MemoraiMemoryBlock(memory=memory, user_id="bob")])
    for kind in (MemoraiMemory, MemoraiMemoryBlock):
        for wrong in ({"user": "alice"}, {"k": 0}, {"index": "later"}):
            with pytest.raises(ValidationError):
                kind(**{"memory": memory, "user_id": "alice"} | wrong)
        with pytest.raises(ValidationError):
            kind(memory=memory)
    block = MemoraiMemoryBlock(memory=memory, user_id=" ", session_id="s")
    with pytest.raises(ConfigurationError, match="user_id"):
        await block.aget([QUESTION])
    with pytest.raises(ConfigurationError, match="user_id"):
        await block.aput([QUESTION])
    with pytest.raises(ConfigurationError, match="session"):
        await MemoraiMemoryBlock(memory=memory, user_id="alice").aput([QUESTION])


async def test_a_block_asks_nothing_without_a_question_and_keeps_to_its_tokens(memory):
    block = MemoraiMemoryBlock(memory=memory, user_id="alice", session_id="s", k=4)
    assert await block.aget() == await block.aget([]) == await block.aget([ChatMessage("hello", role="assistant")]) == ""
    whole = await block.aget([QUESTION])
    assert whole.count("<turn ") == 4
    short = MemoraiMemoryBlock(memory=memory, user_id="alice", k=4, max_tokens=120)
    assert 0 < (await short.aget([QUESTION])).count("<turn ") < 4
    await block.aput([ChatMessage("overflown")], from_short_term_memory=True, session_id="t")
    block.accept_short_term_memory = False
    await block.aput([ChatMessage("overflown too")], from_short_term_memory=True, session_id="t")
    assert [text for _, text in told(memory, "t")] == ["overflown"]
