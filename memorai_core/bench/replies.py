"""A chat model that is never asked the same twice, also across runs."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from memorai_core.bench.outcomes import outcome_key
from memorai_core.flow import Prompt, Reply
from memorai_core.protocols import ChatModel

SCHEMA = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"


class RememberedChatModel:
    """A chat model with its replies in a SQLite file under a folder, each with the tokens it cost when it was made.

    So a run's calls and tokens are the same however much of it was done before; replies that cannot be read are kept like
    all others, since they are counted. Models are told apart by `identity`.
    """

    def __init__(self, chat_model: ChatModel, folder: Path, identity: str) -> None:
        self._chat_model = chat_model
        self._identity = identity
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(folder / "replies.sqlite", timeout=60, check_same_thread=False)
        self._connection.execute(SCHEMA)

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """One reply a prompt, in order; the model is asked for those that it never gave."""
        kept = [self._read(prompt) for prompt in prompts]
        asked = [prompt for prompt, reply in zip(prompts, kept, strict=True) if reply is None]
        fresh = self._chat_model.generate(asked) if asked else []
        return self._joined(kept, asked, fresh)

    async def agenerate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """As `generate`."""
        kept = await asyncio.to_thread(lambda: [self._read(prompt) for prompt in prompts])
        asked = [prompt for prompt, reply in zip(prompts, kept, strict=True) if reply is None]
        fresh = await self._chat_model.agenerate(asked) if asked else []
        return await asyncio.to_thread(self._joined, kept, asked, fresh)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def _read(self, prompt: Prompt) -> Reply | None:
        with self._lock:
            row = self._connection.execute("SELECT reply FROM replies WHERE key = ?", [self._key(prompt)]).fetchone()
        return Reply(*json.loads(row[0])) if row else None

    def _joined(self, kept: Sequence[Reply | None], asked: Sequence[Prompt], fresh: Sequence[Reply]) -> list[Reply]:
        rows = [
            (self._key(prompt), json.dumps([reply.text, reply.input_tokens, reply.output_tokens]))
            for prompt, reply in zip(asked, fresh, strict=True)
        ]
        with self._lock, self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO replies VALUES (?, ?)", rows)
        rest = iter(fresh)
        return [reply or next(rest) for reply in kept]

    def _key(self, prompt: Prompt) -> str:
        return outcome_key(model=self._identity, prompt=prompt.text, name=prompt.name, version=prompt.version)
