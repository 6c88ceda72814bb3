"""A program that works through a fixed schedule of appends and index runs, and is killed at random points of the index runs.

`python crashing.py FOLDER KILLS SEED` prints, as JSON, one entry a life, the last of which comes to the schedule's end: how it
ended, at which step, which sessions were finished by then, and at which step it asked the model about which session. It forks,
so it is a program of its own, with one thread.
"""

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

from dialogue import say, sentence

from memorai_core import Memory, Message, Settings
from memorai_core.flow import Prompt
from memorai_core.identity import digest
from memorai_core.testing import HashingEmbedder, ScriptedChatModel, faithful_reply

SESSIONS = ["s0", "s1", "s2", "s3"]
LONGEST_DELAY = 0.08
"""Seconds after the beginning of an index run, or of what a killed one left, in which it is killed."""


def said(session: str, start: int, end: int) -> list[Message]:
    first = 100 * SESSIONS.index(session)
    return [
        say(f"{sentence(first + number)} This is {session}.", name=("Alice", "Ben")[number % 2], id=f"m{number}", at=first + number)
        for number in range(start, end)
    ]


Step = tuple[str, list[Message]] | None
"""What one session gets, or None for an index run."""
SCHEDULE: list[Step] = [
    ("s0", said("s0", 0, 14)), ("s1", said("s1", 0, 9)), ("s2", said("s2", 0, 3)), None,
    ("s0", said("s0", 14, 19)), ("s2", said("s2", 3, 11)), ("s3", said("s3", 0, 8)), None,
    ("s1", [say("I was in Hanoi after all. This is s1.", name="Alice", id="m2", at=102)]), ("s3", said("s3", 8, 16)), None,
    ("s0", said("s0", 19, 30)), ("s1", said("s1", 9, 12)), ("s3", said("s3", 16, 17)), None,
]  # fmt: skip


def open_memory(folder: Path, chat_model: ScriptedChatModel) -> Memory:
    return Memory.open(folder / "memory.db", chat_model=chat_model, embedder=HashingEmbedder(), settings=Settings(max_concurrency=3))


def live(folder: Path, way: str, started: int, log: int) -> None:
    """Goes on with the schedule where the last life stopped; tells by a byte to `started` that it begins to index."""
    done = folder / "done"
    step = int(done.read_text()) if done.exists() else 0  # also read by `reply`, while it moves on below

    def reply(prompt: Prompt) -> str:
        conversation = prompt.text.rpartition("<conversation>")[2]
        asked = next(session for session in SESSIONS if f"This is {session}." in conversation)
        os.write(log, f"{step} {asked}\n".encode())
        return faithful_reply(prompt).replace("is spoken of", f"is spoken of in {asked}, {digest(conversation)[:6]}")

    with open_memory(folder, ScriptedChatModel(reply, delay=0.004)) as memory:
        while step < len(SCHEDULE):
            given = SCHEDULE[step]
            if given is not None:
                memory.append(given[1], user_id="u", session_id=given[0])
            else:
                os.write(started, b"i")
                if way == "async":
                    asyncio.run(memory.aindex(user_id="u"))
                else:
                    memory.index(user_id="u")
            step += 1
            (folder / "next").write_text(str(step))
            (folder / "next").replace(done)


def finished(folder: Path) -> list[str]:
    """The sessions without a turn to index."""
    pending = "SELECT session FROM turns WHERE segment IS NULL"
    with closing(sqlite3.connect(folder / "memory.db")) as db:
        rows = db.execute(f"SELECT session_id FROM sessions WHERE session NOT IN ({pending})").fetchall()
    return [row[0] for row in rows]


def one_life(folder: Path, way: str, delay: float | None) -> dict[str, object]:
    """Runs a process from where the last one stopped, and kills it `delay` seconds into an index run, where one is given."""
    reading, writing = os.pipe()
    log = os.open(folder / "log", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.close(reading)
            live(folder, way, writing, log)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    while os.read(reading, 1) and delay is not None:
        time.sleep(delay)
        os.kill(process, signal.SIGKILL)
        break
    killed = os.waitpid(process, 0)[1]
    os.close(reading)
    asked = os.pread(log, 1_000_000, 0).decode().splitlines()
    os.close(log)
    done = folder / "done"
    step = int(done.read_text()) if done.exists() else 0
    return {"status": killed, "step": step, "finished": finished(folder), "asked": [line.split() for line in asked]}


def main(folder: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    way = ("sync", "async")[seed % 2]
    lives = [one_life(folder, way, chance.uniform(0, LONGEST_DELAY) if kills else None)]
    while lives[-1]["status"] == signal.SIGKILL:
        again = sum(life["status"] == signal.SIGKILL for life in lives) < kills
        lives.append(one_life(folder, way, chance.uniform(0, LONGEST_DELAY) if again else None))
    print(json.dumps(lives))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
