"""The seams: what memorai asks of a chat model, an embedder and an analyzer. There are no others."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from memorai_core.flow import Flow, Prompt, Reply
from memorai_core.models import SessionMemory, SessionTail


@runtime_checkable
class ChatModel(Protocol):
    """Sends texts to a language model and returns its texts; it owns no prompt, schema or parsing."""

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """One reply a prompt, in order. An error of transport is raised as it is."""
        ...

    async def agenerate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """`generate`, without blocking the event loop."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors, with the names of LangChain's `Embeddings`, so that those fit as they are.

    A vector may have any length; memorai normalises it. All vectors of one embedder have the same dimension.
    """

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in order."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        ...

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, without blocking the event loop."""
        ...

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, without blocking the event loop."""
        ...


@runtime_checkable
class WindowedEmbedder(Embedder, Protocol):
    """An embedder that can give a text longer than its window as several vectors."""

    def embed_windows(self, texts: list[str]) -> list[np.ndarray]:
        """One array of shape (windows, dimension), float32, for each text; at most 16 overlapping windows a text."""
        ...


class SessionAnalyzer(Protocol):
    """Cuts a stretch of a session into segments and derives their memory (§3.1-3.2)."""

    def analyze(self, session: SessionTail, turn_vectors: np.ndarray) -> Flow[SessionMemory]:
        """A flow that asks for model replies as it needs them; `turn_vectors` is (turns, dimension), rows of length 1."""
        ...
