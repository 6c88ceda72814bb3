"""Embedders, and the one form their vectors are used in. Importing this loads no model library."""

from typing import TYPE_CHECKING

from memorai_core.embedding.minilm import MiniLMEmbedder
from memorai_core.embedding.vectors import embed_query, embed_texts
from memorai_core.protocols import Embedder

if TYPE_CHECKING:
    from memorai_core.embedding.huggingface import TransformersEmbedder

__all__ = ["MiniLMEmbedder", "TransformersEmbedder", "default_embedder", "embed_query", "embed_texts"]


def default_embedder() -> Embedder:
    """A new embedder of the model that memorai installs; nothing is loaded before its first use."""
    return MiniLMEmbedder()


def __getattr__(name: str) -> object:
    """The embedder of an extra is imported when it is asked for."""
    if name == "TransformersEmbedder":
        from memorai_core.embedding.huggingface import TransformersEmbedder

        return TransformersEmbedder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
