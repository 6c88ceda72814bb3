"""memorai for LlamaIndex: retriever, graph store, extractor and memory over one `memorai_core.Memory`.

Each name is loaded on first use, so that importing this loads nothing of the framework.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from memorai_core.errors import ConfigurationError

if TYPE_CHECKING:
    from memorai_llamaindex.block import MemoraiMemoryBlock
    from memorai_llamaindex.chat_memory import MemoraiMemory
    from memorai_llamaindex.chat_model import LlamaIndexChatModel
    from memorai_llamaindex.embedding import LlamaIndexEmbedder, MemoraiEmbedding
    from memorai_llamaindex.export import delete_from_property_graph, export_to_property_graph
    from memorai_llamaindex.extractor import MemoraiExtractor
    from memorai_llamaindex.retriever import MemoraiPGRetriever
    from memorai_llamaindex.store import MemoraiPropertyGraphStore

__all__ = [
    "LlamaIndexChatModel",
    "LlamaIndexEmbedder",
    "MemoraiEmbedding",
    "MemoraiExtractor",
    "MemoraiMemory",
    "MemoraiMemoryBlock",
    "MemoraiPGRetriever",
    "MemoraiPropertyGraphStore",
    "delete_from_property_graph",
    "export_to_property_graph",
]

_HOMES = {
    "LlamaIndexChatModel": "chat_model",
    "LlamaIndexEmbedder": "embedding",
    "MemoraiEmbedding": "embedding",
    "MemoraiExtractor": "extractor",
    "MemoraiMemory": "chat_memory",
    "MemoraiMemoryBlock": "block",
    "MemoraiPGRetriever": "retriever",
    "MemoraiPropertyGraphStore": "store",
    "delete_from_property_graph": "export",
    "export_to_property_graph": "export",
}


def __getattr__(name: str) -> object:
    """Loads a public name; raises ConfigurationError where LlamaIndex is not installed."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "llama_index":
            raise
        raise ConfigurationError(f"{name} needs {error.name}: pip install 'memorai-plugins[llamaindex]'") from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
