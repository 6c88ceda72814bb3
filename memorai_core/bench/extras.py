"""Optional libraries, imported where they are used."""

from importlib import import_module
from types import ModuleType

from memorai_core.errors import ConfigurationError


def require(name: str, extra: str = "bench") -> ModuleType:
    """The module `name`; raises ConfigurationError that says which extra brings it."""
    try:
        return import_module(name)
    except ImportError:
        raise ConfigurationError(f"this needs {name}: pip install 'memorai-plugins[{extra}]'") from None
