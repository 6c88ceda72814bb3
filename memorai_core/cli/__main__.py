"""`python -m memorai_core.cli`, the same as `memorai`."""

from memorai_core.cli import app

app(prog_name="memorai")
