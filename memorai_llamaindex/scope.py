"""Whose memory is meant, and who turns what is appended into graph."""

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from memorai_core import ConfigurationError, Memory

UserId: TypeAlias = str | Callable[[], str]
"""A user id, or a function that gives it at each call, such as a context variable's `get`, where one object serves many users."""
IndexMode: TypeAlias = Literal["background", "inline", "manual"]
"""Who indexes: a thread of the memory, the call that appends, or the application."""


def user_of(user_id: UserId) -> str:
    """The user id at this moment; what is no user id is refused by the memory."""
    return user_id() if callable(user_id) else user_id


def check_index_mode(index: IndexMode) -> IndexMode:
    """The mode itself; raises ConfigurationError for another word."""
    if index not in get_args(IndexMode):
        raise ConfigurationError(f"index must be one of {', '.join(get_args(IndexMode))}, not {index!r}")
    return index


def index_turns(memory: Memory, user_id: str, how: IndexMode) -> None:
    """Has a user's appended turns turned into graph, at once, soon, or not at all."""
    if how == "inline":
        memory.index(user_id=user_id)
    elif how == "background":
        memory.index_soon(user_id=user_id)


async def aindex_turns(memory: Memory, user_id: str, how: IndexMode) -> None:
    """`index_turns`, without blocking the event loop."""
    if how == "inline":
        await memory.aindex(user_id=user_id)
    elif how == "background":
        memory.index_soon(user_id=user_id)
