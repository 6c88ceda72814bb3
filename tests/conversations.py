"""Conversations for tests: written out, and generated."""

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st

from memorai_core.models import SessionTail, Turn
from memorai_core.testing import HashingEmbedder

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
FRIENDS = (
    ("Alice", "Hey Ben! Good to see you!"),
    ("Ben", "Hi Alice. How was your trip to Hanoi?"),
    ("Alice", "Wonderful. I went to a pottery workshop there yesterday and made two bowls."),
    ("Ben", "Nice! My sister Clara's a potter too, isn't that funny?"),
    ("Alice", "Wow!"),
    ("Ben", "I will start a new job at the museum next month, by the way."),
)


def turn(number: int, speaker: str, text: str, *, role: str | None = None, timestamp: datetime | None = START) -> Turn:
    role = role or ("assistant" if speaker == "assistant" else "user")
    return Turn(f"turn-{number}", None, "s1", number, role, speaker, text, timestamp, timestamp is None)


def tail(*said: tuple[str, str], context: int = 0) -> SessionTail:
    turns = tuple(turn(number, speaker, text) for number, (speaker, text) in enumerate(said))
    return SessionTail("alice", "s1", turns[context:], turns[:context])


def vectors(session: SessionTail) -> np.ndarray:
    return np.asarray(HashingEmbedder(16).embed_documents([turn.text for turn in session.turns]), np.float32).reshape(-1, 16)


WORDS = """I my dog hiking Hanoi yesterday we likes the museum job & <b> 猫 كتاب Alex's "quoted" """.strip()
_texts = st.one_of(
    st.lists(st.sampled_from(WORDS.split()), max_size=14).map(" ".join),
    st.text(st.characters(exclude_categories=("Cs", "Cn", "Co")), max_size=60),
)


@st.composite
def sessions(draw: st.DrawFn, max_turns: int = 20) -> SessionTail:
    """A tail of a session as the store may give it: any text, times that stand still or go on, some turns undated."""
    count = draw(st.integers(1, max_turns))
    before = draw(st.integers(0, 3))
    speakers = draw(
        st.lists(st.sampled_from(["Alice", "Ben", "user", "assistant", 'Zoë "Zed" <z>', "陈伟"]), min_size=2, max_size=2, unique=True)
    )
    turns = []
    for number in range(before + count):
        dated = draw(st.booleans())
        moment = START + timedelta(minutes=draw(st.integers(0, 1)) * number) if dated else None
        turns.append(turn(number, speakers[number % 2], draw(_texts), timestamp=moment))
    return SessionTail("alice", "s1", tuple(turns[before:]), tuple(turns[:before]))
