"""Agents on a memory, and everything that the tests ask of them."""

import asyncio
from dataclasses import dataclass

from langchain.agents import create_agent
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from memorai_langchain import MemoraiMiddleware

from .fakes import chat

THREAD = {"configurable": {"thread_id": "tuesday"}}


@tool
def weather(city: str) -> str:
    """Tells the weather."""
    return f"Sunny in {city}."


@dataclass
class Context:
    user_id: str


class Agent:
    """An agent with a memory that is called either way; `asked` is what its model was asked."""

    def __init__(self, memory, replies, *, middleware=None, before=(), after=(), is_async=False, model=None, saver=True, **options):
        middleware = middleware or MemoraiMiddleware(memory=memory, raise_errors=True)
        self.model = model or chat(*replies)
        self.is_async = is_async
        options = {"tools": [weather], "context_schema": Context, "checkpointer": InMemorySaver() if saver else None, **options}
        self.graph = create_agent(self.model, middleware=[*before, middleware, *after], **options)

    @property
    def asked(self):
        return self.model.asked

    def say(self, *messages, user="alice", config=None, **options):
        messages = [("user", message) if isinstance(message, str) else message for message in messages]
        return self.run({"messages": messages}, THREAD if config is None else config, context=Context(user) if user else None, **options)

    def run(self, *arguments, **options):
        if self.is_async:
            return asyncio.run(self.graph.ainvoke(*arguments, **options))
        return self.graph.invoke(*arguments, **options)

    def told(self, call=-1):
        """What the model was told in its system message."""
        first = self.asked[call][0]
        return first.content if isinstance(first, SystemMessage) else ""
