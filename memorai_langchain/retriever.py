"""MemoraiRetriever: a user's memory as LangChain documents."""

from typing import Any, TypedDict

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field

from memorai_core import Memory
from memorai_langchain.recall import arecall, documents, recall
from memorai_langchain.scope import user_of


class MemoraiRetriever(BaseRetriever):
    """Finds the turns of a user's memory that bear most on a query, best first; none of a user who is not known yet.

    The user of the run (the agent's context, or `configurable`'s "user_id") wins over the constructor's. `k`, `user_id` and
    `session_id` may also be given to `invoke`. With a session, only that session's turns are found.
    """

    model_config = ConfigDict(extra="forbid")

    memory: Memory = Field(exclude=True, repr=False)
    user_id: str | None = None
    session_id: str | None = None
    k: int = Field(default=10, ge=1)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The documents; a user in `config` is heard even where no other runnable has set the run's context."""
        return super().invoke(input, config, **self._with_user(config, kwargs))

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """`invoke`, without blocking the event loop."""
        return await super().ainvoke(input, config, **self._with_user(config, kwargs))

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
    ) -> list[Document]:
        return documents(recall(self.memory, query, **self._scoped(k, user_id, session_id)))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        user_id: str | None = None,
        session_id: str | None = None,
    ) -> list[Document]:
        return documents(await arecall(self.memory, query, **self._scoped(k, user_id, session_id)))

    def _scoped(self, k: int | None, user_id: str | None, session_id: str | None) -> "_Scoped":
        return {
            "user_id": user_of(self.user_id) if user_id is None else user_id,
            "k": self.k if k is None else k,
            "session_id": self.session_id if session_id is None else session_id,
        }

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="memorai", ls_vector_store_provider="memorai")

    def _with_user(self, config: RunnableConfig | None, given: dict[str, Any]) -> dict[str, Any]:
        """`invoke` hands no config on to the retriever's own methods, so the user in it goes along by name."""
        return given if "user_id" in given else {**given, "user_id": user_of(self.user_id, config=config)}


class _Scoped(TypedDict):
    user_id: str
    k: int
    session_id: str | None
