"""memorai for LangChain: a memory, a retriever, a middleware and tools over one `memorai_core.Memory`.

Each name is loaded on first use, so that only the extra it needs must be installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from memorai_core.errors import ConfigurationError

if TYPE_CHECKING:
    from memorai_langchain.chain_memory import MemoraiMemory
    from memorai_langchain.chat_model import LangChainChatModel
    from memorai_langchain.convert import to_messages
    from memorai_langchain.middleware import MemoraiMiddleware
    from memorai_langchain.retriever import MemoraiRetriever
    from memorai_langchain.tools import MemoryTools, memory_tools

__all__ = [
    "LangChainChatModel",
    "MemoraiMemory",
    "MemoraiMiddleware",
    "MemoraiRetriever",
    "MemoryTools",
    "memory_tools",
    "to_messages",
]

_HOMES = {
    "LangChainChatModel": ("chat_model", "langchain"),
    "MemoraiMemory": ("chain_memory", "classic"),
    "MemoraiMiddleware": ("middleware", "agents"),
    "MemoraiRetriever": ("retriever", "langchain"),
    "MemoryTools": ("tools", "langchain"),
    "memory_tools": ("tools", "langchain"),
    "to_messages": ("convert", "langchain"),
}
"""The module of each name, and the extra that brings what the module imports."""
_FRAMEWORK = {"langchain_core", "langchain_classic", "langchain", "langgraph"}


def __getattr__(name: str) -> object:
    """Loads a public name; raises ConfigurationError where what it needs is not installed."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, extra = _HOMES[name]
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _FRAMEWORK:
            raise
        raise ConfigurationError(f"{name} needs {error.name}: pip install 'memorai-plugins[{extra}]'") from error


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
