import asyncio
from threading import get_ident

import pytest

pytest.importorskip("langchain_core", reason="needs the extra [langchain]")

from langchain_core.caches import InMemoryCache
from langchain_core.language_models import FakeListChatModel, SimpleChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from pydantic import Field

from memorai_core.flow import Prompt
from memorai_core.protocols import ChatModel
from memorai_langchain import LangChainChatModel

PROMPTS = [Prompt(f"question {number}", "gate", "1") for number in range(6)]


class Echo(SimpleChatModel):
    """Says back what it is asked, counts how many ask at once, and fails at one question."""

    failing: str = ""
    most: int = 0
    threads: set = Field(default_factory=set)
    configs: list = Field(default_factory=list)
    _now: int = 0

    @property
    def _llm_type(self):
        return "echo"

    def _call(self, messages, stop=None, run_manager=None, **options):
        raise NotImplementedError

    def _said(self, messages):
        (message,) = messages
        if message.content == self.failing:
            raise ConnectionError("the line is dead")
        usage = {"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}
        answer = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": message.content}], usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _generate(self, messages, stop=None, run_manager=None, **options):
        self.threads.add(get_ident())
        self.configs.append((run_manager.tags, run_manager.metadata))
        return self._said(messages)

    async def _agenerate(self, messages, stop=None, run_manager=None, **options):
        self.threads.add(get_ident())
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        return self._said(messages)


def test_it_is_the_core_s_chat_model():
    assert isinstance(LangChainChatModel(Echo()), ChatModel)


def test_replies_come_in_order_as_text_with_their_tokens():
    replies = LangChainChatModel(Echo()).generate(PROMPTS)
    assert [reply.text for reply in replies] == [prompt.text for prompt in PROMPTS]
    assert {(reply.input_tokens, reply.output_tokens, reply.from_cache) for reply in replies} == {(2, 3, False)}
    assert LangChainChatModel(Echo()).generate([]) == []


async def test_async_is_the_model_s_own_and_bounded():
    model = Echo()
    replies = await LangChainChatModel(model, max_concurrency=2).agenerate(PROMPTS)
    assert [reply.text for reply in replies] == [prompt.text for prompt in PROMPTS]
    assert model.most == 2
    assert model.threads == {get_ident()}


def test_a_model_without_usage_has_no_counts():
    (reply,) = LangChainChatModel(FakeListChatModel(responses=["yes"])).generate(PROMPTS[:1])
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.from_cache) == ("yes", None, None, False)


def test_what_langchain_has_cached_costs_nothing():
    model = LangChainChatModel(Echo(cache=InMemoryCache()))
    assert [model.generate(PROMPTS[:1])[0].from_cache for _ in range(2)] == [False, True]


async def test_provider_errors_pass_through():
    model = LangChainChatModel(Echo(failing="question 3"))
    with pytest.raises(ConnectionError, match="the line is dead"):
        model.generate(PROMPTS)
    with pytest.raises(ConnectionError, match="the line is dead"):
        await model.agenerate(PROMPTS)


def test_runnables_around_a_model_are_taken_too():
    assert len(LangChainChatModel(Echo().with_retry()).generate(PROMPTS)) == 6


def test_calls_are_marked_as_internal():
    model = Echo()
    LangChainChatModel(model).generate(PROMPTS[:1])
    ((tags, metadata),) = model.configs
    assert "nostream" in tags
    assert metadata["lc_source"] == "memorai"


async def test_calls_inside_a_run_do_not_show_in_its_events():
    inner = LangChainChatModel(FakeListChatModel(responses=["internal"]))

    async def step(question):
        await inner.agenerate(PROMPTS[:2])
        await asyncio.to_thread(inner.generate, PROMPTS[:2])
        return question

    events = [event async for event in RunnableLambda(step).astream_events("hello", version="v2")]
    assert {event["event"] for event in events} == {"on_chain_start", "on_chain_stream", "on_chain_end"}
    assert "internal" not in str(events)
