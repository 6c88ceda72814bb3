"""Stand-ins for models, for the tests of memorai and of what is built on it."""

import asyncio
import hashlib
import math
import re
from functools import lru_cache

import numpy as np

from memorai_core.errors import ConfigurationError

_WORD = re.compile(r"\w+|[^\w\s\x00-\x7f]")
"""Words, and signs beyond ASCII one by one, so that an emoji counts as a word and a full stop does not."""


class HashingEmbedder:
    """Embeds without a model: texts with words, or parts of words, in common have similar vectors, in any script.

    The same text has the same vector in every process. Vectors have length 1, or 0 for a text without a word.
    """

    def __init__(self, dimension: int = 64) -> None:
        if dimension < 1:
            raise ConfigurationError(f"dimension must be at least 1, not {dimension}")
        self.dimension = dimension
        self._of_word = lru_cache(maxsize=50_000)(self._hashed)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector of `dimension` numbers a text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The vector that `embed_documents` gives."""
        vector = np.zeros(self.dimension)
        for word in _WORD.findall(text.casefold()):
            vector += self._of_word(word)
        # The sum of squares is whole numbers, so the same on every machine.
        length = math.sqrt(float(vector @ vector)) or 1.0
        return [float(component) / length for component in vector]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`, in a thread."""
        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`, in a thread."""
        return await asyncio.to_thread(self.embed_query, text)

    def _hashed(self, word: str) -> np.ndarray:
        """The word and its stretches of three letters, of two in other scripts, each as plus or minus 1 in one place."""
        size = 3 if word.isascii() else 2
        bounded = f"<{word}>"
        vector = np.zeros(self.dimension)
        for part in [word, *(bounded[i : i + size] for i in range(len(bounded) - size + 1))]:
            number = int.from_bytes(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest()[:8])
            vector[number // 2 % self.dimension] += 1 if number % 2 else -1
        return vector
