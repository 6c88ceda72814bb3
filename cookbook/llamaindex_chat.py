"""A LlamaIndex agent that remembers: two conversations, days and a restart apart. The lines marked "memory" are all that it takes."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM

from memorai_core import Memory
from memorai_llamaindex import MemoraiMemory


def repeat_memory(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
    """Stands in for a language model, so that this runs without a key: says what it was reminded of."""
    given = "\n".join(message.content or "" for message in messages if message.role == "system")
    turns = [line for line in given.splitlines() if line.startswith("<turn ")]
    return ChatMessage("I remember: " + turns[0] if turns else "Good to know.", role="assistant")


async def chat(llm: FunctionCallingLLM, db: Path, session_id: str, said: Sequence[str]) -> None:
    agent = FunctionAgent(llm=llm, system_prompt="You are a friend.")
    with Memory.open(db) as store:  # memory
        memory = MemoraiMemory(memory=store, user_id="ines", session_id=session_id)  # memory
        for text in said:
            answer = await agent.run(text, memory=memory)  # memory
            print(f"Ines:  {text}\nAgent: {answer}\n")


def main(db: Path, llm: FunctionCallingLLM | None = None) -> None:
    llm = llm or MockFunctionCallingLLM(response_generator=repeat_memory)  # your own: OpenAI(model=...), Ollama(model=...), ...
    asyncio.run(chat(llm, db, "monday", ["I moved to Lisbon, and my sister Marta breeds alpacas in the Alentejo.", "It rains a lot."]))
    # The program ends here and starts again on Friday.
    asyncio.run(chat(llm, db, "friday", ["What animals does my sister have?"]))
    with Memory.open(db) as store:
        for turn in store.view(user_id="ines").turns():
            print(turn.session_id, turn.role, turn.turn_id[:8], turn.text)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "memory.db")
