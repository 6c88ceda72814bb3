"""What the adapter adds to the core's own time, over a retriever of the framework that does nothing."""

import asyncio
from statistics import median
from time import perf_counter

import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.indices.property_graph import BasePGRetriever
from llama_index.core.llms.mock import MockLLM

from llamaindex_adapter.fakes import empty
from memorai_core import Message
from memorai_llamaindex import MemoraiEmbedding, MemoraiPGRetriever, MemoraiPropertyGraphStore

ROUNDS = 200
ALLOWED_MS = 1.0


class Nothing(BasePGRetriever):
    def retrieve_from_graph(self, query_bundle):
        return []

    async def aretrieve_from_graph(self, query_bundle):
        return []


@pytest.fixture
def memory():
    things = ["boat", "harp", "kite", "drum", "lamp", "tent", "vase", "sled", "oven", "ring"]
    with empty() as memory:
        for session in range(10):
            told = [f"My {thing} stands in room {session} beside the {things[session]}, and I like it. It is old." for thing in things]
            messages = [Message(role="user", name=("Ann", "Ben")[number % 2], text=text) for number, text in enumerate(told)]
            memory.append(messages, user_id="u", session_id=str(session))
        memory.index(user_id="u")
        yield memory


@pytest.fixture
def core_seconds(memory, monkeypatch):
    """The time that each call has spent in the core."""
    spent, retrieve = [], memory.retrieve

    def timed(*args, **kwargs):
        start = perf_counter()
        try:
            return retrieve(*args, **kwargs)
        finally:
            spent.append(perf_counter() - start)

    monkeypatch.setattr(memory, "retrieve", timed)
    return spent


def seconds(call):
    start = perf_counter()
    call()
    return perf_counter() - start


@pytest.mark.slow
@pytest.mark.parametrize("way", ["sync", "async", "index"])
def test_a_retrieval_costs_the_cores_time_and_a_millisecond_at_most(memory, core_seconds, way):
    store = MemoraiPropertyGraphStore(memory=memory, user_id="u")
    index = PropertyGraphIndex.from_existing(store, llm=MockLLM(), embed_model=MemoraiEmbedding(memory.embedder), use_async=False)
    nothing, ours = Nothing(store, include_text=False), MemoraiPGRetriever(store, k=10)
    if way == "index":
        nothing, ours = (index.as_retriever(sub_retrievers=[one]) for one in (nothing, ours))
    question = "Where does the kite of Ann stand?"
    assert len(ours.retrieve(question)) == 10
    loop = asyncio.new_event_loop()

    def call(retriever):
        return loop.run_until_complete(retriever.aretrieve(question)) if way == "async" else retriever.retrieve(question)

    core_seconds.clear()
    try:
        # In turns, so that a busy moment hits both; each call of ours less what the core took of it.
        taken = [(seconds(lambda: call(ours)), seconds(lambda: call(nothing))) for _ in range(ROUNDS)]
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    core = median(core_seconds) * 1e3
    added = median(whole - own - idle for (whole, idle), own in zip(taken, core_seconds, strict=True)) * 1e3
    print(f"{way}: core {core:.2f} ms, no-op {median(idle for _, idle in taken) * 1e3:.2f} ms, added {added:.2f} ms")
    assert added <= ALLOWED_MS
