"""The recipes: memory dropped into a chat, which lasts from one process to the next."""

import difflib
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra [classic]")
pytest.importorskip("langchain.agents.middleware", reason="needs the extra [agents]")

COOKBOOK = Path(__file__).parents[2] / "cookbook"


def code(name):
    """The lines of a recipe below its docstring that are not blank."""
    text = (COOKBOOK / name).read_text(encoding="utf-8").split('"""', 2)[2]
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("kind", ["chain", "agent"])
def test_memory_takes_five_changed_lines(kind):
    difference = list(difflib.ndiff(code(f"langchain_{kind}_plain.py"), code(f"langchain_{kind}.py")))
    assert 1 <= sum(line.startswith("+ ") for line in difference) <= 5
    assert sum(line.startswith("- ") for line in difference) <= 1


@pytest.mark.parametrize("kind", ["chain", "agent"])
def test_the_second_conversation_recalls_the_first_across_a_restart(kind, tmp_path):
    def run(name, *arguments):
        done = subprocess.run([sys.executable, COOKBOOK / name, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run(f"langchain_{kind}.py", "monday", "I have a grey cat called Miso.") == "I shall remember that."
    assert run(f"langchain_{kind}.py", "tuesday", "What is my cat called?") == "You once said: I have a grey cat called Miso."
    assert not (tmp_path / "memory.db-wal").exists()
