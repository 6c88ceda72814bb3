import subprocess
import sys
from pathlib import Path

import pytest

import memorai_llamaindex

PACKAGE = Path(memorai_llamaindex.__file__).parent


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_every_public_name_is_there_and_others_are_not():
    for name in memorai_llamaindex.__all__:
        assert getattr(memorai_llamaindex, name).__name__ == name
        assert name in dir(memorai_llamaindex)
    with pytest.raises(AttributeError, match="no attribute 'Memorai'"):
        memorai_llamaindex.Memorai  # noqa: B018


BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def test_the_package_does_without_langchain():
    blocked = {"langchain", "langchain_core", "langchain_classic", "langgraph", "langchain_community"}
    names = "; ".join(f"memorai_llamaindex.{name}" for name in memorai_llamaindex.__all__)
    done = run(BLOCK.format(blocked=blocked) + f"import memorai_llamaindex; {names}; print('whole')")
    assert done.stdout.strip() == "whole", done.stderr


def test_without_llama_index_it_says_what_to_install():
    program = BLOCK.format(blocked={"llama_index"}) + (
        "import memorai_llamaindex\ntry: memorai_llamaindex.MemoraiMemory\nexcept Exception as error: print(type(error).__name__, error)\n"
    )
    done = run(program)
    assert done.stdout.strip() == "ConfigurationError MemoraiMemory needs llama_index: pip install 'memorai-plugins[llamaindex]'", (
        done.stderr
    )


def test_importing_core_and_package_loads_nothing_of_the_framework():
    done = run("import sys, memorai_core, memorai_llamaindex; print([name for name in sys.modules if name.startswith('llama_index')])")
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 200
