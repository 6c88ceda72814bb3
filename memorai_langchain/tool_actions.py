"""What the memory tools do when an agent calls them."""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.tools import InjectedToolArg, ToolException

from memorai_core import ConfigurationError, Evidence, Memory, Message, Turn, UnknownIdError
from memorai_langchain.capture import source_ids
from memorai_langchain.convert import now
from memorai_langchain.failing import logger
from memorai_langchain.recall import arecall, documents, memory_text, recall
from memorai_langchain.saving import IndexWhen, asave, save
from memorai_langchain.scope import in_thread, session_if_any, session_of, user_of

SHOWN = 12
"""How many signs of a turn's id the model is shown, and must give to have the turn forgotten."""

Result = tuple[str, dict[str, object]]
"""What the model reads, and the artifact for the application."""
Runtime = Annotated[Any, InjectedToolArg]
"""LangGraph's ToolRuntime inside an agent, None elsewhere; it is not in the schema that the model sees."""


@dataclass(frozen=True, slots=True)
class Actions:
    """Each tool's work, sync and async, for the user and session of the run."""

    memory: Memory
    user_id: str | None
    session_id: str | None
    k: int
    index: IndexWhen
    max_tokens: int | None
    raise_errors: bool

    def search(self, query: str, runtime: Runtime = None) -> Result:
        """The turns that bear most on a query, and their ids."""
        with self._telling("searching"):
            in_sight = self._in_sight(runtime)
            return self._found(recall(self.memory, query, user_id=user_of(self.user_id), k=self.k, in_sight=in_sight))

    async def asearch(self, query: str, runtime: Runtime = None) -> Result:
        """`search`, without blocking the event loop."""
        with self._telling("searching"):
            in_sight = self._in_sight(runtime)
            return self._found(await arecall(self.memory, query, user_id=user_of(self.user_id), k=self.k, in_sight=in_sight))

    def save(self, text: str) -> Result:
        """Stores a note."""
        with self._telling("saving"):
            user_id, session_id = user_of(self.user_id), self._notes()
            return _saved(save(self.memory, [_note(text)], user_id=user_id, session_id=session_id, index=self.index))

    async def asave(self, text: str) -> Result:
        """`save`, without blocking the event loop."""
        with self._telling("saving"):
            user_id, session_id = user_of(self.user_id), self._notes()
            return _saved(await asave(self.memory, [_note(text)], user_id=user_id, session_id=session_id, index=self.index))

    def forget(self, turn_ids: list[str]) -> Result:
        """Forgets turns for good."""
        with self._telling("forgetting"):
            return self._forget(turn_ids, user_of(self.user_id))

    async def aforget(self, turn_ids: list[str]) -> Result:
        """`forget`, without blocking the event loop."""
        with self._telling("forgetting"):
            return await asyncio.to_thread(self._forget, turn_ids, user_of(self.user_id))

    def _forget(self, turn_ids: list[str], user_id: str) -> Result:
        """Forgets each turn by itself: the model may have made one of the ids up."""
        forgotten: list[str] = []
        unknown: list[str] = []
        for given in turn_ids:
            turn_id = self._whole_id(given.strip(" []"), user_id)
            if turn_id is None:
                unknown.append(given)
            else:
                self.memory.forget(user_id=user_id, turn_id=turn_id)
                forgotten.append(turn_id)
        told = [f"Forgot {len(forgotten)} of {len(turn_ids)} turns."]
        if unknown:
            told.append(f"There is no turn {', '.join(unknown)}; search_memory gives the ids.")
        return " ".join(told), {"forgotten": forgotten, "unknown": unknown}

    def _whole_id(self, start: str, user_id: str) -> str | None:
        if len(start) < SHOWN:
            return None
        try:
            found = self.memory.show(start, user_id=user_id).subject
        except UnknownIdError:
            return None
        return found.turn_id if isinstance(found, Turn) else None

    def _notes(self) -> str:
        """The session of the notes that are taken in a session: apart, since the memory gate expects a chat to be a chat."""
        return f"{session_of(self.session_id)}#notes"

    def _in_sight(self, runtime: object) -> frozenset[tuple[str, str]]:
        """The turns of the conversation that the model sees anyway."""
        state, session_id = getattr(runtime, "state", None), session_if_any(self.session_id)
        if session_id is None or not isinstance(state, Mapping):
            return frozenset()
        shown = source_ids(state.get("messages") or (), session_id, stable=in_thread())
        return frozenset((session_id, source_id) for source_id in shown.values())

    def _found(self, evidence: Evidence | None) -> Result:
        turns = [{"text": found.page_content, **found.metadata} for found in documents(evidence)]
        if not turns:
            return "Nothing of that is remembered.", {"turns": []}
        ids = ", ".join(f"[{number}] {str(turn['turn_id'])[:SHOWN]}" for number, turn in enumerate(turns, start=1))
        return f"{memory_text(evidence, self.max_tokens)}\n\nTurn ids: {ids}", {"turns": turns}

    @contextmanager
    def _telling(self, doing: str) -> Iterator[None]:
        """Logs an error and tells the model of it."""
        try:
            yield
        except ConfigurationError:
            raise
        except Exception as error:
            if self.raise_errors:
                raise
            logger.exception("%s by the agent's tool failed", doing)
            raise ToolException(f"The memory cannot be used now: {doing} failed. Go on without it.") from error


def _note(text: str) -> Message:
    """What the agent notes; the same note twice in a session is one."""
    return Message(role="note", text=text, timestamp=now(), id=f"note-{hashlib.sha256(text.encode()).hexdigest()[:32]}")


def _saved(turns: list[Turn]) -> Result:
    return "Remembered.", {"turn_ids": [turn.turn_id for turn in turns]}
