import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from memorai_core.cli import app

DATA = Path(__file__).parent.parent.parent / "cookbook" / "data"
FRIENDS = DATA / "two_friends.jsonl"
USER = "two_friends"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def process(*arguments: object, **environment: str) -> Outcome:
    """The command as its own process, with warnings as errors."""
    command = [sys.executable, "-W", "error", "-m", "memorai_core.cli", *map(str, arguments)]
    given = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "COLUMNS")}
    environment = {**given, "NO_COLOR": "1", **environment}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=120, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def inside(*arguments: object) -> Outcome:
    """The command within this process, which is faster."""
    done = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "80"}).invoke(app, [str(argument) for argument in arguments])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Outcome(done.exit_code, done.stdout, done.stderr)


def said(content: str, **more: object) -> dict[str, object]:
    return {"role": "user", "content": content, **more}
