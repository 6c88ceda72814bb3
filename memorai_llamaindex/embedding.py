"""Embedding models both ways: LlamaIndex's for memorai, and memorai's for LlamaIndex."""

from collections.abc import Sequence

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import ConfigDict, PrivateAttr

from memorai_core.protocols import Embedder

SAME = 0.98
"""Cosine of a text's two vectors from which on they come from one model; machines differ in the last digits."""


class LlamaIndexEmbedder:
    """Any LlamaIndex embedding model as the core's `Embedder`: `Memory.open(path, embedder=LlamaIndexEmbedder(model))`."""

    def __init__(self, embed_model: BaseEmbedding) -> None:
        self.embed_model = embed_model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in the model's own batches."""
        return self.embed_model.get_text_embedding_batch(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question, with the model's instruction for questions where it has one."""
        return self.embed_model.get_query_embedding(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, through the model's own async calls."""
        return await self.embed_model.aget_text_embedding_batch(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, through the model's own async calls."""
        return await self.embed_model.aget_query_embedding(text)


class MemoraiEmbedding(BaseEmbedding):
    """A memory's own embedder as a LlamaIndex embedding model, so that an index and a memory share their vectors.

    `MemoraiEmbedding(memory.embedder)` is what to give an index as `embed_model` over a `MemoraiPropertyGraphStore`.
    """

    model_config = ConfigDict(extra="forbid")

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder, *, embed_batch_size: int = 256) -> None:
        super().__init__(model_name=type(embedder).__name__, embed_batch_size=embed_batch_size)
        self._embedder = embedder

    @classmethod
    def class_name(cls) -> str:
        """The name by which the framework knows the class."""
        return "MemoraiEmbedding"

    @property
    def embedder(self) -> Embedder:
        """The embedder it was made of."""
        return self._embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedder.embed_query(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await self._embedder.aembed_query(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._embedder.embed_documents([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._embedder.aembed_documents([text]))[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedder.embed_documents(texts)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await self._embedder.aembed_documents(texts)


def is_same_vector(given: Sequence[float], own: np.ndarray) -> bool:
    """Whether one model made both vectors of a text; `own` has length 1."""
    vector = np.asarray(given, np.float64)
    if vector.shape != own.shape:
        return False
    return float(np.dot(vector, own)) >= SAME * float(np.linalg.norm(vector)) > 0
