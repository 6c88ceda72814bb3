import pytest

from memorai_core.bench import choice
from memorai_core.testing import HashingEmbedder

from .fakes import OPEN


@pytest.fixture
def hashing(monkeypatch):
    """Runs embed without a model."""
    monkeypatch.setattr(choice, "default_embedder", lambda: HashingEmbedder(128))


@pytest.fixture(autouse=True)
def _closed():
    yield
    while OPEN:
        OPEN.pop().close()
