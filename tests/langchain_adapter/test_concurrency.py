"""One agent and one chain memory for two users, from threads and tasks at the same time."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")

from langchain_core.language_models import SimpleChatModel
from langchain_core.runnables import RunnableLambda
from pydantic import Field

from memorai_core import Memory
from memorai_langchain import MemoraiMemory, MemoraiMiddleware, MemoraiRetriever

from .agents import Agent, Context
from .fakes import texts

USERS = {"alice": "peanuts", "bob": "wasps"}
ROUNDS = 4


class Listening(SimpleChatModel):
    """Answers what it hears, and keeps what it was told by the user it is of."""

    told: list = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "listening"

    def _call(self, messages, stop=None, run_manager=None, **options):
        self.told.append((messages[-1].content, messages[0].content if messages[0].type == "system" else ""))
        return f"Heard: {messages[-1].content}"


def said(user, place, number):
    return f"{user} says {USERS[user]} in {place}, round {number}."


def exchange(user, place):
    return [text for number in range(ROUNDS) for text in (said(user, place, number), f"Heard: {said(user, place, number)}")]


def other(user):
    return next(allergen for name, allergen in USERS.items() if name != user)


@pytest.mark.parametrize("index", ["background", "inline"])
async def test_two_users_on_one_agent_in_8_threads_and_8_tasks(memory, index):
    middleware = MemoraiMiddleware(memory=memory, index=index, raise_errors=True)
    model = Listening()
    graph = Agent(memory, (), model=model, middleware=middleware, tools=[]).graph

    def call(user, place, number):
        config = {"configurable": {"thread_id": place}}
        return {"input": {"messages": [("user", said(user, place, number))]}, "config": config, "context": Context(user)}

    def thread(user, place):
        for number in range(ROUNDS):
            graph.invoke(**call(user, place, number))

    async def task(user, place):
        for number in range(ROUNDS):
            await graph.ainvoke(**call(user, place, number))

    loop = asyncio.get_running_loop()
    users = list(USERS) * 4
    with ThreadPoolExecutor(8) as pool:
        threads = [loop.run_in_executor(pool, thread, user, f"thread-{number}") for number, user in enumerate(users)]
        await asyncio.gather(*threads, *(task(user, f"task-{number}") for number, user in enumerate(users)))
    await memory.adrain()

    assert len(model.told) == 16 * ROUNDS
    for message, system in model.told:
        assert other(message.split()[0]) not in system
    assert sum(bool(system) for _, system in model.told) > 16
    for user in USERS:
        assert sum(stats.pending for stats in memory.stats(user)) == 0
        places = [f"{kind}-{number}" for kind in ("thread", "task") for number, name in enumerate(users) if name == user]
        assert Counter(texts(memory, user)) == Counter(text for place in places for text in exchange(user, place))
        for place in places:
            assert texts(memory, user, place) == exchange(user, place)


async def test_two_users_on_one_chain_memory_and_one_retriever(memory: Memory):
    pytest.importorskip("langchain_classic", reason="needs the extra [classic]")
    chain_memory = MemoraiMemory(memory=memory, raise_errors=True)
    retriever = MemoraiRetriever(memory=memory, k=5)

    def turn(text):
        recalled = chain_memory.load_memory_variables({"input": text})["history"]
        chain_memory.save_context({"input": text}, {"output": f"Heard: {text}"})
        return recalled + str(retriever.invoke(text))

    async def aturn(text):
        recalled = (await chain_memory.aload_memory_variables({"input": text}))["history"]
        await chain_memory.asave_context({"input": text}, {"output": f"Heard: {text}"})
        return recalled + str(await retriever.ainvoke(text))

    both = RunnableLambda(turn, aturn)
    places = [(user, f"place-{number}") for number, user in enumerate(list(USERS) * 8)]
    configs = [{"configurable": {"user_id": user, "session_id": place}, "max_concurrency": 8} for user, place in places]
    for number in range(ROUNDS):
        inputs = [said(user, place, number) for user, place in places]
        found = await asyncio.gather(both.abatch(inputs[:8], configs[:8]), asyncio.to_thread(both.batch, inputs[8:], configs[8:]))
        for (user, _), recalled in zip(places, [*found[0], *found[1]], strict=True):
            assert USERS[user] in recalled
            assert other(user) not in recalled
    for user, place in places:
        assert texts(memory, user, place) == exchange(user, place)
