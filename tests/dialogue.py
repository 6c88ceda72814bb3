"""What the tests of the core say to a memory, and stand-ins for its embedder and analyzer."""

import itertools
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from memorai_core import Memory, Message
from memorai_core.models import EntityDraft, SegmentMemory, SessionMemory, TripletDraft
from memorai_core.testing import HashingEmbedder

DAY = datetime(2024, 5, 1, 9, 0, tzinfo=UTC)

WORDS = [
    "river",
    "violin",
    "Hanoi",
    "marathon",
    "bakery",
    "orchid",
    "ladder",
    "cousin",
    "passport",
    "telescope",
    "saffron",
    "harbour",
    "quilt",
    "glacier",
    "mango",
    "chess",
    "lantern",
    "pottery",
    "falcon",
    "cello",
    "tunnel",
    "beetroot",
    "compass",
    "meadow",
    "sailing",
]


def say(text, *, role="user", name="Alice", id=None, at=None):
    """One message; `at` is a number of hours after DAY."""
    return Message(role=role, text=text, name=name, id=id, timestamp=None if at is None else DAY + timedelta(hours=at))


def chat(*texts, start=0, ids=True):
    """Messages of two friends in turn, an hour apart, with ids m0, m1, ..."""
    return [
        say(text, name="Alice" if number % 2 == 0 else "Bob", id=f"m{number}" if ids else None, at=number)
        for number, text in enumerate(texts, start=start)
    ]


def sentence(number, length=6):
    """A sentence of its own for each number, of words that others have too."""
    words = [WORDS[(number * 7 + step * step * 3 + step) % len(WORDS)] for step in range(length)]
    return f"Today {' '.join(words)} number{number}."


def long_chat(count, start=0):
    return chat(*(sentence(number) for number in range(start, start + count)), start=start)


@contextmanager
def scratch(embedder=None, **options):
    """A memory of its own in a folder that goes with it: for properties, whose examples must not share a file."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "memory.db", embedder=embedder or HashingEmbedder(), **options) as memory,
    ):
        yield memory


class Counting(HashingEmbedder):
    """Counts every text that is embedded."""

    def __init__(self, dimension=64):
        super().__init__(dimension)
        self.texts = []

    def embed_documents(self, texts):
        self.texts += texts
        return [HashingEmbedder.embed_query(self, text) for text in texts]


class Table(HashingEmbedder):
    """Looks vectors up; a text that is not in the table has a direction of its own, like nothing else."""

    def __init__(self, table, dimension):
        super().__init__(dimension)
        self.table = table

    def embed_query(self, text):
        return list(self.table[text])


def everything(memory, user_id):
    """All that a user's memory holds, by ids, as plain sorted data: what two memories are compared by."""
    graph = memory.graph(user_id=user_id)
    nodes = [(node, _plain(data, in_order=data["kind"] == "segment")) for node, data in graph.nodes(data=True)]
    edges = [(start, end, key, _plain(data)) for start, end, key, data in graph.edges(keys=True, data=True)]
    return sorted(nodes), sorted(edges)


def _plain(data, in_order=False):
    return sorted((key, str(value if in_order or not isinstance(value, list) else sorted(value))) for key, value in data.items())


def found(memory, query, **options):
    """The texts that a query of user "u" finds."""
    return [turn.text for turn in memory.retrieve(query, user_id="u", **options).turns]


def turns_of(memory, user_id, session_id=None):
    """The data of all turn nodes, in the order of sessions and positions."""
    graph = memory.graph(user_id=user_id)
    turns = [{"turn_id": node, **data} for node, data in graph.nodes(data=True) if data["kind"] == "turn"]
    return [turn for turn in turns if session_id in (None, turn["session_id"])]


def segments_of(memory, user_id):
    graph = memory.graph(user_id=user_id)
    return [{"segment_id": node, **data} for node, data in graph.nodes(data=True) if data["kind"] == "segment"]


def triplets_of(memory, user_id):
    return [data for *_, data in memory.graph(user_id=user_id).edges(data=True) if data["kind"] == "relation"]


def assert_partition(memory, user_id):
    """Every session's indexed turns are held by its segments, each once, in order, and no segment is torn by another's turn."""
    held = {segment["segment_id"]: segment["turn_ids"] for segment in segments_of(memory, user_id)}
    indexed = [turn for turn in turns_of(memory, user_id) if turn["segment_id"] is not None]
    for session_id in {turn["session_id"] for turn in indexed}:
        turns = [turn for turn in turns_of(memory, user_id, session_id)]
        runs = [list(group) for key, group in itertools.groupby(turns, key=lambda turn: turn["segment_id"]) if key is not None]
        assert len(runs) == len({run[0]["segment_id"] for run in runs})
        for run in runs:
            assert held.pop(run[0]["segment_id"]) == [turn["turn_id"] for turn in run]
    assert not held


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


class Fickle:
    """Segments of three turns, of which those that speak of a quilt are dropped; what it says of a segment depends on all of its turns."""

    def analyze(self, session, turn_vectors):
        turns = session.turns
        return SessionMemory(tuple(self._segment(turns[start : start + 3]) for start in range(0, len(turns), 3)))
        yield []

    def _segment(self, turns):
        kept = [turn for turn in turns if turn.text.strip() and "quilt" not in turn.text]
        ids = tuple(turn.turn_id for turn in kept)
        name = f"topic {' '.join(turn.text[:3] for turn in turns)}"
        triplets = [TripletDraft(kept[0].speaker, "spoke_of", name, f"{kept[0].text} and so on", ids, origin="model")] if kept else []
        triplets += [TripletDraft(turn.speaker, "said", turn.text, f"{turn.speaker} said {turn.text}", (turn.turn_id,)) for turn in kept]
        entities = [EntityDraft(turn.text, f"What {turn.speaker} said of {turn.text}", ids) for turn in kept[:1]]
        entities += [EntityDraft("everything", f"All {len(turns)} of {name}", tuple(turn.turn_id for turn in turns))]
        return SegmentMemory(tuple(turn.turn_id for turn in turns), frozenset(ids), f"Of {name}", tuple(triplets), tuple(entities))


class Directions(HashingEmbedder):
    """Each word has a random direction, so that two different texts are hardly ever equally near to a third."""

    def __init__(self, dimension=24):
        super().__init__(dimension)

    def embed_query(self, text):
        words = text.casefold().split()
        total = sum((self._direction(word) for word in words), np.zeros(self.dimension))
        return [float(component) for component in total / (np.linalg.norm(total) or 1.0)]

    @lru_cache(maxsize=10_000)  # noqa: B019
    def _direction(self, word):
        return np.random.default_rng(list(word.encode())).normal(size=self.dimension)


class Hook(HashingEmbedder):
    """Does something else in the middle of embedding, once, at its call number `at`: what another process does meanwhile."""

    then = None
    at = 1

    def embed_documents(self, texts):
        self.at -= self.then is not None
        if self.then and self.at == 0:
            then, self.then = self.then, None
            then()
        return [HashingEmbedder.embed_query(self, text) for text in texts]


class Windowed(Directions):
    """Takes two words at once, so that a text of more has several windows; those of two texts are never quite the same."""

    def embed_windows(self, texts):
        return [np.array([self._window(window, text) for window in windows_of(text)], np.float32) for text in texts]

    def _window(self, window, text):
        return np.array(self.embed_query(window)) + 0.05 * self._direction(text)


def windows_of(text):
    words = text.split()
    return [" ".join(words[start : start + 2]) for start in range(0, max(len(words), 1), 2)]
