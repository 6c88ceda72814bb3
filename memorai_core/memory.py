"""Memory: where store, embedder, analyzer and ranking are joined. The one class that users meet."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from memorai_core.background import BackgroundIndexer
from memorai_core.embedding import default_embedder
from memorai_core.errors import ConfigurationError, UnknownUserError
from memorai_core.flow import arun, run
from memorai_core.forgetter import Forgetter
from memorai_core.indexer import Indexer, Progress
from memorai_core.indexing.extractive import ExtractiveAnalyzer
from memorai_core.models import Answer, Evidence, Explanation, Message, Turn
from memorai_core.protocols import ChatModel, Embedder, SessionAnalyzer
from memorai_core.reports import Audit, ForgetReport, IndexReport, UserStats
from memorai_core.retrieval.cache import SnapshotCache
from memorai_core.retriever import Retriever
from memorai_core.settings import Settings
from memorai_core.storage import reading
from memorai_core.storage.audits import audit
from memorai_core.storage.database import Database
from memorai_core.storage.forgetting import empty_derived
from memorai_core.storage.turns import append
from memorai_core.storage.users import user_row
from memorai_core.threads import in_thread
from memorai_core.vectors import Vectors
from memorai_core.view import View

if TYPE_CHECKING:
    import networkx as nx


class Memory:
    """A store of conversations, each user's apart, from which evidence for a question is retrieved.

    Safe to use from several threads, and on one file from several processes. Made by `Memory.open`.
    """

    def __init__(
        self, database: Database, embedder: Embedder, analyzer: SessionAnalyzer, chat_model: ChatModel | None, settings: Settings
    ) -> None:
        self.settings = settings
        self.embedder = embedder
        self._database = database
        self._chat_model = chat_model
        self._vectors = Vectors(database, embedder)
        self._indexer = Indexer(database, self._vectors, analyzer, sentence_layer=settings.sentence_layer)
        self._forgetter = Forgetter(database, self._vectors)
        self._snapshots = SnapshotCache()
        self._retriever = Retriever(database, self._vectors, self._snapshots)
        self._background = BackgroundIndexer(lambda user_id: self.index(user_id=user_id))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        chat_model: ChatModel | None = None,
        embedder: Embedder | None = None,
        analyzer: SessionAnalyzer | None = None,
        settings: Settings | None = None,
    ) -> Self:
        """Opens a database file, or makes it; ":memory:" gives one that goes with `close`.

        With a chat model, `index` and `answer` use it; with one and `analyzer=ExtractiveAnalyzer()`, `answer` alone. Without an
        embedder the bundled one is loaded on first use.
        Raises StoreError where the file is no memorai database or cannot be used, SchemaVersionError where a newer memorai wrote it.
        """
        settings = settings or Settings()
        if analyzer is None and chat_model is not None:
            from memorai_core.indexing.prompted import PromptedAnalyzer

            analyzer = PromptedAnalyzer(prompting=settings.prompting, segmentation=settings.segmentation, gate=settings.gate)
        analyzer = analyzer or ExtractiveAnalyzer(segmentation=settings.segmentation, gate=settings.gate)
        return cls(Database(path), embedder or default_embedder(), analyzer, chat_model, settings)

    def append(self, messages: Iterable[Message], *, user_id: str, session_id: str) -> list[Turn]:
        """Stores messages at the end of a session, all or none; they are durable when it returns, and no model is called.

        A message whose id the session knows changes nothing where it is the same, and is an edit in place where it is not.
        """
        _scope("user_id", user_id)
        _scope("session_id", session_id)
        given = list(messages)
        for message in given:
            if not isinstance(message, Message):
                raise ConfigurationError(
                    f"append takes Message objects, not {type(message).__name__}; make one with Message(role=..., text=...)"
                )
        if not given:
            return []
        with self._database.write() as db:
            return append(db, given, user_id, session_id)

    def index(self, *, user_id: str, rebuild: bool = False, progress: Progress | None = None) -> IndexReport:
        """Turns what was appended into graph (§3.1-3.2), one transaction a stretch of a session; `rebuild` starts from the turns.

        Stopped anywhere, it goes on there when called again. An error of a chat model's transport passes through.
        """
        self._prepare(user_id, rebuild)
        return self._indexer.run(user_id, self._chat_model, progress)

    def index_soon(self, *, user_id: str) -> None:
        """`index` in a background thread, which `close` waits for; returns at once. Errors are logged, and raised by `drain`."""
        _scope("user_id", user_id)
        self._background.submit(user_id)

    def drain(self, timeout: float | None = None) -> None:
        """Waits for background indexing, then raises the first of its errors since the last `drain`.

        Raises TimeoutError where that takes longer than `timeout` seconds; the work goes on.
        """
        self._background.drain(timeout)

    def retrieve(
        self,
        query: str,
        *,
        user_id: str,
        k: int = 10,
        session_id: str | None = None,
        as_of: datetime | None = None,
        query_vector: Sequence[float] | np.ndarray | None = None,
    ) -> Evidence:
        """The k turns that bear most on a query, with the triplets that cite them (§3.3).

        `session_id` keeps to one session, `as_of` to turns not later than it (undated ones stay); `query_vector` spares the
        embedder. Turns that are not indexed yet are found by their words. Raises UnknownUserError.
        """
        _scope("user_id", user_id)
        if session_id is not None:
            _scope("session_id", session_id)
        return self._retriever.retrieve(
            query, user_id, k, self.settings, session_id=session_id, as_of=as_of, query_vector=query_vector
        )  # fmt: skip

    def answer(self, question: str, *, user_id: str, history: Sequence[Message] = (), now: datetime | None = None) -> Answer:
        """An answer from what is remembered, its citations checked against the evidence; needs a chat model.

        `history` is the conversation at hand, oldest first; `now` dates the question. It abstains where the evidence does not hold
        the answer. Raises UnknownUserError, and ConfigurationError without a chat model; an error of its transport passes through.
        """
        from memorai_core.answering import answer_flow  # what needs a chat model is imported with one

        evidence = self.retrieve(question, user_id=user_id)
        return run(answer_flow(evidence, question, history, now), self._chat_model)

    def explain(self, evidence: Evidence, turn_id: str) -> Explanation:
        """Where a turn's score comes from: seed share and in-flows, which sum to the score. Raises UnknownTurnError."""
        return self._retriever.explain(evidence, turn_id)

    def graph(self, *, user_id: str) -> "nx.MultiDiGraph[str]":
        """A user's whole memory as a graph, all provenance as attributes (§3.2). Raises UnknownUserError."""
        from memorai_core.graph import memory_graph  # networkx takes longer to import than all the rest

        _scope("user_id", user_id)
        with self._database.read() as db:
            return memory_graph(db, _known(user_id, user_row(db, user_id)))

    def forget(self, *, user_id: str, turn_id: str | None = None, session_id: str | None = None, everything: bool = False) -> ForgetReport:
        """Deletes a turn, a session or all of a user's memory, with everything derived that cites it, for good.

        Exactly one of the three is given. Raises UnknownUserError, UnknownTurnError, UnknownSessionError.
        """
        _scope("user_id", user_id)
        if sum((turn_id is not None, session_id is not None, everything)) != 1:
            raise ConfigurationError("forget takes exactly one of turn_id=, session_id= and everything=True")
        for name, value in (("turn_id", turn_id), ("session_id", session_id)):
            if value is not None:
                _scope(name, value)
        with self._database.read() as db:
            user = _known(user_id, user_row(db, user_id))
        report = self._forgetter.forget(user, user_id, turn_id, session_id)
        self._snapshots.drop(user)
        return report

    def view(self, *, user_id: str) -> View:
        """One user's turns, segments, entities and triplets, to be read by id, name and nearness. Raises UnknownUserError."""
        _scope("user_id", user_id)
        with self._database.read() as db:
            return View(self._database, self._retriever, _known(user_id, user_row(db, user_id)), user_id)

    def show(self, id_prefix: str, *, user_id: str | None = None) -> Audit:
        """One turn, segment, entity or triplet by its id or the start of it, with its provenance. Raises UnknownIdError."""
        if user_id is not None:
            _scope("user_id", user_id)
        with self._database.read() as db:
            return audit(db, id_prefix, user_id)

    def stats(self, user_id: str | None = None) -> list[UserStats]:
        """Counts for one user, or for all. Raises UnknownUserError for one that is not there."""
        if user_id is not None:
            _scope("user_id", user_id)
        with self._database.read() as db:
            found = reading.stats(db, user_id)
        if user_id is not None and not found:
            raise UnknownUserError(f"nothing is stored of user {user_id!r}")
        return found

    def snapshot_bytes(self, *, user_id: str) -> int:
        """Bytes that a user's memory takes in this process while it is ready to be queried. Raises UnknownUserError."""
        return self._retriever.snapshot_bytes(user_id)

    def users(self) -> list[str]:
        """The ids of all users in the store, sorted."""
        with self._database.read() as db:
            return reading.column(db, "SELECT user_id FROM users ORDER BY user_id")

    def close(self) -> None:
        """Finishes background indexing and closes the store; a second call does nothing."""
        self._background.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    async def aappend(self, messages: Iterable[Message], *, user_id: str, session_id: str) -> list[Turn]:
        """`append`, in a thread."""
        return await in_thread(self.append, messages, user_id=user_id, session_id=session_id)

    async def aindex(self, *, user_id: str, rebuild: bool = False, progress: Progress | None = None) -> IndexReport:
        """`index` with `Settings.max_concurrency` sessions side by side; the event loop stays free."""
        await in_thread(self._prepare, user_id, rebuild)
        return await self._indexer.arun(user_id, self._chat_model, progress, self.settings.max_concurrency)

    async def adrain(self, timeout: float | None = None) -> None:
        """`drain`, in a thread."""
        await in_thread(self.drain, timeout)

    async def aretrieve(
        self,
        query: str,
        *,
        user_id: str,
        k: int = 10,
        session_id: str | None = None,
        as_of: datetime | None = None,
        query_vector: Sequence[float] | np.ndarray | None = None,
    ) -> Evidence:
        """`retrieve`, in a thread."""
        return await in_thread(
            self.retrieve, query, user_id=user_id, k=k, session_id=session_id, as_of=as_of, query_vector=query_vector
        )  # fmt: skip

    async def aanswer(self, question: str, *, user_id: str, history: Sequence[Message] = (), now: datetime | None = None) -> Answer:
        """`answer`, without blocking the event loop."""
        from memorai_core.answering import answer_flow

        evidence = await self.aretrieve(question, user_id=user_id)
        return await arun(answer_flow(evidence, question, history, now), self._chat_model)

    async def aforget(
        self, *, user_id: str, turn_id: str | None = None, session_id: str | None = None, everything: bool = False
    ) -> ForgetReport:
        """`forget`, in a thread."""
        return await in_thread(self.forget, user_id=user_id, turn_id=turn_id, session_id=session_id, everything=everything)

    def _prepare(self, user_id: str, rebuild: bool) -> None:
        _scope("user_id", user_id)
        with self._database.read() as db:
            user = _known(user_id, user_row(db, user_id))
        if rebuild:
            with self._database.write() as db:
                empty_derived(db, user)


def _scope(name: str, value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{name} must be a string that is not blank, not {value!r}: there is no default")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ConfigurationError(f"{name} must be Unicode text without NUL and lone surrogates, not {value!r}")


def _known(user_id: str, user: int | None) -> int:
    if user is None:
        raise UnknownUserError(f"nothing is stored of user {user_id!r}; append messages first, or check the id")
    return user
