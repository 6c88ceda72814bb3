import shutil

import pytest

from memorai_core import Memory, Message
from memorai_core.testing import HashingEmbedder

SAID = [
    Message(role="user", text="I moved to Hanoi with my sister Linh last spring.", name="Alice", timestamp="2024-04-01T09:00:00Z", id="m1"),
    Message(role="assistant", text="How do you like it there?", id="m2"),
    Message(role="user", text="I love it, but I am allergic to peanuts, so street food is hard.", name="Alice", id="m3"),
    Message(role="user", text="I adopted a grey cat called Miso.", name="Alice", id="m4"),
]


@pytest.fixture(scope="session")
def alice_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("alice") / "memory.db"
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        memory.append(SAID, user_id="alice", session_id="monday")
        memory.index(user_id="alice")
    return path


@pytest.fixture
def alice(alice_file, tmp_path, open_memory):
    """A memory that knows something of Alice."""
    shutil.copy(alice_file, tmp_path / "memory.db")
    return open_memory()
