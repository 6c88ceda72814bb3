"""The write path joined together: stretch by stretch from the store, through embedder and analyzer, back into the store."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np

from memorai_core.flow import Flow, Usage, arun, run
from memorai_core.identity import text_key
from memorai_core.indexing import index_session, turn_text
from memorai_core.models import IndexReport, SessionMemory, SessionTail
from memorai_core.protocols import ChatModel, SessionAnalyzer
from memorai_core.storage.database import Database
from memorai_core.storage.derived import Stretch, derived_texts, save
from memorai_core.storage.loading import PROBE
from memorai_core.storage.planning import next_stretch, pending_sessions
from memorai_core.storage.users import user_row
from memorai_core.threads import all_or_error, in_thread
from memorai_core.vectors import Vectors

if TYPE_CHECKING:
    from asyncio import Semaphore

P = ParamSpec("P")
T = TypeVar("T")

WORKERS = 2
"""Threads of `arun` that embed and save at once: more would take turns at the interpreter, and keep the event loop waiting."""
Progress = Callable[[int, int], None]
"""Called with the turns done and the turns in all."""


@dataclass(frozen=True, slots=True)
class Job:
    """A stretch that is ready to be analysed: its turns and their vectors."""

    stretch: Stretch
    tail: SessionTail
    turn_texts: tuple[str, ...]
    fresh: dict[bytes, np.ndarray]
    """Vectors of turn texts that are not stored yet."""
    turn_vectors: np.ndarray


@dataclass(slots=True)
class Work:
    """What one `index` call has to do, and what it has done."""

    sessions: Sequence[int]
    pending: int
    """Turns to index, over all sessions."""
    progress: Progress | None
    embedded_before: float
    """Seconds that the embedder had taken before."""
    started: float = field(default_factory=perf_counter)
    usage: Usage = field(default_factory=Usage)
    counts: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    touched: set[int] = field(default_factory=set)

    def add(self, job: Job, memory: SessionMemory, counts: Mapping[str, int]) -> None:
        """Counts a stretch that was saved."""
        self.touched.add(job.stretch.session)
        self.rejected.update(memory.rejected)
        self.counts.update(counts)
        if self.progress:
            self.progress(min(self.counts["turns"], self.pending), self.pending)

    def report(self, embedded: float) -> IndexReport:
        """The report of the call; `embedded` is the embedder's seconds by now."""
        return IndexReport(
            len(self.touched), **self.counts, rejected=dict(self.rejected), calls=self.usage.calls,
            input_tokens=self.usage.input_tokens, output_tokens=self.usage.output_tokens, seconds=perf_counter() - self.started,
            embedding_seconds=embedded - self.embedded_before,
        )  # fmt: skip


class Indexer:
    """Indexes the pending turns of a user, session by session, one transaction a stretch."""

    def __init__(self, database: Database, vectors: Vectors, analyzer: SessionAnalyzer, *, sentence_layer: bool) -> None:
        self._database = database
        self._vectors = vectors
        self._analyzer = analyzer
        self._sentence_layer = sentence_layer

    def run(self, user_id: str, chat_model: ChatModel | None, progress: Progress | None) -> IndexReport:
        """Indexes one session after another."""
        work = self._work(user_id, progress)
        for session in work.sessions:
            while job := self._job(user_id, session):
                memory = run(self._flow(job), chat_model, work.usage)
                if counts := self._save(job, memory):
                    work.add(job, memory, counts)
        return work.report(self._vectors.seconds)

    async def arun(self, user_id: str, chat_model: ChatModel | None, progress: Progress | None, max_concurrency: int) -> IndexReport:
        """Indexes up to `max_concurrency` sessions side by side; the first error stops the others, and what they finished stays."""
        from asyncio import Semaphore

        work = await in_thread(self._work, user_id, progress)
        free, working = Semaphore(max_concurrency), Semaphore(WORKERS)

        async def one(session: int) -> None:
            async with free:
                while job := await _alone(working, self._job, user_id, session):
                    memory = await arun(self._flow(job), chat_model, work.usage)
                    if counts := await _alone(working, self._save, job, memory):
                        work.add(job, memory, counts)

        await all_or_error([one(session) for session in work.sessions])
        return work.report(self._vectors.seconds)

    def _work(self, user_id: str, progress: Progress | None) -> Work:
        with self._database.read() as db:
            user = user_row(db, user_id)
            sessions = pending_sessions(db, user) if user is not None else []
            pending = db.execute("SELECT count(*) FROM turns WHERE user = ? AND segment IS NULL", (user,)).fetchone()[0]
        return Work(sessions, pending, progress, self._vectors.seconds)

    def _job(self, user_id: str, session: int) -> Job | None:
        """The session's next stretch, with its turns embedded; None where all is done."""
        with self._database.read() as db:
            user = user_row(db, user_id)
            planned = next_stretch(db, user, session) if user is not None else None
        if planned is None:
            return None
        stretch, turns, context = planned
        texts = tuple(turn_text(turn) for turn in turns)
        fresh = self._vectors.missing(stretch.user, user_id, texts)
        vectors = self._vectors.of_texts(stretch.user, user_id, texts, fresh)
        return Job(stretch, SessionTail(user_id, stretch.session_id, turns, context), texts, fresh, vectors)

    def _flow(self, job: Job) -> Flow[SessionMemory]:
        return index_session(job.tail, job.turn_vectors, self._analyzer, sentence_layer=self._sentence_layer)

    def _save(self, job: Job, memory: SessionMemory) -> Mapping[str, int] | None:
        """Embeds what is new and stores a stretch in one transaction; gives what it made, by IndexReport's names.

        Gives None and stores nothing where the turns have changed meanwhile: they are pending still and come up again.
        """
        stretch = job.stretch
        new = [text for text in derived_texts(memory) if text_key(text) not in job.fresh]
        fresh = job.fresh | self._vectors.missing(stretch.user, stretch.user_id, new)
        probe = self._vectors.probe.astype(PROBE).tobytes() if fresh else None
        with self._database.write() as db:
            self._vectors.check_in(db, stretch.user_id)
            entities = save(db, stretch, memory, job.turn_texts, fresh)
            if entities is None:
                return None
            if probe is not None:
                db.execute("UPDATE users SET probe = ? WHERE user = ? AND probe IS NULL", (probe, stretch.user))
        kept = sum(len(segment.kept) for segment in memory.segments)
        return {
            "turns": sum(turn.segment_id is None for turn in job.tail.turns), "segments": len(memory.segments), "kept": kept,
            "dropped": len(job.tail.turns) - kept, "triplets": sum(len(segment.triplets) for segment in memory.segments),
            "entities": entities, "embedded": len(fresh),
        }  # fmt: skip


async def _alone(working: "Semaphore", function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    async with working:
        return await in_thread(function, *args, **kwargs)
