"""Speed and size, on seeded generated data and, where it is given, on the development data: `make bench-speed`.

Generated users have vectors of the default embedder's dimension drawn at random: what a query costs depends on how much there
is, not on what it says.
"""

import argparse
import os
import random
import resource
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from subprocess import run
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from memorai_core import Memory, Message
from memorai_core.formats import read_conversations
from memorai_core.indexing.stopwords import STOPWORDS

DIMENSION = 384
WORDS_A_TURN = 25
VOCABULARY = 20_000
FUNCTION_WORDS = 0.5
"""Share of words that carry no subject, as in English."""
SEED = 7


class RandomEmbedder:
    """A unit vector a text, seeded by the text: no model, so that loading large memories takes no hours."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        return [self.embed_query(text) for text in texts]

    def embed_windows(self, texts: list[str]) -> list[np.ndarray]:
        """One window a text."""
        seeds = [int.from_bytes(text.encode()[-8:].rjust(8, b"\0"), "little") ^ len(text) for text in texts]
        rows = np.stack([np.random.default_rng(seed).standard_normal(DIMENSION, np.float32) for seed in seeds])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return list(rows[:, None, :])

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        vector: list[float] = self.embed_windows([text])[0][0].tolist()
        return vector

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents`."""
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query`."""
        return self.embed_query(text)


def generated_turns(count: int, seed: int = SEED) -> Iterator[Message]:
    """Turns of two people, WORDS_A_TURN words in two sentences: function words between content words drawn by Zipf's law."""
    chance = random.Random(seed)
    ranks = iter((np.random.default_rng(seed).zipf(1.3, count * WORDS_A_TURN) % VOCABULARY).tolist())
    small = sorted(STOPWORDS)
    for number in range(count):
        words = [chance.choice(small) if chance.random() < FUNCTION_WORDS else _word(next(ranks)) for _ in range(WORDS_A_TURN)]
        cut = chance.randint(8, 17)
        text = f"{' '.join(words[:cut]).capitalize()}. {' '.join(words[cut:]).capitalize()}."
        yield Message(role="user", name=("Ann", "Ben")[number % 2], text=text, id=str(number))


def fill(memory: Memory, user_id: str, turns: int, session_turns: int = 25, seed: int = SEED) -> None:
    """Appends and indexes generated turns, in sessions."""
    messages = list(generated_turns(turns, seed))
    for start in range(0, turns, session_turns):
        memory.append(messages[start : start + session_turns], user_id=user_id, session_id=str(start))
    memory.index(user_id=user_id)


def percentiles(measure: Callable[[int], None], count: int, warm: int = 5) -> tuple[float, float]:
    """p50 and p95 in milliseconds of a call that is given its number."""
    for number in range(warm):
        measure(number)
    times = [_timed(lambda number=number: measure(number)) for number in range(count)]  # type: ignore[misc]
    return float(np.percentile(times, 50)), float(np.percentile(times, 95))


def retrieve_times(memory: Memory, user_id: str, count: int = 200, seed: int = SEED) -> tuple[float, float]:
    """p50 and p95 of `retrieve` with the query's vector given, on questions of eight words of the generated kind."""
    vectors = np.random.default_rng(seed).standard_normal((count + 5, DIMENSION)).astype(np.float32)
    questions = [" ".join(message.text.split()[3:11]) for message in generated_turns(count + 5, seed + 1)]
    return percentiles(lambda n: _drop(memory.retrieve(questions[n], user_id=user_id, query_vector=vectors[n])), count)


def _word(rank: int) -> str:
    consonants, vowels = "bcdfghjklmnpqrstvwz", "aeiou"
    word = ""
    rank += len(consonants) * len(vowels)
    while rank:
        rank, rest = divmod(rank, len(consonants) * len(vowels))
        word += consonants[rest // len(vowels)] + vowels[rest % len(vowels)]
    return word


def _timed(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return (perf_counter() - start) * 1e3


def _first_query(memory: Memory, user_id: str) -> float:
    return _timed(lambda: memory.retrieve("ba ce", user_id=user_id, query_vector=np.ones(DIMENSION, np.float32)))


def _drop(_: object) -> None:
    """Takes a result and keeps nothing."""


def sized_users(folder: Path) -> Iterable[tuple[str, str]]:
    """Latency and bytes by the number of turns of one user."""
    for turns, name in ((600, "a LoCoMo-sized user, 600 turns"), (100_000, "one user of 100,000 turns")):
        with Memory.open(folder / f"{turns}.db", embedder=RandomEmbedder()) as memory:
            start = perf_counter()
            fill(memory, "u", turns)
            yield f"{name}: append and index", f"{perf_counter() - start:.1f} s ({(perf_counter() - start) / turns * 1e3:.2f} ms a turn)"
        with Memory.open(folder / f"{turns}.db", embedder=RandomEmbedder()) as memory:
            yield f"{name}: first query", f"{_first_query(memory, 'u'):.0f} ms"
            p50, p95 = retrieve_times(memory, "u", 200 if turns < 1000 else 40)
            yield f"{name}: retrieve, warm", f"p50 {p50:.2f} ms, p95 {p95:.2f} ms"
            size = memory.snapshot_bytes(user_id="u")
            yield f"{name}: snapshot", f"{size / turns:.0f} bytes a turn ({size / 2**20:.0f} MiB)"


def many_users(folder: Path, users: int, turns: int = 200) -> Iterable[tuple[str, str]]:
    """A cold user's first query and a warm one's in a file of many users, whose rows are copies of one user's."""
    path = folder / "many.db"
    with Memory.open(path, embedder=RandomEmbedder()) as memory:
        fill(memory, "u0", turns)
        alone, _ = retrieve_times(memory, "u0")
    start = perf_counter()
    _multiply(path, users)
    yield f"{users:,} users of {turns} turns", f"{path.stat().st_size / 2**30:.1f} GiB, copied in {perf_counter() - start:.0f} s"
    cold = []
    with Memory.open(path, embedder=RandomEmbedder()) as memory:
        for number in random.Random(SEED).sample(range(1, users), 50):
            cold.append(_first_query(memory, f"u{number}"))
        warm, _ = retrieve_times(memory, "u0")
    yield "a cold user's first query", f"p50 {np.percentile(cold, 50):.1f} ms, p95 {np.percentile(cold, 95):.1f} ms"
    yield "a warm user's query", f"p50 {warm:.2f} ms (alone in a file: {alone:.2f} ms)"


def _multiply(path: Path, users: int) -> None:
    """Copies user u0 to u1, u2, ... by moving every row number by as much as the table's largest."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    numbered = {"users": "user", "sessions": "session", "texts": "text", "segments": "segment", "turns": "turn", "entities": "entity",
                "triplets": "triplet", "descriptions": "description"}  # fmt: skip
    step = max(db.execute(f"SELECT coalesce(max({number}), 0) FROM {table}").fetchone()[0] for table, number in numbered.items()) + 1
    points = {**{number: number for number in numbered.values()}, "subject": "entity", "object": "entity"}
    tables = [*numbered, "triplet_turns", "description_turns"]
    columns = {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in tables}
    for copy in range(1, users):
        db.execute("BEGIN") if copy % 100 == 1 else None
        for table in tables:
            chosen = ", ".join(
                f"'u{copy}'" if (table, column) == ("users", "user_id") else f"{column} + {copy * step}" if column in points else column
                for column in columns[table]
            )
            owned = "WHERE user = 1" if "user" in columns[table] else f"WHERE turn < {step}"
            db.execute(f"INSERT INTO {table} ({', '.join(columns[table])}) SELECT {chosen} FROM {table} {owned}")
        db.execute("COMMIT") if copy % 100 == 0 or copy == users - 1 else None
    db.close()


def appends(folder: Path) -> Iterable[tuple[str, str]]:
    """One message's append against a bare fsync on the same disk."""
    messages = list(generated_turns(310))
    with Memory.open(folder / "append.db", embedder=RandomEmbedder()) as memory:
        p50, p95 = percentiles(lambda n: _drop(memory.append([messages[n + 5]], user_id="u", session_id="s")), 300)
    with (folder / "fsync").open("wb") as file:

        def bare(_: int) -> None:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())

        f50, f95 = percentiles(bare, 300)
    yield "append of one message", f"p50 {p50:.2f} ms, p95 {p95:.2f} ms (a bare fsync: {f50:.2f}, {f95:.2f})"


def imports() -> Iterable[tuple[str, str]]:
    """What importing the core costs."""
    code = "import time; t = time.perf_counter(); import memorai_core; print(time.perf_counter() - t)"
    times = [float(run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) for _ in range(5)]
    yield "import memorai_core", f"median {np.median(times):.2f} s of 5"


def real_data(path: Path, folder: Path) -> Iterable[tuple[str, str]]:
    """Ingest, share of the embedder, and latencies on a file of conversations, with the default embedder."""
    with Memory.open(folder / f"{path.stem}.db") as memory:
        start, embedding, last = perf_counter(), 0.0, ""
        for conversation in read_conversations(path):
            last = conversation.user_id
            for session in conversation.sessions:
                memory.append(session.messages, user_id=last, session_id=session.session_id)
            embedding += memory.index(user_id=last).embedding_seconds
            if perf_counter() - start > 120:
                break
        seconds = perf_counter() - start
        yield f"{path.name}: append and index", f"{seconds:.0f} s, {embedding / seconds:.0%} of it in the embedder"
        vector = np.ones(DIMENSION, np.float32)
        words = [word for message in conversation.sessions[-1].messages for word in message.text.split()]
        ask = [" ".join(words[n % len(words) :][:8]) or "what" for n in range(205)]
        p50, p95 = percentiles(lambda n: _drop(memory.retrieve(ask[n], user_id=last, query_vector=vector)), 200)
        yield f"{path.name}: retrieve, warm", f"p50 {p50:.2f} ms, p95 {p95:.2f} ms"


def main() -> None:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with locomo/ and longmemeval/")
    parser.add_argument("--users", type=int, default=10_000, help="users in the file of many users; 10,000 need about 12 GB of disk")
    arguments = parser.parse_args()
    files = sorted(arguments.data.glob("lo*/*.json*")) if arguments.data else []
    folder = Path(tempfile.mkdtemp(prefix="memorai-speed-", dir=os.environ.get("MEMORAI_SPEED_DIR")))
    console, table = Console(), Table("measured", "figure")
    try:
        parts = [imports(), appends(folder), sized_users(folder), many_users(folder, arguments.users)]
        for name, figure in (line for part in [*parts, *(real_data(path, folder) for path in files)] for line in part):
            console.print(f"{name}: [bold]{figure}[/]", highlight=False)
            table.add_row(name, figure)
        console.print(table)
        console.print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
