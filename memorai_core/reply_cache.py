"""Replies kept on disk, so that indexing the same conversation again with the same model asks nothing twice."""

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from memorai_core.errors import ConfigurationError
from memorai_core.flow import Prompt, Reply
from memorai_core.identity import digest
from memorai_core.protocols import ChatModel
from memorai_core.replies import Rejected, read_reply
from memorai_core.threads import in_thread


class CachedChatModel:
    """A chat model that remembers its replies in a file of JSON lines; a reply that would be rejected is never kept.

    `identity` names the model and all that its replies depend on, such as "openai:gpt-4o-mini temperature=0". Replies tell
    what was said: give each user a file of their own, and `clear` it when anything of the user's is forgotten.

        memory = Memory.open("memory.db", chat_model=CachedChatModel(model, "replies.jsonl", identity="openai:gpt-4o-mini"))

    builds a memory anew without a call, where neither prompts nor turns have changed, and goes on where an `index` was stopped
    in the middle of a session.
    """

    def __init__(self, chat_model: ChatModel, path: str | Path, *, identity: str) -> None:
        self._chat_model = chat_model
        self._path = Path(path)
        self._identity = identity
        self._lock = Lock()
        self._texts = _read(self._path)

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """One reply a prompt, in order; the model is asked for those that are not kept."""
        replies = self._kept(prompts)
        missing = [place for place in range(len(prompts)) if place not in replies]
        fresh = self._chat_model.generate([prompts[place] for place in missing]) if missing else []
        self._keep([prompts[place] for place in missing], fresh)
        return _in_order(replies, missing, fresh)

    async def agenerate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """As `generate`; the file is written in a thread."""
        replies = self._kept(prompts)
        missing = [place for place in range(len(prompts)) if place not in replies]
        fresh = await self._chat_model.agenerate([prompts[place] for place in missing]) if missing else []
        await in_thread(self._keep, [prompts[place] for place in missing], fresh)
        return _in_order(replies, missing, fresh)

    def clear(self) -> None:
        """Forgets all replies, on disk too."""
        with self._lock:
            self._texts.clear()
            self._path.unlink(missing_ok=True)

    def _kept(self, prompts: Sequence[Prompt]) -> dict[int, Reply]:
        with self._lock:
            texts = {place: self._texts.get(self._key(prompt)) for place, prompt in enumerate(prompts)}
        return {place: Reply(text, 0, 0, from_cache=True) for place, text in texts.items() if text is not None}

    def _keep(self, prompts: Sequence[Prompt], replies: Sequence[Reply]) -> None:
        if len(replies) != len(prompts):
            raise ConfigurationError(
                f"the chat model gave {len(replies)} replies to {len(prompts)} prompts; it must give one each, in order"
            )
        usable = {self._key(prompt): reply.text for prompt, reply in zip(prompts, replies, strict=True) if _is_usable(prompt, reply)}
        if not usable:
            return
        # A line break before each entry keeps it whole where the one before was cut off by a crash.
        lines = "".join(f"\n{json.dumps({'key': key, 'text': text})}" for key, text in usable.items())
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(lines)
            self._texts.update(usable)

    def _key(self, prompt: Prompt) -> str:
        return digest(self._identity, prompt.name, prompt.version, prompt.text)


def _is_usable(prompt: Prompt, reply: Reply) -> bool:
    if prompt.schema is None:
        return bool(reply.text.strip())
    return not isinstance(read_reply(reply.text, prompt.schema, cites=prompt.cites), Rejected)


def _in_order(replies: dict[int, Reply], missing: Sequence[int], fresh: Sequence[Reply]) -> list[Reply]:
    whole = replies | dict(zip(missing, fresh, strict=True))
    return [whole[place] for place in sorted(whole)]


def _read(path: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                entry = json.loads(line)
                texts[str(entry["key"])] = str(entry["text"])
            except (ValueError, KeyError, TypeError):
                continue  # an entry that was cut off; its prompt is asked again
    return texts
