"""Any LangChain chat model as the core's `ChatModel`."""

from collections.abc import Sequence

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig

from memorai_core.flow import Prompt, Reply
from memorai_langchain.convert import text_of

NO_STREAM = "nostream"
"""LangGraph's tag for calls that are not part of what the user sees (langgraph.constants.TAG_NOSTREAM)."""


class LangChainChatModel:
    """Asks a LangChain chat model, or a runnable around one such as `model.with_retry()`, on behalf of the core.

    At most `max_concurrency` prompts of a batch are under way at once. Provider errors pass through as they are. The calls
    belong to no run of the application: they inherit none of its callbacks, so they neither show in a user's stream nor in
    its traces, and carry the tag "nostream" and `lc_source: memorai` for those who trace them.
    """

    def __init__(self, model: Runnable[LanguageModelInput, BaseMessage], *, max_concurrency: int = 8) -> None:
        self._model = model
        self._max_concurrency = max_concurrency

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """One reply a prompt, in order."""
        return [_reply(message) for message in self._model.batch(_inputs(prompts), self._config())]

    async def agenerate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """`generate`, through the model's own async calls."""
        return [_reply(message) for message in await self._model.abatch(_inputs(prompts), self._config())]

    def _config(self) -> RunnableConfig:
        return {
            "callbacks": [],
            "tags": [NO_STREAM],
            "metadata": {"lc_source": "memorai"},
            "run_name": "memorai",
            "max_concurrency": self._max_concurrency,
        }


def _inputs(prompts: Sequence[Prompt]) -> list[LanguageModelInput]:
    return [[HumanMessage(prompt.text)] for prompt in prompts]


def _reply(message: BaseMessage) -> Reply:
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    if usage is None:
        return Reply(text_of(message.content))
    # LangChain marks what its own cache gave by a cost of nothing.
    return Reply(text_of(message.content), usage.get("input_tokens"), usage.get("output_tokens"), from_cache=usage.get("total_cost") == 0)
