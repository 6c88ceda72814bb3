"""Appending turns, and having them indexed in the background, at once, or by someone else."""

from collections.abc import Sequence
from typing import Literal, get_args

from memorai_core import ConfigurationError, Memory, Message, Turn

IndexWhen = Literal["background", "inline", "manual"]
"""Who turns appended turns into graph: a worker of the memory, the call that appends, or the application by `Memory.index`."""


def check_options(k: int, index: IndexWhen) -> None:
    """Raises ConfigurationError for an impossible k or index, before the first message meets it."""
    if not isinstance(k, int) or k < 1:
        raise ConfigurationError(f"k must be a whole number from 1 up, not {k!r}")
    if index not in get_args(IndexWhen):
        raise ConfigurationError(f"index must be one of {', '.join(get_args(IndexWhen))}, not {index!r}")


def save(memory: Memory, messages: Sequence[Message], *, user_id: str, session_id: str, index: IndexWhen) -> list[Turn]:
    """Appends messages, all or none, and sees to their indexing; gives their turns."""
    turns = memory.append(messages, user_id=user_id, session_id=session_id)
    see_to_index(memory, turns, user_id, index)
    return turns


async def asave(memory: Memory, messages: Sequence[Message], *, user_id: str, session_id: str, index: IndexWhen) -> list[Turn]:
    """`save`, without blocking the event loop."""
    turns = await memory.aappend(messages, user_id=user_id, session_id=session_id)
    await asee_to_index(memory, turns, user_id, index)
    return turns


def see_to_index(memory: Memory, turns: Sequence[Turn], user_id: str, index: IndexWhen) -> None:
    """Has turns indexed, if there are any, at the time and by whom `index` says."""
    if turns and index == "background":
        memory.index_soon(user_id=user_id)
    elif turns and index == "inline":
        memory.index(user_id=user_id)


async def asee_to_index(memory: Memory, turns: Sequence[Turn], user_id: str, index: IndexWhen) -> None:
    """`see_to_index`, without blocking the event loop."""
    if turns and index == "inline":
        await memory.aindex(user_id=user_id)
    else:
        see_to_index(memory, turns, user_id, index)
