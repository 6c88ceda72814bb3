"""memorai as a memory block: what is remembered, in the system message of every turn."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory.memory import BaseMemoryBlock
from pydantic import ConfigDict, Field

from memorai_core import ConfigurationError, Evidence, Memory, Message, UnknownUserError, render_prompt
from memorai_llamaindex.messages import last_user_text, to_messages, unheard
from memorai_llamaindex.scope import IndexMode, UserId, aindex_turns, user_of

logger = logging.getLogger(__name__)
T = TypeVar("T")
CONTEXT = 100
"""So many more turns are retrieved at most, to make up for those that the conversation at hand shows anyway."""


class MemoraiMemoryBlock(BaseMemoryBlock[str]):
    """Recalls what bears on the last thing the user said, and stores the messages it is given.

    In the framework's `Memory` a block is given messages only when they overflow its queue; `MemoraiMemory` gives it each one
    as it is said. An error of recall gives an empty memory and one of storing costs nothing but the memory; both are logged,
    or raised with `raise_errors`. Wrong arguments are always raised.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str = "memorai"
    description: str | None = "Turns of earlier conversations that bear on what was said last, and what is known from them."
    memory: Memory = Field(exclude=True, repr=False)
    user_id: UserId = Field(exclude=True)
    session_id: str | None = None
    """Where messages are stored whose session the framework does not name."""
    k: int = Field(default=10, ge=1)
    index: IndexMode = "background"
    max_tokens: int | None = Field(default=None, ge=1)
    """Of the recalled text; whole turns are left out, the least fitting first."""
    raise_errors: bool = False

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """The recalled text, or nothing; turns that `messages` show already are left out."""
        query = last_user_text(messages or [])
        if not query:
            return ""
        return await self._guarded(lambda: self._recall(query, messages or [], block_kwargs.get("session_id") or self.session_id), "")

    async def aput(self, messages: list[ChatMessage], from_short_term_memory: bool = False, session_id: str | None = None) -> None:
        """Stores messages, and leaves them as they are: the framework's own way writes the session into them."""
        if self.accept_short_term_memory or not from_short_term_memory:
            await self.remember(to_messages(messages), session_id or self.session_id)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        await self.remember(to_messages(messages), self.session_id)

    async def remember(self, messages: Sequence[Message], session_id: str | None) -> None:
        """Appends messages and has them turned into graph. Raises ConfigurationError without a session."""
        if session_id is None:
            raise ConfigurationError("MemoraiMemoryBlock does not know the session: pass session_id=, or use it in a Memory that has one")
        await self._guarded(lambda: self._store(messages, session_id), None)

    async def remember_unheard(self, messages: Sequence[Message], session_id: str) -> None:
        """Appends those of a conversation's messages that the session does not hold yet."""
        await self._guarded(lambda: self._store_unheard(messages, session_id), None)

    async def _store_unheard(self, messages: Sequence[Message], session_id: str) -> None:
        user_id = user_of(self.user_id)
        await self._store(await asyncio.to_thread(unheard, self.memory, user_id, session_id, messages), session_id)

    async def _store(self, messages: Sequence[Message], session_id: str) -> None:
        user_id = user_of(self.user_id)
        if messages:
            await self.memory.aappend(messages, user_id=user_id, session_id=session_id)
            await aindex_turns(self.memory, user_id, self.index)

    async def _recall(self, query: str, messages: Sequence[ChatMessage], session_id: str | None) -> str:
        shown = {(message.role, message.text) for message in to_messages(messages)}
        try:
            evidence = await self.memory.aretrieve(query, user_id=user_of(self.user_id), k=self.k + min(len(shown), CONTEXT))
        except UnknownUserError:
            return ""
        evidence = _without(evidence, shown, session_id, self.k)
        return render_prompt(evidence, None, max_tokens=self.max_tokens) if evidence.turns else ""

    async def _guarded(self, work: Callable[[], Awaitable[T]], otherwise: T) -> T:
        try:
            return await work()
        except ConfigurationError:
            raise
        except Exception:
            if self.raise_errors:
                raise
            logger.exception("memorai could not reach its memory; the conversation goes on without it")
            return otherwise


def _without(evidence: Evidence, shown: set[tuple[str, str]], session_id: str | None, k: int) -> Evidence:
    """The k best turns that do not stand in the conversation at hand, and what rests on them."""
    turns = tuple(turn for turn in evidence.turns if turn.session_id != session_id or (turn.role, turn.text) not in shown)[:k]
    held = {turn.segment_id for turn in turns}
    triplets = {triplet.triplet_id: triplet for turn in turns for triplet in turn.triplets}
    segments = tuple(segment for segment in evidence.segments if segment.segment_id in held)
    return replace(evidence, turns=turns, triplets=tuple(triplets.values()), segments=segments)
