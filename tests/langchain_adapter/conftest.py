import pytest

from memorai_core import Message

SAID = [
    Message(role="user", text="I moved to Hanoi with my sister Linh last spring.", name="Alice", timestamp="2024-04-01T09:00:00Z", id="m1"),
    Message(role="assistant", text="How do you like it there?", id="m2"),
    Message(role="user", text="I love it, but I am allergic to peanuts, so street food is hard.", name="Alice", id="m3"),
    Message(role="user", text="I adopted a grey cat called Miso.", name="Alice", id="m4"),
]


@pytest.fixture
def alice(memory):
    """A memory that knows something of Alice."""
    memory.append(SAID, user_id="alice", session_id="monday")
    memory.index(user_id="alice")
    return memory
