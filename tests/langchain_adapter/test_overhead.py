"""What the adapters add to the core's own time, over a retriever, memory or middleware that does nothing."""

import asyncio
from inspect import iscoroutinefunction
from itertools import count
from statistics import quantiles
from time import perf_counter

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")
pytest.importorskip("langchain_classic", reason="needs the extra [classic]")

from langchain.agents.middleware import AgentMiddleware
from langchain_classic.base_memory import BaseMemory
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever

from memorai_core import Message
from memorai_langchain import MemoraiMemory, MemoraiMiddleware, MemoraiRetriever

from .agents import Agent, Context

pytestmark = pytest.mark.slow
RETRIEVE, SAVE = 1.0, 2.0
"""Milliseconds allowed for each."""
ROUNDS = 60
QUESTION = "What is the cat of the baker called?"


class NoRetriever(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return []

    async def _aget_relevant_documents(self, query, *, run_manager):
        return []


class NoMemory(BaseMemory):
    @property
    def memory_variables(self):
        return ["history"]

    def load_memory_variables(self, inputs):
        return {"history": ""}

    def save_context(self, inputs, outputs):
        pass

    def clear(self):
        pass


class NoMiddleware(AgentMiddleware):
    def before_agent(self, state, runtime):
        return None

    def after_agent(self, state, runtime):
        return None

    def wrap_model_call(self, request, handler):
        return handler(request)


@pytest.fixture
def full(memory):
    """A memory of 2000 turns."""
    names = ["baker", "sailor", "nurse", "clown"]
    for session in range(20):
        turns = [Message(role="user", text=f"The cat of the {names[n % 4]} is called Miso {session}-{n}.", id=str(n)) for n in range(100)]
        memory.append(turns, user_id="alice", session_id=f"s{session}")
    memory.index(user_id="alice")
    return memory


class Stopwatch:
    """Takes the time that a memory's own calls take, inside whatever calls them."""

    def __init__(self, memory, monkeypatch, names):
        self.seconds = 0.0
        for name in names:
            call = getattr(memory, name)
            monkeypatch.setattr(memory, name, (self._timed if not iscoroutinefunction(call) else self._atimed)(call))

    def _timed(self, call):
        def timed(*given, **options):
            start = perf_counter()
            try:
                return call(*given, **options)
            finally:
                self.seconds += perf_counter() - start

        return timed

    def _atimed(self, call):
        async def timed(*given, **options):
            start = perf_counter()
            try:
                return await call(*given, **options)
            finally:
                self.seconds += perf_counter() - start

        return timed


@pytest.fixture
def added(full, monkeypatch):
    """Milliseconds that an action takes beyond the core's own time and beyond the action that does nothing.

    Lower quartiles, since other programs on the machine only ever add.
    """

    def measure(what, ours, nothing, *names):
        watch = Stopwatch(full, monkeypatch, names)
        beyond, core, framework = [], [], []
        for _ in range(ROUNDS):
            watch.seconds, start = 0.0, perf_counter()
            ours()
            between = perf_counter()
            nothing()
            framework.append((perf_counter() - between) * 1e3)
            core.append(watch.seconds * 1e3)
            beyond.append((between - start) * 1e3 - core[-1])
        usual_beyond, usual_core, usual_framework = (quantiles(taken)[0] for taken in (beyond, core, framework))
        usual = usual_beyond - usual_framework
        print(f"{what}: core {usual_core:.2f} ms, framework {usual_framework:.2f} ms, added {usual:+.2f} ms")
        return usual

    return measure


def test_retriever(full, added):
    ours, nothing = MemoraiRetriever(memory=full, user_id="alice"), NoRetriever()
    assert added("retriever", lambda: ours.invoke(QUESTION), lambda: nothing.invoke(QUESTION), "retrieve") <= RETRIEVE


def test_retriever_in_async(full, added):
    ours, nothing = MemoraiRetriever(memory=full, user_id="alice"), NoRetriever()
    with asyncio.Runner() as runner:
        run = runner.run
        taken = added("retriever, async", lambda: run(ours.ainvoke(QUESTION)), lambda: run(nothing.ainvoke(QUESTION)), "aretrieve")
    assert taken <= RETRIEVE


def test_chain_memory(full, added):
    ours, nothing = MemoraiMemory(memory=full, user_id="alice", session_id="new", index="manual"), NoMemory()
    inputs, outputs = {"input": QUESTION}, {"output": "Miso."}
    load = added(
        "chain memory, load", lambda: ours.load_memory_variables(inputs), lambda: nothing.load_memory_variables(inputs), "retrieve"
    )
    assert load <= RETRIEVE
    save = added("chain memory, save", lambda: ours.save_context(inputs, outputs), lambda: nothing.save_context(inputs, outputs), "append")
    assert save <= SAVE


def test_chain_memory_in_async(full, added):
    ours, nothing = MemoraiMemory(memory=full, user_id="alice", session_id="new", index="manual"), NoMemory()
    inputs, outputs = {"input": QUESTION}, {"output": "Miso."}
    with asyncio.Runner() as runner:
        run = runner.run
        load = added(
            "chain memory, aload",
            lambda: run(ours.aload_memory_variables(inputs)),
            lambda: run(nothing.aload_memory_variables(inputs)),
            "aretrieve",
        )
        save = added(
            "chain memory, asave",
            lambda: run(ours.asave_context(inputs, outputs)),
            lambda: run(nothing.asave_context(inputs, outputs)),
            "aappend",
        )
    assert load <= RETRIEVE
    assert save <= SAVE


def test_middleware(full, added):
    """A run of an agent retrieves once and saves twice."""
    ours, nothing = (
        Agent(full, (), model=FakeListChatModel(responses=["Miso."]), middleware=middleware, saver=False, tools=[]).graph
        for middleware in [MemoraiMiddleware(memory=full, session_id="new", index="manual", raise_errors=True), NoMiddleware()]
    )
    numbers = count()

    def run(graph):
        graph.invoke({"messages": [("user", f"{QUESTION} {next(numbers)}")]}, context=Context("alice"))

    assert added("middleware", lambda: run(ours), lambda: run(nothing), "retrieve", "append") <= RETRIEVE + 2 * SAVE
