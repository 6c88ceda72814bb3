from collections.abc import Callable, Sequence

import numpy as np

from memorai_core.protocols import Embedder


class FakeEmbedder(Embedder):
    """Gives what `vector_of` says, and remembers what it was asked."""

    def __init__(self, vector_of: Callable[[str], Sequence[float]]) -> None:
        self.vector_of = vector_of
        self.asked: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(texts)
        return [list(self.vector_of(text)) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


class FakeWindowedEmbedder(FakeEmbedder):
    """Two windows a text: its vector, and its vector the other way round."""

    def embed_windows(self, texts: list[str]) -> list[np.ndarray]:
        return [np.array([vector, vector[::-1]], dtype=np.float32) for vector in self.embed_documents(texts)]
