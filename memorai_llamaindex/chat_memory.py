"""A LlamaIndex memory that writes every message through to memorai as it is said."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Self

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory.memory import DEFAULT_TOKEN_LIMIT, BaseMemoryBlock, Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from pydantic import ConfigDict, Field, PrivateAttr, model_validator

import memorai_core
from memorai_core import ConfigurationError, UnknownSessionError, UnknownUserError
from memorai_llamaindex.block import MemoraiMemoryBlock
from memorai_llamaindex.messages import to_messages
from memorai_llamaindex.scope import IndexMode, UserId, user_of


class MemoraiMemory(Memory):
    """The framework's `Memory` of one conversation, with a user's long-term memory behind it.

    Every message put is stored at once, with this moment where it has no timestamp; what bears on the last thing the user said
    comes back in the system message. Setting a history stores only what of it the session does not hold yet. `reset` forgets
    the session, here and in the long-term memory. It takes all that `Memory` takes; other blocks stand behind memorai's own.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    memory: memorai_core.Memory = Field(exclude=True, repr=False)
    user_id: UserId = Field(exclude=True)
    k: int = Field(default=10, ge=1)
    index: IndexMode = "background"
    max_tokens: int | None = Field(default=None, ge=1)
    """Of the recalled text."""
    raise_errors: bool = False
    """Whether errors of recalling and storing are raised; otherwise they are logged and the conversation goes on."""

    _block: MemoraiMemoryBlock = PrivateAttr()

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {"token_limit": DEFAULT_TOKEN_LIMIT, **values}

    def model_post_init(self, context: Any, /) -> None:
        """Puts memorai's block before the others. The queue's overflow is not its business: it has seen every message."""
        super().model_post_init(context)
        self._block = MemoraiMemoryBlock(
            memory=self.memory, user_id=self.user_id, session_id=self.session_id, k=self.k, index=self.index,
            max_tokens=self.max_tokens, raise_errors=self.raise_errors, accept_short_term_memory=False,
        )  # fmt: skip
        others = [block for block in self.memory_blocks if not self._is_own(block)]
        if any(block.name == self._block.name for block in others):
            raise ConfigurationError(f"another block is called {self._block.name!r}: give it another name")
        self.memory_blocks = [self._block, *others]

    @classmethod
    def class_name(cls) -> str:
        """The name by which the framework knows the class."""
        return "MemoraiMemory"

    @classmethod
    def from_defaults(  # type: ignore[override]
        cls,
        *,
        memory: memorai_core.Memory,
        user_id: UserId,
        k: int = 10,
        index: IndexMode = "background",
        max_tokens: int | None = None,
        raise_errors: bool = False,
        **settings: Any,
    ) -> Self:
        """A memory with the framework's defaults; `settings` are those of `Memory.from_defaults`."""
        chat_history = settings.pop("chat_history", None)
        stock = Memory.from_defaults(**settings)
        made = cls(
            memory=memory, user_id=user_id, k=k, index=index, max_tokens=max_tokens, raise_errors=raise_errors,
            **{name: getattr(stock, name) for name in Memory.model_fields},
        )  # fmt: skip
        if chat_history:
            made.set(chat_history)
        return made

    def _is_own(self, block: BaseMemoryBlock[Any]) -> bool:
        return isinstance(block, MemoraiMemoryBlock) and block.memory is self.memory and block.user_id == self.user_id

    async def aput(self, message: ChatMessage) -> None:
        """Adds a message to the conversation and to the long-term memory."""
        await super().aput(message)
        await self._block.remember(to_messages([message], now=datetime.now(UTC)), self.session_id)

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Adds messages to the conversation and to the long-term memory."""
        await super().aput_messages(messages)
        await self._block.remember(to_messages(messages, now=datetime.now(UTC)), self.session_id)

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Sets the conversation; what of it the session holds already is not stored again, and nothing is forgotten."""
        await super().aset(messages)
        await self._block.remember_unheard(to_messages(messages), self.session_id)

    async def areset(self, status: MessageStatus | None = None) -> None:
        """Empties the conversation; without a status the long-term memory forgets this session too."""
        await super().areset(status)
        if status is None:
            with suppress(UnknownUserError, UnknownSessionError):  # nothing was said in it
                await self.memory.aforget(user_id=user_of(self.user_id), session_id=self.session_id)
