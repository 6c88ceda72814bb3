"""The write path joined together: stretch by stretch from the store, through embedder and analyzer, back into the store."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from memorai_core.flow import Flow, Usage, arun, run
from memorai_core.indexing import index_session, turn_text
from memorai_core.models import SessionMemory, SessionTail
from memorai_core.protocols import ChatModel, SessionAnalyzer
from memorai_core.reports import IndexReport
from memorai_core.storage.database import Database
from memorai_core.storage.derived import Stretch, derived_texts, save
from memorai_core.storage.loading import PROBE
from memorai_core.storage.planning import next_stretch, pending_sessions
from memorai_core.storage.users import user_row
from memorai_core.threads import all_or_error, in_thread
from memorai_core.vectors import Vectors

WORKERS = 2
"""Threads of `arun` that work at once: more would take turns at the interpreter, and keep the event loop waiting."""
SYNC_SECONDS = 0.2
"""A stretch saved within this time of the last one is made safe from loss of power with those that follow, at the latest when
`index` ends: the disk takes longer over that than all else does."""
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


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a stretch."""

    session: int
    rejected: Mapping[str, int]
    counts: Mapping[str, int] | None
    """What it made, by IndexReport's names; None where its turns have changed meanwhile: they are pending still and come up again."""


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

    def add(self, done: Done) -> None:
        """Counts a stretch; one that was not saved is still to be done."""
        if done.counts is None:
            return
        self.touched.add(done.session)
        self.rejected.update(done.rejected)
        self.counts.update(done.counts)
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
        try:
            for session in work.sessions:
                while done := run(self._stretch(user_id, session), chat_model, work.usage):
                    work.add(done)
        finally:
            self._database.sync()
        return work.report(self._vectors.seconds)

    async def arun(self, user_id: str, chat_model: ChatModel | None, progress: Progress | None, max_concurrency: int) -> IndexReport:
        """Indexes up to `max_concurrency` sessions side by side; the first error stops the others, and what they finished stays."""
        from asyncio import Semaphore

        work = await in_thread(self._work, user_id, progress)
        free, working = Semaphore(max_concurrency), Semaphore(WORKERS)

        async def one(session: int) -> None:
            async with free:
                while done := await arun(self._stretch(user_id, session), chat_model, work.usage, working):
                    work.add(done)

        try:
            await all_or_error([one(session) for session in work.sessions])
        finally:
            await in_thread(self._database.sync)
        return work.report(self._vectors.seconds)

    def _work(self, user_id: str, progress: Progress | None) -> Work:
        with self._database.read() as db:
            user = user_row(db, user_id)
            sessions = pending_sessions(db, user) if user is not None else []
            pending = db.execute("SELECT count(*) FROM turns WHERE user = ? AND segment IS NULL", (user,)).fetchone()[0]
        return Work(sessions, pending, progress, self._vectors.seconds)

    def _stretch(self, user_id: str, session: int) -> Flow[Done | None]:
        """The session's next stretch, from its pending turns to what is saved of it; None where all is done.

        It is one flow, so that a driver changes threads no more often than it asks the model.
        """
        job = self._job(user_id, session)
        if job is None:
            return None
        memory = yield from index_session(job.tail, job.turn_vectors, self._analyzer, sentence_layer=self._sentence_layer)
        return Done(session, memory.rejected, self._save(job, memory))

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

    def _save(self, job: Job, memory: SessionMemory) -> Mapping[str, int] | None:
        """Embeds what is new and stores a stretch in one transaction; gives what it made, or None where nothing was stored."""
        stretch = job.stretch
        fresh = job.fresh | self._vectors.missing(stretch.user, stretch.user_id, derived_texts(memory), job.fresh)
        probe = self._vectors.probe.astype(PROBE).tobytes() if fresh else None
        with self._database.write(sync_seconds=SYNC_SECONDS) as db:
            self._vectors.check_in(db, stretch.user_id)
            (replaced,) = db.execute("SELECT count(*) FROM triplets WHERE segment = ?", (stretch.open_segment,)).fetchone()
            entities = save(db, stretch, memory, job.turn_texts, fresh)
            if entities is None:
                return None
            if probe is not None:
                db.execute("UPDATE users SET probe = ? WHERE user = ? AND probe IS NULL", (probe, stretch.user))
        settled = {turn.turn_id for turn in job.tail.turns if turn.segment_id is None}
        kept = sum(len(segment.kept & settled) for segment in memory.segments)
        return {
            "turns": len(settled), "segments": len(memory.segments) - (stretch.open_segment is not None), "kept": kept,
            "dropped": len(settled) - kept, "triplets": sum(len(segment.triplets) for segment in memory.segments) - replaced,
            "entities": entities, "embedded": len(fresh),
        }  # fmt: skip
