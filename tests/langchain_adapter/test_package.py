import subprocess
import sys
from pathlib import Path

import pytest

import memorai_langchain
from memorai_core import ConfigurationError

FRAMEWORKS = "{'langchain_core', 'langchain_classic', 'langchain', 'langgraph'}"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_the_package_imports_without_any_framework():
    done = run(f"import sys, memorai_langchain; print({{name.partition('.')[0] for name in sys.modules}} & {FRAMEWORKS})")
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.parametrize(
    ("missing", "module", "name", "extra"),
    [
        (["langchain_core.retrievers"], "retriever", "MemoraiRetriever", "langchain"),
        (["langchain_classic.base_memory", "langchain_core.memory"], "chain_memory", "MemoraiMemory", "classic"),
        (["langchain.agents.middleware"], "middleware", "MemoraiMiddleware", "agents"),
    ],
)
def test_a_missing_extra_is_named(monkeypatch, missing, module, name, extra):
    monkeypatch.delitem(sys.modules, f"memorai_langchain.{module}", raising=False)
    for gone in missing:
        monkeypatch.setitem(sys.modules, gone, None)
    with pytest.raises(ConfigurationError, match=rf"{name} needs [\w.]+: pip install 'memorai-plugins\[{extra}\]'"):
        getattr(memorai_langchain, name)


def test_what_is_installed_works_without_what_is_not():
    pytest.importorskip("langchain_core", reason="needs the extra [langchain]")
    done = run(
        """
import sys
for module in ["langchain_classic", "langchain", "langgraph"]:
    sys.modules[module] = None
from memorai_langchain import LangChainChatModel, MemoraiRetriever, memory_tools, to_messages
print("fine")
"""
    )
    assert done.stdout.strip() == "fine", done.stderr


def test_another_missing_module_is_not_taken_for_an_extra(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'broken'", name="broken")

    monkeypatch.setattr(memorai_langchain, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="broken"):
        memorai_langchain.__getattr__("MemoraiRetriever")


def test_public_names_are_sorted_and_others_are_unknown():
    assert memorai_langchain.__all__ == sorted(memorai_langchain.__all__)
    assert set(memorai_langchain.__all__) <= set(dir(memorai_langchain))
    with pytest.raises(AttributeError, match="Nothing"):
        memorai_langchain.Nothing  # noqa: B018


def test_no_file_is_long():
    files = list(Path(memorai_langchain.__file__).parent.glob("*.py"))
    assert len(files) > 10
    assert [file.name for file in files if len(file.read_text(encoding="utf-8").splitlines()) > 200] == []
