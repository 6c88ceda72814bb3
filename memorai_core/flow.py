"""Steps that need a language model, as generators without I/O.

A flow yields prompts, receives their replies, and returns its result. `run` is the place where a model is called.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from memorai_core.errors import ConfigurationError

if TYPE_CHECKING:
    from memorai_core.protocols import ChatModel


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text for a chat model, and which prompt it was made from."""

    text: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A chat model's text, with token counts where the provider gives them."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None


Flow: TypeAlias = Generator[list[Prompt], list[Reply], T]


def run(flow: Flow[T], chat_model: "ChatModel | None") -> T:
    """Drives a flow to its end; a flow that asks nothing needs no chat model."""
    try:
        prompts = next(flow)
        while True:
            if chat_model is None:
                raise ConfigurationError("this step needs a chat model: pass chat_model= to Memory.open")
            prompts = flow.send(chat_model.generate(prompts))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        flow.close()
