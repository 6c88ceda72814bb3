import logging

import pytest

pytest.importorskip("langchain_core", reason="needs the extra [langchain]")

from langchain_core.messages import SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from pydantic import ValidationError

from memorai_core import ConfigurationError, UnknownUserError
from memorai_langchain import MemoraiMemory

from .fakes import chat, texts

ASKED = {"input": "What is my cat called?"}


def test_what_bears_on_the_input_is_recalled_as_text(bound, both_ways):
    assert bound.memory_variables == ["history"]
    loaded = both_ways(bound).load(ASKED)
    assert set(loaded) == {"history"}
    assert 'speaker="Alice">I adopted a grey cat called Miso.</turn>' in loaded["history"]
    assert "not instructions" in loaded["history"]
    assert "Question:" not in loaded["history"]


def test_or_as_messages(alice, both_ways):
    memory = MemoraiMemory(memory=alice, user_id="alice", session_id="s", return_messages=True, memory_key="known")
    (message,) = both_ways(memory).load(ASKED)["known"]
    assert isinstance(message, SystemMessage)
    assert "Miso" in message.content


def test_the_best_turns_within_the_token_limit_are_taken(alice):
    recalled = [
        MemoraiMemory(memory=alice, user_id="alice", k=4, max_tokens=size).load_memory_variables(ASKED)["history"] for size in [150, 900]
    ]
    assert [text.count("<turn ") for text in recalled] == [2, 4]
    assert "Miso" in recalled[0]


@pytest.mark.parametrize(("return_messages", "nothing"), [(False, ""), (True, [])])
def test_a_new_user_has_nothing_to_recall(memory, both_ways, return_messages, nothing):
    new = MemoraiMemory(memory=memory, user_id="new", session_id="s", return_messages=return_messages)
    assert both_ways(new).load(ASKED) == {"history": nothing}
    assert both_ways(new).load({"input": "  "}) == {"history": nothing}


def test_both_sides_of_an_exchange_are_stored_and_yes_twice_is_two_turns(bound, both_ways):
    for _ in range(2):
        both_ways(bound).save({"input": "yes"}, {"response": "Fine."})
    assert texts(bound.memory, "alice", "tuesday") == ["yes", "Fine.", "yes", "Fine."]
    bound.memory.drain()
    assert bound.memory.stats("alice")[0].pending == 0


@pytest.mark.parametrize(("index", "pending"), [("inline", 0), ("manual", 2)])
def test_who_indexes(alice, both_ways, index, pending):
    both_ways(MemoraiMemory(memory=alice, user_id="alice", session_id="s", index=index)).save(ASKED, {"output": "Miso."})
    alice.drain()
    assert alice.stats("alice")[0].pending == pending


def test_clear_forgets_the_bound_session_only(bound, both_ways):
    both_ways(bound).save(ASKED, {"output": "Miso."})
    both_ways(bound).clear()
    assert len(texts(bound.memory, "alice")) == 4
    both_ways(bound).clear()
    both_ways(MemoraiMemory(memory=bound.memory, user_id="new", session_id="s")).clear()


class TestFailing:
    @pytest.fixture
    def broken(self, bound):
        bound.memory.close()
        return bound

    def test_a_failing_memory_recalls_nothing_and_says_so_in_the_log(self, broken, both_ways, caplog):
        with caplog.at_level(logging.ERROR, "memorai_langchain"):
            assert both_ways(broken).load(ASKED) == {"history": ""}
        assert "recalling failed" in caplog.text
        assert "was closed" in caplog.text

    def test_a_failing_save_is_in_the_log_only(self, broken, both_ways, caplog):
        with caplog.at_level(logging.ERROR, "memorai_langchain"):
            both_ways(broken).save(ASKED, {"output": "Miso."})
        assert "saving failed" in caplog.text

    def test_an_output_that_is_no_text_costs_nothing(self, bound, both_ways, caplog):
        both_ways(bound).save(ASKED, {"output": 42})
        assert "neither text nor messages" in caplog.text

    def test_errors_are_raised_on_demand(self, alice, both_ways):
        strict = MemoraiMemory(memory=alice, user_id="alice", session_id="s", raise_errors=True)
        with pytest.raises(TypeError, match="int"):
            both_ways(strict).save(ASKED, {"output": 42})
        alice.close()
        with pytest.raises(Exception, match="closed"):
            both_ways(strict).load(ASKED)
        with pytest.raises(Exception, match="closed"):
            both_ways(strict).save(ASKED, {"output": "Miso."})

    def test_clearing_that_fails_is_never_silent(self, broken, both_ways):
        with pytest.raises(Exception, match="closed"):
            both_ways(broken).clear()


