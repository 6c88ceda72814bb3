import hypothesis
import pytest

from memorai_core import Memory
from memorai_core.testing import HashingEmbedder

hypothesis.settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("ci")


@pytest.fixture
def open_memory(tmp_path):
    """Opens memories on one file, or on others by name, and closes them at the end."""
    opened = []

    def open_one(name="memory.db", embedder=None, **options):
        memory = Memory.open(tmp_path / name, embedder=embedder or HashingEmbedder(), **options)
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def memory(open_memory):
    return open_memory()
