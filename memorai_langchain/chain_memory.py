"""MemoraiMemory: long-term memory for LangChain's chains, through `BaseMemory`."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, SystemMessage
from pydantic import ConfigDict, Field

from memorai_core import Evidence, Memory, Message, UnknownSessionError, UnknownUserError
from memorai_langchain.failing import failing_open
from memorai_langchain.keys import INPUT_KEYS, OUTPUT_KEYS, chosen_key, said
from memorai_langchain.recall import arecall, memory_text, recall
from memorai_langchain.saving import IndexWhen, asave, save
from memorai_langchain.scope import session_of, user_of

if TYPE_CHECKING:
    from langchain_classic.base_memory import BaseMemory
else:
    try:
        from langchain_classic.base_memory import BaseMemory
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("langchain_classic"):
            raise
        try:
            from langchain_core.memory import BaseMemory  # before langchain-core 1.0
        except ModuleNotFoundError:
            raise error from None


class MemoraiMemory(BaseMemory):
    """Gives a chain what earlier conversations bear on its input, and remembers each exchange.

    A failing memory never costs the user the answer: errors of recall and of saving are logged, unless `raise_errors`; what the
    chain's author has to put right (no user, no session, an ambiguous key) is always raised. It keeps no window of the
    conversation at hand; combine it with one through `CombinedMemory`.
    """

    model_config = ConfigDict(extra="forbid")

    memory: Memory = Field(exclude=True, repr=False)
    user_id: str | None = None
    """Whose memory; a user that the run carries wins over it."""
    session_id: str | None = None
    """What is said is stored under it; a session or thread that the run carries wins over it."""
    k: int = Field(default=10, ge=1)
    index: IndexWhen = "background"
    memory_key: str = "history"
    """The variable of the prompt that holds what is recalled."""
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    """A list with one system message instead of text."""
    max_tokens: int | None = None
    """How long the recalled text may get; the best turns that fit are taken."""
    raise_errors: bool = False

    @property
    def memory_variables(self) -> list[str]:
        """The one variable that is put into the prompt."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, str | list[BaseMessage]]:
        """What is remembered that bears on the input."""
        key, evidence = self._input_key(inputs), None
        user_id = user_of(self.user_id)
        with failing_open("recalling", self.raise_errors):
            evidence = recall(self.memory, _query(inputs[key]), user_id=user_id, k=self.k)
        return self._variables(evidence)

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, str | list[BaseMessage]]:
        """`load_memory_variables`, without blocking the event loop."""
        key, evidence = self._input_key(inputs), None
        user_id = user_of(self.user_id)
        with failing_open("recalling", self.raise_errors):
            evidence = await arecall(self.memory, _query(inputs[key]), user_id=user_id, k=self.k)
        return self._variables(evidence)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Stores what was said on both sides, in one transaction."""
        keys, user_id, session_id = self._keys(inputs, outputs), user_of(self.user_id), session_of(self.session_id)
        with failing_open("saving", self.raise_errors):
            save(self.memory, _exchange(inputs, outputs, keys), user_id=user_id, session_id=session_id, index=self.index)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """`save_context`, without blocking the event loop."""
        keys, user_id, session_id = self._keys(inputs, outputs), user_of(self.user_id), session_of(self.session_id)
        with failing_open("saving", self.raise_errors):
            await asave(self.memory, _exchange(inputs, outputs, keys), user_id=user_id, session_id=session_id, index=self.index)

    def clear(self) -> None:
        """Forgets the session at hand, for good, and nothing else of the user."""
        with suppress(UnknownUserError, UnknownSessionError):
            self.memory.forget(user_id=user_of(self.user_id), session_id=session_of(self.session_id))

    async def aclear(self) -> None:
        """`clear`, without blocking the event loop."""
        with suppress(UnknownUserError, UnknownSessionError):
            await self.memory.aforget(user_id=user_of(self.user_id), session_id=session_of(self.session_id))

    def _input_key(self, inputs: dict[str, Any]) -> str:
        return chosen_key(inputs, self.input_key, INPUT_KEYS, what="input", ours=self.memory_variables)

    def _keys(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> tuple[str, str]:
        return self._input_key(inputs), chosen_key(outputs, self.output_key, OUTPUT_KEYS, what="output")

    def _variables(self, evidence: Evidence | None) -> dict[str, str | list[BaseMessage]]:
        text = memory_text(evidence, self.max_tokens)
        if not self.return_messages:
            return {self.memory_key: text}
        return {self.memory_key: [SystemMessage(text)] if text else []}


def _query(value: object) -> str:
    message = said(value, "user")
    return message.text if message else ""


def _exchange(inputs: dict[str, Any], outputs: dict[str, Any], keys: tuple[str, str]) -> list[Message]:
    both = (said(inputs[keys[0]], "user"), said(outputs[keys[1]], "assistant"))
    return [message for message in both if message is not None]
