"""Tables written into a page, between markers that name the figures they come from."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from memorai_core.bench.figures import Figures
from memorai_core.bench.tables import markdown, tables_of
from memorai_core.errors import ConfigurationError


def write_tables(page: Path, figures: Sequence[Path]) -> list[str]:
    """Replaces what stands between <!-- bench:NAME --> and <!-- /bench:NAME -->, NAME being a file's name without .json.

    A marker bench:NAME:1,3 takes only the first and third of the tables. Gives the names found in the page; raises
    ConfigurationError where a file has no marker there, and then writes nothing.
    """
    text = page.read_text(encoding="utf-8")
    for path in figures:
        pattern = re.compile(
            rf"(<!-- bench:{re.escape(path.stem)}(?::([0-9,]+))? -->\n).*?(<!-- /bench:{re.escape(path.stem)} -->)", re.DOTALL
        )
        found: Figures = json.loads(path.read_text(encoding="utf-8"))
        written = [markdown(table) for table in tables_of(found)]

        def filled(marker: re.Match[str], written: Sequence[str] = written) -> str:
            wanted = [int(number) - 1 for number in marker[2].split(",")] if marker[2] else range(len(written))
            return marker[1] + "\n\n".join(written[number] for number in wanted) + "\n" + marker[3]

        text, count = pattern.subn(filled, text)
        if not count:
            raise ConfigurationError(
                f"{page} has no <!-- bench:{path.stem} --> ... <!-- /bench:{path.stem} -->; add them where the tables go"
            )
    page.write_text(text, encoding="utf-8")
    return [path.stem for path in figures]
