"""Indexing in the background: one worker that turns users' pending turns into graph, one user after another."""

import logging
from collections.abc import Callable
from contextvars import Context
from threading import Condition, Thread

from memorai_core.errors import UnknownUserError

logger = logging.getLogger(__name__)


class BackgroundIndexer:
    """Calls `index(user_id)` for submitted users in a thread of its own, which lives only while there is work.

    A user submitted again while still waiting is indexed once. An error is logged, kept for the next `drain`, and does not
    stop the others; the user's turns stay pending, so the next submission takes them up again.
    """

    def __init__(self, index: Callable[[str], object]) -> None:
        self._index = index
        self._changed = Condition()
        self._waiting: dict[str, None] = {}
        self._errors: list[Exception] = []
        self._worker: Thread | None = None
        self._closed = False

    def submit(self, user_id: str) -> None:
        """Asks for a user to be indexed soon, and returns at once; after `close` it does nothing."""
        with self._changed:
            if self._closed:
                return
            self._waiting[user_id] = None
            if self._worker is None:
                # A context of its own: callbacks and tracing of the caller's run end with that run.
                self._worker = Thread(target=Context().run, args=(self._work,), name="memorai-index", daemon=True)
                self._worker.start()

    def drain(self, timeout: float | None = None) -> None:
        """Waits until all that was submitted is indexed, then raises the first error since the last `drain`.

        Raises TimeoutError where that takes longer than `timeout` seconds; the work goes on.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._worker is None, timeout):
                raise TimeoutError(f"still indexing after {timeout} s, with {len(self._waiting)} more users waiting")
            errors, self._errors = self._errors, []
        if errors:
            raise errors[0]

    def close(self) -> None:
        """Finishes what was submitted and accepts no more; errors are in the log. A second call does nothing."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._worker is None)

    def _work(self) -> None:
        while (user_id := self._next()) is not None:
            try:
                self._index(user_id)
            except UnknownUserError:
                pass  # forgotten since
            except Exception as error:
                logger.exception("indexing %r in the background failed; its turns stay pending", user_id)
                with self._changed:
                    self._errors.append(error)

    def _next(self) -> str | None:
        """The user waiting longest; None, and the end of this worker, where nobody waits."""
        with self._changed:
            if not self._waiting:
                self._worker = None
                self._changed.notify_all()
                return None
            user_id = next(iter(self._waiting))
            del self._waiting[user_id]
            return user_id