class TestScope:
    @pytest.mark.parametrize("options", [{"user": "alice"}, {"k": 0}, {"index": "later"}, {"memory": None}])
    def test_wrong_arguments_are_errors(self, memory, options):
        with pytest.raises(ValidationError):
            MemoraiMemory(**{"memory": memory, "user_id": "alice", **options})

    def test_no_user_or_session_is_an_error_that_says_what_to_do(self, memory, both_ways):
        with pytest.raises(ConfigurationError, match="no user: pass user_id="):
            both_ways(MemoraiMemory(memory=memory, session_id="s")).load(ASKED)
        with pytest.raises(ConfigurationError, match="no session: pass session_id="):
            both_ways(MemoraiMemory(memory=memory, user_id="alice")).save(ASKED, {"output": "Miso."})

    def test_the_run_s_user_and_session_win(self, bound):
        config = {"configurable": {"user_id": "bob", "session_id": "b"}}
        saving = RunnableLambda(lambda text: bound.save_context({"input": text}, {"output": "Hello"}))
        saving.invoke("Hi there", config)
        assert texts(bound.memory, "bob", "b") == ["Hi there", "Hello"]
        recalled = RunnableLambda(bound.load_memory_variables).invoke({"input": "Hi there"}, config)["history"]
        assert "Hi there</turn>" in recalled
        assert "Miso" not in recalled

    async def test_the_same_in_async(self, bound):
        async def saving(text):
            await bound.asave_context({"input": text}, {"output": "Hello"})

        await RunnableLambda(saving).ainvoke("Hi there", {"configurable": {"user_id": "bob", "thread_id": "t"}})
        assert texts(bound.memory, "bob", "t") == ["Hi there", "Hello"]
        with pytest.raises(UnknownUserError):
            texts(bound.memory, "nobody")

    def test_the_memory_is_neither_shown_nor_serialised(self, bound):
        assert "memory=<" not in repr(bound)
        assert "memory" not in bound.model_dump()


async def test_in_a_chain_of_runnables(bound):
    model = chat("Miso.", "Miso!")
    prompt = ChatPromptTemplate.from_messages([("system", "{history}"), ("human", "{input}")])
    recalled = RunnablePassthrough.assign(history=RunnableLambda(lambda inputs: bound.load_memory_variables(inputs)["history"]))
    chain = recalled | prompt | model | StrOutputParser()
    answer = chain.invoke(ASKED)
    bound.save_context(ASKED, {"output": answer})
    assert "a grey cat called Miso" in model.asked[0][0].content
    assert await chain.ainvoke(ASKED) == "Miso!"
    assert texts(bound.memory, "alice", "tuesday") == ["What is my cat called?", "Miso."]


def test_what_was_said_is_recalled_after_a_restart(open_memory):
    first = open_memory()
    MemoraiMemory(memory=first, user_id="alice", session_id="s").save_context({"input": "My dog is called Rex."}, {"output": "Noted."})
    first.close()
    again = MemoraiMemory(memory=open_memory(), user_id="alice", session_id="t")
    assert "Rex" in again.load_memory_variables({"input": "What is my dog called?"})["history"]
