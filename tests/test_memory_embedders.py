"""One memory, one embedder: what happens when another comes along, before, between and meanwhile."""

import numpy as np
import pytest
from dialogue import Counting, Hook, assert_partition, chat, everything, say, scratch, turns_of

from memorai_core import ConfigurationError, EmbedderMismatchError
from memorai_core.storage.derived import STORED
from memorai_core.testing import HashingEmbedder


class Turned(HashingEmbedder):
    """Of the same dimension as HashingEmbedder, with other vectors."""

    def embed_query(self, text):
        vector = super().embed_query(text)
        return vector[7:] + vector[:7]


@pytest.fixture(params=[lambda: HashingEmbedder(48), Turned], ids=["of another dimension", "of the same dimension"])
def other_embedder(request):
    return request.param()


@pytest.fixture
def mine(open_memory):
    memory = open_memory()
    memory.append(chat("river violin", "Hanoi"), user_id="u", session_id="s")
    memory.index(user_id="u")
    return memory


def test_another_embedders_memory_is_refused_and_left_as_it_is(mine, open_memory, other_embedder):
    before = everything(mine, "u")
    other = open_memory(embedder=other_embedder)
    (pending,) = other.append(chat("saffron", start=2), user_id="u", session_id="s")
    stored = everything(mine, "u")
    for call in (lambda: other.retrieve("river", user_id="u"), lambda: other.index(user_id="u")):
        with pytest.raises(EmbedderMismatchError, match="rebuild=True"):
            call()
        assert everything(mine, "u") == stored
    other.forget(user_id="u", turn_id=pending.turn_id)  # which needs no embedder
    assert everything(mine, "u") == before


def test_what_needs_no_vector_goes_on_with_another_embedder(mine, open_memory, other_embedder):
    other = open_memory(embedder=other_embedder)
    assert other.stats("u") == mine.stats("u")
    assert everything(other, "u") == everything(mine, "u")
    assert other.retrieve("  ", user_id="u").turns == ()
    other.append(chat("river"), user_id="another", session_id="s")
    other.index(user_id="another")
    assert len(other.retrieve("river", user_id="another").turns) == 1
    other.forget(user_id="u", everything=True)
    assert mine.users() == ["another"]


def test_rebuilding_changes_the_embedder_for_all_who_have_the_memory_open(mine, open_memory, other_embedder):
    mine.retrieve("river", user_id="u")
    other = open_memory(embedder=other_embedder)
    other.index(user_id="u", rebuild=True)
    assert len(other.retrieve("river", user_id="u").turns) == 2
    mine.append(chat("saffron", start=2), user_id="u", session_id="s")
    after = everything(mine, "u")
    for call in (lambda: mine.retrieve("river", user_id="u"), lambda: mine.index(user_id="u")):
        with pytest.raises(EmbedderMismatchError):
            call()
    assert everything(mine, "u") == after
    assert other.index(user_id="u").turns == 1


def test_an_embedder_that_comes_first_while_another_is_at_work_is_the_one(open_memory, other_embedder):
    slow = Hook()
    memory, other = open_memory(embedder=slow), open_memory(embedder=other_embedder)
    memory.append(chat("river violin"), user_id="u", session_id="s1")
    memory.append(chat("Hanoi"), user_id="u", session_id="s2")
    slow.then = lambda: other.index(user_id="u")
    with pytest.raises(EmbedderMismatchError):
        memory.index(user_id="u")
    assert memory.stats("u")[0].pending == 0
    assert len(other.retrieve("river", user_id="u").turns) == 1


@pytest.mark.parametrize("at", [1, 2], ids=["while turns are embedded", "while what is derived is embedded"])
@pytest.mark.parametrize("rebuilt", [True, False], ids=["rebuilt", "emptied and filled"])
def test_a_memory_built_anew_by_another_embedder_meanwhile_takes_no_vectors_of_the_first(open_memory, other_embedder, rebuilt, at):
    slow = Hook()
    memory, other = open_memory(embedder=slow), open_memory(embedder=other_embedder)
    memory.append(chat("river violin", "Hanoi"), user_id="u", session_id="s1")
    memory.index(user_id="u")
    memory.append(chat("I saw a saffron field. Then we had some tea."), user_id="u", session_id="s2")

    def meanwhile():
        if not rebuilt:
            other.forget(user_id="u", everything=True)
            other.append(chat("river"), user_id="u", session_id="s1")
        other.index(user_id="u", rebuild=rebuilt)

    slow.at, slow.then = at, meanwhile
    with pytest.raises(EmbedderMismatchError):
        memory.index(user_id="u")
    assert slow.then is None
    assert other.stats("u")[0].pending == 0
    assert len(other.retrieve("river", user_id="u").turns) >= 1


