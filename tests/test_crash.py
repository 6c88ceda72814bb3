"""kill -9 at random points of a fixed schedule of appends and index runs: what is left in the end is what an undisturbed run leaves."""

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from crashing import SCHEDULE, SESSIONS, open_memory
from dialogue import everything

from memorai_core.testing import ScriptedChatModel

if not hasattr(os, "fork"):
    pytest.skip("processes are forked here", allow_module_level=True)

QUERIES = ["Who spoke of Hanoi?", "the violin and the telescope", "This is s2.", "number3 and number105"]


def lives(folder: Path, *, kills: int, seed: int) -> list[dict]:
    folder.mkdir()
    program = Path(__file__).with_name("crashing.py")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, program, folder, str(kills), str(seed)], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def remembered(folder: Path) -> tuple[object, ...]:
    """All that a memory holds, by ids, and what it finds for a few queries; in which order sessions were indexed does not matter."""
    with open_memory(folder, ScriptedChatModel(["never"])) as memory:
        found = [memory.retrieve(query, user_id="u", k=8) for query in QUERIES]
        ranked = [[(turn.turn_id, round(turn.score, 6), [t.triplet_id for t in turn.triplets]) for turn in one.turns] for one in found]
        _, edges = everything(memory, "u")
        nodes = {node: in_any_order(data) for node, data in memory.graph(user_id="u").nodes(data=True)}
        return nodes, edges, ranked, memory.stats("u")


def in_any_order(data: dict[str, object]) -> dict[str, object]:
    """A node's data; what an entity has of several sessions, sorted."""
    return {key: sorted(value) if data["kind"] == "entity" and isinstance(value, list) else value for key, value in data.items()}


def assert_nothing_asked_twice(lived: list[dict]) -> None:
    """A session that an index run had finished when it was killed is not asked about by the run that goes on with it."""
    for life, following in pairwise(lived):
        asked_again = {session for step, session in following["asked"] if int(step) == life["step"]}
        assert asked_again.isdisjoint(life["finished"])


def assert_survives(folder: Path, *, kills: int) -> int:
    """Kills runs of the schedule until `kills` have been killed; gives how many of them had a call behind them."""
    undisturbed = {way: lives(folder / f"undisturbed{way}", kills=0, seed=way) for way in (0, 1)}
    expected = remembered(folder / "undisturbed0")
    assert remembered(folder / "undisturbed1") == expected
    assert expected[3][0].pending == 0
    assert expected[3][0].sessions == len(SESSIONS)
    left, busy, seed = kills, 0, 0
    while left > 0:
        lived = lives(folder / f"run{seed}", kills=left, seed=seed)
        killed = [life for life in lived if life["status"] == signal.SIGKILL]
        assert seed < 8 + kills, "runs come to their end before they are killed"
        assert (lived[-1]["status"], lived[-1]["step"]) == (0, len(SCHEDULE))
        assert remembered(folder / f"run{seed}") == expected
        assert_nothing_asked_twice(lived)
        assert len(undisturbed[seed % 2][0]["asked"]) <= sum(len(life["asked"]) for life in lived)
        left -= len(killed)
        busy += sum(bool(life["asked"]) for life in killed)
        seed += 1
    return busy


def test_killed_a_few_times_the_memory_is_the_same(tmp_path):
    assert_survives(tmp_path, kills=4)


@pytest.mark.slow
def test_killed_fifty_times_the_memory_is_the_same(tmp_path):
    assert assert_survives(tmp_path, kills=50) >= 25
