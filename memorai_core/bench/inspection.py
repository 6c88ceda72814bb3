"""How often a chat model's structured replies fail, seen at the model rather than at what is made of them."""

import json
from collections import Counter
from collections.abc import Sequence

from memorai_core.flow import Prompt, Reply
from memorai_core.protocols import ChatModel
from memorai_core.replies import Rejected, read_reply
from memorai_core.replies.shapes import check


class InspectedChatModel:
    """A chat model that counts, of the replies that were asked for in a shape, those that do not have it."""

    def __init__(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model
        self.structured = 0
        """Replies that were asked for in a shape."""
        self.malformed = 0
        """Of these, replies that are not JSON of that shape as they stand."""
        self.refused: Counter[str] = Counter()
        """Of these, replies that even repair could not save, as in "gate:unreadable"."""

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """As the model itself."""
        return self._inspect(prompts, self._chat_model.generate(prompts))

    async def agenerate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """As the model itself."""
        return self._inspect(prompts, await self._chat_model.agenerate(prompts))

    def _inspect(self, prompts: Sequence[Prompt], replies: list[Reply]) -> list[Reply]:
        for prompt, reply in zip(prompts, replies, strict=True):
            if prompt.schema is None:
                continue
            self.structured += 1
            self.malformed += not _fits_as_it_stands(prompt, reply)
            read = read_reply(reply.text, prompt.schema, cites=prompt.cites)
            if isinstance(read, Rejected):
                self.refused[f"{prompt.name}:{read.kind}"] += 1
        return replies


def _fits_as_it_stands(prompt: Prompt, reply: Reply) -> bool:
    try:
        value = json.loads(reply.text)
    except (ValueError, RecursionError):
        return False
    return prompt.schema is not None and not isinstance(check(value, prompt.schema, cites=prompt.cites), Rejected)