@pytest.mark.parametrize("at", [1, 2], ids=["while turns are embedded", "while what is derived is embedded"])
def test_a_text_forgotten_while_its_double_is_indexed_is_embedded_again(open_memory, at):
    """The second session's turn has the first one's texts, whose vectors are stored when indexing starts and gone when it saves."""
    embedder = Hook()
    memory = open_memory(embedder=embedder)
    said = say("I saw the same river. Then we had some tea.")
    (turn,) = memory.append([said], user_id="u", session_id="s1")
    memory.index(user_id="u")
    memory.append([said, say("I play an old violin. It is out of tune.")], user_id="u", session_id="s2")
    embedder.at, embedder.then = at, lambda: memory.forget(user_id="u", turn_id=turn.turn_id)
    report = memory.index(user_id="u")
    assert (embedder.then, report.turns) == (None, 2)
    assert {found.session_id for found in memory.retrieve("river", user_id="u").turns} == {"s2"}
    with scratch() as fresh:
        fresh.append([said, say("I play an old violin. It is out of tune.")], user_id="u", session_id="s2")
        fresh.index(user_id="u")
        assert everything(memory, "u") == everything(fresh, "u")
        assert memory.stats("u")[0].vectors == fresh.stats("u")[0].vectors


CHANGES = {
    "forgotten": lambda memory, turn: memory.forget(user_id="u", turn_id=turn.turn_id),
    "edited": lambda memory, turn: memory.append([say("glacier", id="m1", name="Bob")], user_id="u", session_id="s"),
    "built anew": lambda memory, turn: memory.index(user_id="u", rebuild=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_while_it_is_indexed_is_indexed_as_it_then_is(open_memory, change):
    embedder = Hook()
    memory = open_memory(embedder=embedder)
    turns = memory.append(chat("river", "secret violin", "Hanoi"), user_id="u", session_id="s")
    embedder.then = lambda: CHANGES[change](memory, turns[1])
    memory.index(user_id="u")
    said = {"forgotten": ["river", "Hanoi"], "edited": ["river", "glacier", "Hanoi"], "built anew": ["river", "secret violin", "Hanoi"]}
    assert [turn["text"] for turn in turns_of(memory, "u")] == said[change]
    assert_partition(memory, "u")
    assert memory.stats("u")[0].pending == 0
    assert ("secret" in str(everything(memory, "u"))) == (change == "built anew")


def test_a_user_who_leaves_while_being_indexed_is_gone(open_memory):
    embedder = Hook()
    memory = open_memory(embedder=embedder)
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    embedder.then = lambda: memory.forget(user_id="u", everything=True)
    memory.index(user_id="u")
    assert memory.users() == []


class Odd(Counting):
    """Its `reply` stands for the vectors of documents, from the given call on."""

    def __init__(self, reply, calls=0):
        super().__init__()
        self.reply, self.calls = reply, calls

    def embed_documents(self, texts):
        self.calls -= 1
        return super().embed_documents(texts) if self.calls >= 0 else self.reply(texts)


@pytest.mark.parametrize("calls", [0, 1], ids=["at first", "later"])
@pytest.mark.parametrize(
    "reply",
    [
        lambda texts: [[1.0] * 63 for _ in texts],
        lambda texts: [],
        lambda texts: [[1.0] * 64 for _ in [*texts, ""]],
        lambda texts: [[float("nan")] * 64 for _ in texts],
        lambda texts: [[1.0] * (60 + number) for number, _ in enumerate([*texts, ""][: len(texts)])],
        lambda texts: [[] for _ in texts],
        lambda texts: [["x"] * 64 for _ in texts],
    ],
    ids=["another dimension", "none", "one too many", "not finite", "of several dimensions", "empty", "no numbers"],
)
def test_an_embedder_that_goes_wrong_is_named_and_nothing_is_stored(open_memory, reply, calls):
    memory = open_memory(embedder=Odd(reply, calls))
    memory.append(chat("I saw the river. Then we heard a violin play."), user_id="u", session_id="s")
    before = everything(memory, "u")
    with pytest.raises(ConfigurationError, match="Odd"):
        memory.index(user_id="u")
    assert everything(memory, "u") == before
    assert memory.stats("u")[0].pending == 1


def test_vectors_of_zeros_are_like_nothing(open_memory):
    memory = open_memory(embedder=Odd(lambda texts: [[0.0] * 64 for _ in texts]))
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    memory.index(user_id="u")
    found = memory.retrieve("river", user_id="u")
    assert found.turns[0].text == "river"


def test_an_embedder_of_nothing_but_zeros_is_known_again(open_memory):
    """As stand-ins in tests are: words still find what they find."""

    class Zeros(HashingEmbedder):
        def embed_query(self, text):
            return [0.0] * self.dimension

    open_memory(embedder=Zeros()).append(chat("river", "violin"), user_id="u", session_id="s")
    open_memory(embedder=Zeros()).index(user_id="u")
    assert open_memory(embedder=Zeros()).retrieve("river", user_id="u").turns[0].text == "river"
    with pytest.raises(EmbedderMismatchError):
        open_memory().retrieve("river", user_id="u")


def test_halving_the_precision_moves_a_cosine_by_less_than_a_thousandth():
    rng = np.random.default_rng(3)
    for dimension in (8, 64, 384, 1536):
        one, other = rng.normal(size=(2, 200, dimension))
        one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))
        exact = np.vecdot(one, other)
        assert np.abs(np.vecdot(one.astype(STORED).astype(np.float32), other) - exact).max() < 0.0005
