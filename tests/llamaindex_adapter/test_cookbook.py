import runpy
import subprocess
import sys
from pathlib import Path

COOKBOOK = Path(__file__).parent.parent.parent / "cookbook"


def test_a_second_conversation_recalls_the_first_across_a_restart():
    # In a process of its own: the framework leaves connections to the garbage collector, which would meet other tests.
    done = subprocess.run([sys.executable, str(COOKBOOK / "llamaindex_chat.py")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monday, friday = done.stdout.split("What animals", 1)
    assert "I remember:" not in monday
    assert "breeds alpacas in the Alentejo" in friday
    assert len([line for line in done.stdout.splitlines() if line.startswith(("monday ", "friday "))]) == 6


def test_the_chat_recipe_needs_five_lines_at_most():
    text = (COOKBOOK / "llamaindex_chat.py").read_text(encoding="utf-8")
    assert text.count("# memory") + text.count("import Mem") <= 5


def test_the_graph_recipe_reads_writes_and_hands_over(tmp_path, capsys):
    runpy.run_path(str(COOKBOOK / "llamaindex_graph.py"))["main"](tmp_path / "memory.db")
    printed = capsys.readouterr().out
    assert "Saudades de Maio" in printed
    assert "speaks_of" in printed
    assert "Paid by Dona Graça." in printed
    assert "ExportReport(nodes=" in printed
    assert "('Ines', 'speaks_of', 'Dona Graça')" in printed
