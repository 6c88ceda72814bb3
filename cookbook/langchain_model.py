"""A stand-in for a chat model, so that the recipes run without a key: it repeats what it finds in its prompt.

With a real one, put `model = init_chat_model("openai:gpt-5-mini")` in its place.
"""

import re
from html import unescape

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage


class Repeating(SimpleChatModel):
    """Answers with the remembered turn that has most words in common with the question."""

    @property
    def _llm_type(self) -> str:
        return "repeating"

    def _call(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> str:
        prompt = "\n".join(str(message.content) for message in messages)
        asked = _words(prompt.removesuffix("AI:").strip().splitlines()[-1])
        turns = [unescape(turn) for turn in re.findall(r"<turn [^>]*>(.*?)</turn>", prompt, re.DOTALL)]
        best = max(turns, key=lambda turn: len(_words(turn) & asked), default=None)
        return f"You once said: {best}" if best else "I shall remember that."


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.casefold()))


model = Repeating()
