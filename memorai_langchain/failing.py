"""Memory that fails leaves the conversation going."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from memorai_core import ConfigurationError

logger = logging.getLogger("memorai_langchain")


@contextmanager
def failing_open(doing: str, raise_errors: bool) -> Iterator[None]:
    """Logs an error of the block and goes on behind it; a ConfigurationError, which every call would meet, is raised."""
    try:
        yield
    except ConfigurationError:
        raise
    except Exception:
        if raise_errors:
            raise
        logger.exception("%s failed; the conversation goes on without", doing)
