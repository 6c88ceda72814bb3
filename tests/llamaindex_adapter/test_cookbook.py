import gc
import runpy
from pathlib import Path

import pytest

from llamaindex_adapter.fakes import CONNECTION, DEPRECATED

COOKBOOK = Path(__file__).parent.parent.parent / "cookbook"


@pytest.fixture
def run(tmp_path, capsys):
    def run(name: str) -> str:
        runpy.run_path(str(COOKBOOK / name))["main"](tmp_path / "memory.db")
        gc.collect()  # the framework leaves connections behind
        return capsys.readouterr().out

    return run


@pytest.mark.filterwarnings(CONNECTION)
@pytest.mark.filterwarnings(DEPRECATED)
def test_a_second_conversation_recalls_the_first_across_a_restart(run):
    printed = run("llamaindex_chat.py")
    friday = printed[printed.index("What animals") :]
    assert "I remember:" not in printed[: printed.index("What animals")]
    assert "breeds alpacas in the Alentejo" in friday
    assert len([line for line in printed.splitlines() if line.startswith(("monday ", "friday "))]) == 6


def test_the_chat_recipe_needs_five_lines_at_most():
    text = (COOKBOOK / "llamaindex_chat.py").read_text(encoding="utf-8")
    assert text.count("# memory") + text.count("import Mem") <= 5


def test_the_graph_recipe_reads_writes_and_hands_over(run):
    printed = run("llamaindex_graph.py")
    assert "Saudades de Maio" in printed
    assert "speaks_of" in printed
    assert "Paid by Dona Graça." in printed
    assert "ExportReport(nodes=" in printed
    assert "('Ines', 'speaks_of', 'Dona Graça')" in printed
