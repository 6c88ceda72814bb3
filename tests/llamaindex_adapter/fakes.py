"""A small conversation of two users, and models that cost nothing."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.memory import Memory as ChatMemory
from pydantic import Field, PrivateAttr

from memorai_core import Memory, Message
from memorai_core.testing import HashingEmbedder

TOLD = {
    "s1": ["I moved to Hanoi with my dog Rex.", "I work as a guide at the museum in Hanoi."],
    "s2": ["Rex found an old violin at the museum.", "I practise in Hanoi every evening."],
}
OTHER = {
    "s1": ["I moved to Porto with my cat Mia.", "A bakery in Porto hired me."],
    "s2": ["Mia broke my accordion.", "I sell the accordion."],
}

CONNECTION = "ignore:Exception ignored in. <function Connection.__del__:pytest.PytestUnraisableExceptionWarning"
"""The framework's chat store leaves its connection to the garbage collector."""
DEPRECATED = "ignore::pydantic.warnings.PydanticDeprecationWarning"
"""The framework looks at every attribute of an agent when it makes one, pydantic's old ones too."""


@contextmanager
def empty() -> Iterator[Memory]:
    asyncio.set_event_loop(None)  # the framework's sync calls would make a loop and leave it open
    with Memory.open(":memory:", embedder=HashingEmbedder()) as memory:
        yield memory


@contextmanager
def two_users() -> Iterator[Memory]:
    with empty() as memory:
        for user, told in (("alice", TOLD), ("bob", OTHER)):
            for session, texts in told.items():
                messages = [
                    Message(role="user", name=user.title(), text=text, id=f"{session}/{n}", timestamp=f"2025-03-0{n + 1}T09:00:00Z")
                    for n, text in enumerate(texts)
                ]
                memory.append(messages, user_id=user, session_id=session)
            memory.index(user_id=user)
        yield memory


class CountingEmbedding(BaseEmbedding):
    """HashingEmbedder as a model of the framework, which counts what it is asked."""

    dimension: int = 64
    queries: list[str] = Field(default_factory=list)
    _embedder: HashingEmbedder = PrivateAttr()

    def model_post_init(self, context: object, /) -> None:
        super().model_post_init(context)
        self._embedder = HashingEmbedder(self.dimension)

    def _get_query_embedding(self, query: str) -> list[float]:
        self.queries.append(query)
        return self._embedder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedder.embed_query(text)


async def in_running_loop(call):
    """What a sync call gives from inside a running event loop, as in a notebook."""
    assert asyncio.get_running_loop().is_running()
    return call()


def texts(nodes) -> list[str]:
    return [node.node.metadata["text"] for node in nodes]


def dispose(memory: ChatMemory) -> None:
    """Closes the connection of the framework's own chat store."""
    if memory.sql_store._async_engine is not None:
        asyncio.run(memory.sql_store._async_engine.dispose())
