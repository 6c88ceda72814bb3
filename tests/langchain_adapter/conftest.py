import asyncio
import shutil

import pytest

from memorai_core import Memory, Message
from memorai_core.testing import HashingEmbedder

SAID = [
    Message(role="user", text="I moved to Hanoi with my sister Linh last spring.", name="Alice", timestamp="2024-04-01T09:00:00Z", id="m1"),
    Message(role="assistant", text="How do you like it there?", id="m2"),
    Message(role="user", text="I love it, but I am allergic to peanuts, so street food is hard.", name="Alice", id="m3"),
    Message(role="user", text="I adopted a grey cat called Miso.", name="Alice", id="m4"),
]


@pytest.fixture(scope="session")
def alice_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("alice") / "memory.db"
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        memory.append(SAID, user_id="alice", session_id="monday")
        memory.index(user_id="alice")
    return path


@pytest.fixture
def alice(alice_file, tmp_path, open_memory):
    """A memory that knows something of Alice."""
    shutil.copy(alice_file, tmp_path / "memory.db")
    return open_memory()


@pytest.fixture
def bound(alice):
    """A chain memory of Alice's, for what is said on Tuesday."""
    from memorai_langchain import MemoraiMemory

    return MemoraiMemory(memory=alice, user_id="alice", session_id="tuesday")


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def agent(request, alice):
    """Makes agents on Alice's memory that are called in one of both ways."""
    from .agents import Agent

    return lambda *replies, **options: Agent(alice, replies, is_async=request.param, **options)


class Both:
    """A chain memory called either way."""

    def __init__(self, memory, is_async):
        self.memory, self.is_async = memory, is_async

    def load(self, inputs):
        return asyncio.run(self.memory.aload_memory_variables(inputs)) if self.is_async else self.memory.load_memory_variables(inputs)

    def save(self, inputs, outputs):
        return asyncio.run(self.memory.asave_context(inputs, outputs)) if self.is_async else self.memory.save_context(inputs, outputs)

    def clear(self):
        return asyncio.run(self.memory.aclear()) if self.is_async else self.memory.clear()


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def both_ways(request):
    return lambda memory: Both(memory, request.param)
