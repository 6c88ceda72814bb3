import asyncio
import threading
from types import SimpleNamespace

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms.mock import MockLLM
from pydantic import PrivateAttr

from llamaindex_adapter.fakes import CountingEmbedding
from memorai_core import Memory, Message
from memorai_core.embedding import embed_query
from memorai_core.flow import Prompt
from memorai_core.protocols import ChatModel, Embedder
from memorai_core.testing import HashingEmbedder
from memorai_llamaindex import LlamaIndexChatModel, LlamaIndexEmbedder, MemoraiEmbedding
from memorai_llamaindex.embedding import is_same_vector


class Echo(MockLLM):
    """Says the prompt back, in an envelope of the test's choice, and records which threads it was asked in."""

    _raw: object = PrivateAttr()
    _more: dict = PrivateAttr()
    _threads: set = PrivateAttr(default_factory=set)

    def __init__(self, raw=None, more=None):
        super().__init__()
        self._raw, self._more = raw, more or {}

    def chat(self, messages, **kwargs):
        self._threads.add(threading.get_ident())
        if messages[-1].content == "fail":
            raise ConnectionError("the provider is away")
        said = ChatMessage(f"<{messages[-1].content}>", role="assistant")
        return ChatResponse(message=said, raw=self._raw, additional_kwargs=self._more)

    async def achat(self, messages, **kwargs):
        await asyncio.sleep(0)
        return self.chat(messages, **kwargs)


def prompts(*said: str) -> list[Prompt]:
    return [Prompt(text, "test", "1") for text in said]


def test_the_chat_model_answers_each_prompt_in_order():
    model = LlamaIndexChatModel(Echo(), max_concurrency=3)
    assert isinstance(model, ChatModel)
    said = [str(number) for number in range(20)]
    assert [reply.text for reply in model.generate(prompts(*said))] == [f"<{text}>" for text in said]
    assert model.generate([]) == []


async def test_the_chat_model_answers_in_order_without_threads():
    model = LlamaIndexChatModel(Echo(), max_concurrency=3)
    said = [str(number) for number in range(8)]
    assert [reply.text for reply in await model.agenerate(prompts(*said))] == [f"<{text}>" for text in said]
    assert model._llm._threads == {threading.get_ident()}


def test_an_error_of_the_provider_passes_through_as_it_is():
    model = LlamaIndexChatModel(Echo())
    with pytest.raises(ConnectionError, match="the provider is away"):
        model.generate(prompts("one", "fail", "three"))
    with pytest.raises(ConnectionError, match="the provider is away"):
        asyncio.run(model.agenerate(prompts("one", "fail", "three")))


@pytest.mark.parametrize(
    ("raw", "more"),
    [
        (None, {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}),
        ({"usage": {"input_tokens": 7, "output_tokens": 3}}, {}),
        (SimpleNamespace(usage=SimpleNamespace(prompt_tokens=7, completion_tokens=3)), {}),
        ({"usage_metadata": {"prompt_token_count": 7, "candidates_token_count": 3}}, {}),
        ({"prompt_eval_count": 7, "eval_count": 3}, {}),
    ],
)
def test_token_counts_are_read_from_wherever_a_provider_puts_them(raw, more):
    (reply,) = LlamaIndexChatModel(Echo(raw=raw, more=more)).generate(prompts("x"))
    assert (reply.input_tokens, reply.output_tokens) == (7, 3)


@pytest.mark.parametrize("raw", [None, {}, {"usage": None}, {"usage": {"prompt_tokens": True}}, "text", {"prompt_eval_count": "many"}])
def test_counts_that_are_not_there_are_none(raw):
    (reply,) = LlamaIndexChatModel(Echo(raw=raw)).generate(prompts("x"))
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


def test_any_embedding_model_of_the_framework_serves_the_core():
    embedder = LlamaIndexEmbedder(CountingEmbedding())
    assert isinstance(embedder, Embedder)
    with Memory.open(":memory:", embedder=embedder) as memory:
        memory.append([Message(role="user", text="Rex is a dog.")], user_id="a", session_id="s")
        memory.index(user_id="a")
        assert memory.retrieve("dog", user_id="a").turns[0].text == "Rex is a dog."


async def test_the_embedder_gives_the_models_vectors_sync_and_async():
    known, embedder = HashingEmbedder(), LlamaIndexEmbedder(CountingEmbedding())
    said = ["one two", "three"]
    assert embedder.embed_documents(said) == known.embed_documents(said) == await embedder.aembed_documents(said)
    assert embedder.embed_query("one") == known.embed_query("one") == await embedder.aembed_query("one")


async def test_a_memorys_embedder_serves_the_framework():
    known, model = HashingEmbedder(), MemoraiEmbedding(HashingEmbedder(), embed_batch_size=2)
    said = ["one two", "three", "four"]
    assert model.get_text_embedding_batch(said) == known.embed_documents(said) == await model.aget_text_embedding_batch(said)
    assert model.get_query_embedding("one") == known.embed_query("one") == await model.aget_query_embedding("one")
    assert model.get_text_embedding("one") == known.embed_query("one") == await model.aget_text_embedding("one")
    assert model.model_name == "HashingEmbedder"


def test_a_vector_is_the_same_when_one_model_made_it():
    own = embed_query(HashingEmbedder(), "one two")
    assert is_same_vector(CountingEmbedding().get_query_embedding("one two"), own)
    assert is_same_vector([3 * number for number in own], own)
    assert not is_same_vector(CountingEmbedding().get_query_embedding("three"), own)
    assert not is_same_vector(CountingEmbedding(dimension=32).get_query_embedding("one two"), own)
    assert not is_same_vector(MockEmbedding(embed_dim=64).get_query_embedding("one two"), own)
    for other in ([], [0.0] * 64):
        assert not is_same_vector(other, own)
