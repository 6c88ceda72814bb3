"""MemoraiMiddleware: long-term memory for agents made by LangChain's `create_agent`."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ContextT, PrivateStateAttr, ResponseT
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.runtime import Runtime

from memorai_core import Memory, Message
from memorai_langchain.capture import first_marks, marks_of, source_ids, turns_to_store
from memorai_langchain.convert import now
from memorai_langchain.failing import failing_open
from memorai_langchain.question import Question, Recollections, question_of
from memorai_langchain.recall import arecall, memory_text, recall
from memorai_langchain.saving import IndexWhen, asee_to_index, check_options, see_to_index
from memorai_langchain.scope import in_thread, session_of, user_of


class MemoraiState(AgentState[Any]):
    """An agent's state, and what of it is remembered already."""

    memorai_marks: NotRequired[Annotated[dict[str, str], PrivateStateAttr]]
    """A digest by message id; no text."""


class MemoraiMiddleware(AgentMiddleware[MemoraiState, ContextT, ResponseT]):
    """Tells the model what earlier conversations bear on the user's message, and remembers what is said on both sides.

    What is recalled goes into the system message of the call and nowhere else. The user's message is stored before the model
    runs, the final answer after it; an answer that was lost on the way (an abandoned stream) is stored by the next run of its
    thread. A failing memory never stops the agent: errors are logged, unless `raise_errors`; a missing user or session is
    always raised.
    """

    state_schema = MemoraiState

    def __init__(
        self,
        *,
        memory: Memory,
        user_id: str | None = None,
        session_id: str | None = None,
        k: int = 10,
        index: IndexWhen = "background",
        max_tokens: int | None = None,
        raise_errors: bool = False,
    ) -> None:
        super().__init__()
        check_options(k, index)
        self.memory = memory
        self.user_id = user_id
        self.session_id = session_id
        self.k = k
        self.index: IndexWhen = index
        self.max_tokens = max_tokens
        self.raise_errors = raise_errors
        self._recollections = Recollections()

    def before_agent(self, state: MemoraiState, runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """Stores the user's message, and what earlier runs of the thread could not store."""
        return self._remember(state, runtime)

    async def abefore_agent(self, state: MemoraiState, runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """`before_agent`, without blocking the event loop."""
        return await self._aremember(state, runtime)

    def after_agent(self, state: MemoraiState, runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """Stores the final answer."""
        return self._remember(state, runtime)

    async def aafter_agent(self, state: MemoraiState, runtime: Runtime[ContextT]) -> dict[str, Any] | None:
        """`after_agent`, without blocking the event loop."""
        return await self._aremember(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], ModelResponse[ResponseT]]
    ) -> ModelResponse[ResponseT] | AIMessage:
        """Adds what is remembered to the system message."""
        text, question = "", self._question(request)
        if question is not None:
            known = self._recollections.get(question)
            text = known or ""
            if known is None:
                with failing_open("recalling", self.raise_errors):
                    found = recall(self.memory, question.text, user_id=question.user_id, k=self.k, in_sight=question.in_sight)
                    text = self._recollections.put(question, memory_text(found, self.max_tokens))
        return handler(_telling(request, text))

    async def awrap_model_call(
        self, request: ModelRequest[ContextT], handler: Callable[[ModelRequest[ContextT]], Awaitable[ModelResponse[ResponseT]]]
    ) -> ModelResponse[ResponseT] | AIMessage:
        """`wrap_model_call`, without blocking the event loop."""
        text, question = "", self._question(request)
        if question is not None:
            known = self._recollections.get(question)
            text = known or ""
            if known is None:
                with failing_open("recalling", self.raise_errors):
                    found = await arecall(self.memory, question.text, user_id=question.user_id, k=self.k, in_sight=question.in_sight)
                    text = self._recollections.put(question, memory_text(found, self.max_tokens))
        return await handler(_telling(request, text))

    def _question(self, request: ModelRequest[ContextT]) -> Question | None:
        session_id = session_of(self.session_id, request.runtime)
        shown = source_ids(request.messages, session_id, stable=in_thread())
        in_sight = frozenset((session_id, source_id) for source_id in shown.values())
        return question_of(request.messages, user_of(self.user_id, request.runtime), in_sight)

    def _remember(self, state: MemoraiState, runtime: Runtime[ContextT]) -> dict[str, Any]:
        user_id, session_id = user_of(self.user_id, runtime), session_of(self.session_id, runtime)
        marks = _marks(state)
        with failing_open("saving", self.raise_errors):
            turns = self.memory.append(_new(state, marks, session_id), user_id=user_id, session_id=session_id)
            marks = marks_of(state["messages"])
            see_to_index(self.memory, turns, user_id, self.index)
        return {"memorai_marks": marks}

    async def _aremember(self, state: MemoraiState, runtime: Runtime[ContextT]) -> dict[str, Any]:
        user_id, session_id = user_of(self.user_id, runtime), session_of(self.session_id, runtime)
        marks = _marks(state)
        with failing_open("saving", self.raise_errors):
            turns = await self.memory.aappend(_new(state, marks, session_id), user_id=user_id, session_id=session_id)
            marks = marks_of(state["messages"])
            await asee_to_index(self.memory, turns, user_id, self.index)
        return {"memorai_marks": marks}


def _marks(state: MemoraiState) -> dict[str, str]:
    """What of the conversation counts as stored, also where it is seen for the first time."""
    marks = state.get("memorai_marks")
    return first_marks(state["messages"]) if marks is None else marks


def _new(state: MemoraiState, marks: dict[str, str], session_id: str) -> list[Message]:
    messages = state["messages"]
    return turns_to_store(messages, marks, source_ids(messages, session_id, stable=in_thread()), now())


def _telling(request: ModelRequest[ContextT], text: str) -> ModelRequest[ContextT]:
    """The request with a text at the end of its system message; blocks stay blocks, for the marks that a provider caches by."""
    if not text:
        return request
    told = request.system_message
    if told is None:
        return request.override(system_message=SystemMessage(text))
    content = f"{told.content}\n\n{text}" if isinstance(told.content, str) else [*told.content, {"type": "text", "text": text}]
    return request.override(system_message=told.model_copy(update={"content": content}))
