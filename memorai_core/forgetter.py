"""Forgetting joined together: the store's deletions, and what is derived anew of the segment that lost a turn."""

from memorai_core.identity import text_keys
from memorai_core.indexing import turn_text
from memorai_core.indexing.extractive import summarise
from memorai_core.reports import ForgetReport
from memorai_core.storage import forgetting
from memorai_core.storage.database import Database
from memorai_core.storage.derived import save_texts
from memorai_core.vectors import Vectors


class Forgetter:
    """Deletes for good: from the file's pages and its log too."""

    def __init__(self, database: Database, vectors: Vectors) -> None:
        self._database = database
        self._vectors = vectors

    def forget(self, user: int, user_id: str, turn_id: str | None, session_id: str | None) -> ForgetReport:
        """Forgets a turn, a session, or, with neither, all of a user."""
        if turn_id is not None:
            report = self._forget_turn(user, user_id, turn_id)
        else:
            with self._database.write() as db:
                if session_id is not None:
                    report = forgetting.forget_session(db, user, user_id, session_id)
                else:
                    report = forgetting.forget_user(db, user)
        self._database.scrub()
        return report

    def _forget_turn(self, user: int, user_id: str, turn_id: str) -> ForgetReport:
        while True:
            with self._database.read() as db:
                left = forgetting.bereft(db, user, user_id, turn_id)
            summary = ""
            if left.rest:
                bodies = [turn_text(turn) for turn in left.rest]
                fresh = self._vectors.missing(user, user_id, bodies)
                summary = summarise(left.rest, self._vectors.of_texts(user, user_id, bodies, fresh))
            fresh = self._vectors.missing(user, user_id, [summary]) if summary else {}
            with self._database.write() as db:
                if summary:
                    self._vectors.check_in(db, user_id)
                text = save_texts(db, user, text_keys([summary]), fresh).get(summary)
                report = forgetting.forget_turn(db, user, user_id, left, summary, text)
            if report is not None:
                return report
