"""The write path joined together: stretch by stretch from the store, through embedder and analyzer, back into the store."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from memorai_core.flow import Flow
from memorai_core.identity import text_key
from memorai_core.indexing import index_session, turn_text
from memorai_core.models import IndexReport, SessionMemory, SessionTail
from memorai_core.protocols import SessionAnalyzer
from memorai_core.storage.database import Database
from memorai_core.storage.derived import Stretch, derived_texts, save
from memorai_core.storage.loading import PROBE
from memorai_core.storage.planning import next_stretch, pending_sessions
from memorai_core.storage.users import user_row
from memorai_core.vectors import Vectors

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
class Tally:
    """Counts what an `index` call does."""

    counts: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    sessions: set[int] = field(default_factory=set)

    def report(
        self, seconds: float, embedding_seconds: float, calls: int = 0, input_tokens: int = 0, output_tokens: int = 0
    ) -> IndexReport:
        """The report of the call."""
        return IndexReport(
            len(self.sessions), **self.counts, rejected=dict(self.rejected), calls=calls, input_tokens=input_tokens,
            output_tokens=output_tokens, seconds=seconds, embedding_seconds=embedding_seconds,
        )  # fmt: skip


class Indexer:
    """Indexes the pending turns of a user; what a session's analysis asks of a chat model is left to the caller to drive."""

    def __init__(self, database: Database, vectors: Vectors, analyzer: SessionAnalyzer, *, sentence_layer: bool) -> None:
        self._database = database
        self._vectors = vectors
        self._analyzer = analyzer
        self._sentence_layer = sentence_layer

    def pending(self, user_id: str) -> tuple[list[int], int]:
        """The sessions with turns to index, and how many such turns there are."""
        with self._database.read() as db:
            user = user_row(db, user_id)
            if user is None:
                return [], 0
            turns = db.execute("SELECT count(*) FROM turns WHERE user = ? AND segment IS NULL", (user,)).fetchone()[0]
            return pending_sessions(db, user), turns

    def jobs(self, user_id: str, session: int) -> Iterator[Job]:
        """The session's stretches, one after another; each must be saved before the next is asked for."""
        while (job := self._job(user_id, session)) is not None:
            yield job

    def flow(self, job: Job) -> Flow[SessionMemory]:
        """The analysis of a stretch."""
        return index_session(job.tail, job.turn_vectors, self._analyzer, sentence_layer=self._sentence_layer)

    def save(self, job: Job, memory: SessionMemory, tally: Tally) -> int:
        """Embeds what is new and stores a stretch in one transaction; gives how many pending turns that settled.

        Gives 0 and stores nothing where the turns have changed meanwhile: they are pending still and come up again.
        """
        stretch = job.stretch
        fresh = job.fresh | self._vectors.missing(
            stretch.user, stretch.user_id, [text for text in derived_texts(memory) if text_key(text) not in job.fresh]
        )  # fmt: skip
        with self._database.write() as db:
            entities = save(db, stretch, memory, job.turn_texts, fresh)
            if entities is None:
                return 0
            if fresh:
                probe = self._vectors.probe.astype(PROBE).tobytes()
                db.execute("UPDATE users SET probe = ? WHERE user = ? AND probe IS NULL", (probe, stretch.user))
        settled = sum(turn.segment_id is None for turn in job.tail.turns)
        self._tally(job, memory, tally, settled, entities, len(fresh))
        return settled

    def _job(self, user_id: str, session: int) -> Job | None:
        with self._database.read() as db:
            user = user_row(db, user_id)
            planned = next_stretch(db, user, session) if user is not None else None
        if planned is None:
            return None
        stretch, turns, context = planned
        texts = tuple(turn_text(turn) for turn in turns)
        fresh = self._vectors.missing(stretch.user, user_id, texts)
        vectors = self._vectors.of_texts(stretch.user, list(texts), fresh)
        tail = SessionTail(user_id, stretch.session_id, turns, context)
        return Job(stretch, tail, texts, fresh, vectors)

    def _tally(self, job: Job, memory: SessionMemory, tally: Tally, settled: int, entities: int, embedded: int) -> None:
        kept = sum(len(segment.kept) for segment in memory.segments)
        tally.sessions.add(job.stretch.session)
        tally.rejected.update(memory.rejected)
        tally.counts.update(
            turns=settled, segments=len(memory.segments), kept=kept, dropped=len(job.tail.turns) - kept,
            triplets=sum(len(segment.triplets) for segment in memory.segments), entities=entities, embedded=embedded,
        )  # fmt: skip
