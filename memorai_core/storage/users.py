"""Users, and the count of their writes by which readers know that they are behind."""

import sqlite3


def user_row(db: sqlite3.Connection, user_id: str) -> int | None:
    """The row number of a user, or None where the store holds nothing of them."""
    row = db.execute("SELECT user FROM users WHERE user_id = ?", (user_id,)).fetchone()
    return None if row is None else int(row[0])


def bump(db: sqlite3.Connection, user: int, *, reload: bool = False) -> int:
    """Counts a write: gives the user's new revision; `reload` says that readers cannot catch up and must load anew."""
    row = db.execute(
        "UPDATE users SET revision = revision + 1, generation = generation + ? WHERE user = ? RETURNING revision", (reload, user)
    ).fetchone()
    return int(row[0])
