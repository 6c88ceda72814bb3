"""Embedders, and the one form their vectors are used in. Importing this loads no model library."""

from memorai_core.embedding.huggingface import TransformersEmbedder
from memorai_core.embedding.minilm import MiniLMEmbedder
from memorai_core.embedding.vectors import embed_query, embed_texts
from memorai_core.protocols import Embedder

__all__ = ["MiniLMEmbedder", "TransformersEmbedder", "default_embedder", "embed_query", "embed_texts"]


def default_embedder() -> Embedder:
    """A new embedder of the model that memorai installs; nothing is loaded before its first use."""
    return MiniLMEmbedder()
