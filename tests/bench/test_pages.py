import json

import pytest
from typer.testing import CliRunner

from memorai_core.bench.cli import app
from memorai_core.bench.pages import write_tables
from memorai_core.bench.tables import Table, markdown
from memorai_core.errors import ConfigurationError

FIGURES = {
    "dataset": "locomo",
    "data_sha256": "abc",
    "settings": {"command": "stats", "data": "file.json"},
    "totals": {"turns": 1234},
    "per_conversation": {"turns": 12.5},
    "categories": {"1": {"questions": 7, "without_evidence": 0}},
}


def test_a_table_as_markdown():
    table = Table("Title", ("system", "R@3"), (("bm25", "38.8"),), "A note.")
    assert markdown(table) == "**Title**\n\n| system | R@3 |\n| --- | ---: |\n| bm25 | 38.8 |\n\nA note."


def test_tables_replace_what_stands_between_the_markers(tmp_path):
    page, figures = tmp_path / "README.md", tmp_path / "stats.json"
    figures.write_text(json.dumps(FIGURES))
    page.write_text("# Top\n<!-- bench:stats -->\nold\n<!-- /bench:stats -->\nmiddle\n<!-- bench:stats:2 -->\n<!-- /bench:stats -->\nend\n")
    result = CliRunner().invoke(app, ["tables", str(figures), "--write", str(page)])
    assert result.exit_code == 0
    text = page.read_text()
    assert "old" not in text
    assert text.count("| turns | 1,234 | 12.5 |") == 1
    assert text.count("| 1 | 7 | 0 |") == 2
    assert text.startswith("# Top\n")
    assert text.endswith("<!-- /bench:stats -->\nend\n")
    write_tables(page, [figures])
    assert page.read_text() == text


def test_a_page_without_the_markers_is_left_alone(tmp_path):
    page, figures = tmp_path / "README.md", tmp_path / "other.json"
    figures.write_text(json.dumps(FIGURES))
    page.write_text("# Top\n")
    with pytest.raises(ConfigurationError, match="bench:other"):
        write_tables(page, [figures])
    assert page.read_text() == "# Top\n"
