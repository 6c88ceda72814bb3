"""Any LlamaIndex language model as the core's `ChatModel`."""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms.llm import LLM

from memorai_core.flow import Prompt, Reply
from memorai_core.threads import all_or_error

_INPUT = ("prompt_tokens", "input_tokens", "prompt_token_count", "prompt_eval_count")
_OUTPUT = ("completion_tokens", "output_tokens", "candidates_token_count", "eval_count")
"""What providers call the two counts."""


class LlamaIndexChatModel:
    """Asks a LlamaIndex language model on behalf of the core: `Memory.open(path, chat_model=LlamaIndexChatModel(llm))`.

    At most `max_concurrency` prompts of a batch are under way at once. Errors of the provider pass through as they are.
    """

    def __init__(self, llm: LLM, *, max_concurrency: int = 8) -> None:
        self._llm = llm
        self._max_concurrency = max_concurrency

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """One reply a prompt, in order."""
        if len(prompts) < 2:
            return [self._ask(prompt) for prompt in prompts]
        with ThreadPoolExecutor(min(len(prompts), self._max_concurrency), thread_name_prefix="memorai-llm") as threads:
            # Each call in a copy of this context, so that the framework's traces hang together.
            waiting = [threads.submit(copy_context().run, self._ask, prompt) for prompt in prompts]
            return [reply.result() for reply in waiting]

    async def agenerate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """`generate`, through the model's own async calls."""
        free = asyncio.Semaphore(self._max_concurrency)
        replies: dict[int, Reply] = {}

        async def ask(place: int, prompt: Prompt) -> None:
            async with free:
                replies[place] = _reply(await self._llm.achat(_messages(prompt)))

        await all_or_error([ask(place, prompt) for place, prompt in enumerate(prompts)])
        return [replies[place] for place in range(len(prompts))]

    def _ask(self, prompt: Prompt) -> Reply:
        return _reply(self._llm.chat(_messages(prompt)))


def _messages(prompt: Prompt) -> list[ChatMessage]:
    return [ChatMessage(prompt.text, role=MessageRole.USER)]


def _reply(response: ChatResponse) -> Reply:
    said = (response.additional_kwargs, response.message.additional_kwargs, _part(response.raw, "usage"))
    counts = [*said, _part(response.raw, "usage_metadata"), response.raw]
    return Reply(response.message.content or "", _count(counts, _INPUT), _count(counts, _OUTPUT))


def _count(sources: Sequence[object], names: Sequence[str]) -> int | None:
    """The first whole number that one of the names has in one of the sources."""
    found = (_part(source, name) for source in sources for name in names)
    return next((count for count in found if isinstance(count, int) and not isinstance(count, bool)), None)


def _part(whole: object, name: str) -> object:
    return whole.get(name) if isinstance(whole, Mapping) else getattr(whole, name, None)
