"""The README's code runs as it stands."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "I moved to Hanoi for the new job at the museum. m1" in printed
    assert "Question: Where does Alice live?" in printed


def test_quickstart_is_about_fifteen_lines() -> None:
    block = re.search(r"## Fifteen lines\n\n```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    assert len([line for line in block[1].splitlines() if line.strip()]) <= 17
