"""The names that users rely on: all of them, sorted, documented, and each coroutine as its plain twin."""

import inspect
from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest
from dialogue import chat, everything
from pydantic import ValidationError

import memorai_core
from memorai_core import (
    ConfigurationError,
    EmbedderMismatchError,
    FormatError,
    MemoraiError,
    Memory,
    Message,
    SchemaVersionError,
    Settings,
    StoreError,
    UnknownIdError,
    UnknownSessionError,
    UnknownTurnError,
    UnknownUserError,
)

TWINS = sorted(
    name
    for name, method in inspect.getmembers(Memory, inspect.iscoroutinefunction)
    if not name.startswith("_") and hasattr(Memory, name.removeprefix("a"))
)


def test_all_is_sorted_and_complete():
    public = [name for name, value in vars(memorai_core).items() if not name.startswith("_") and not inspect.ismodule(value)]
    assert memorai_core.__all__ == sorted(memorai_core.__all__)
    assert sorted(public) == memorai_core.__all__


@pytest.mark.parametrize("name", memorai_core.__all__)
def test_every_public_name_says_what_it_is(name):
    value = getattr(memorai_core, name)
    assert inspect.getdoc(value)
    assert value.__module__.startswith("memorai_core")


@pytest.mark.parametrize(
    "name", [name for name, value in vars(Memory).items() if not name.startswith("_") and callable(getattr(Memory, name))]
)
def test_every_public_method_says_what_it_does(name):
    assert inspect.getdoc(getattr(Memory, name))


def test_what_does_io_has_a_twin():
    assert {"aappend", "aindex", "aretrieve", "aforget", "aanswer"} <= set(TWINS)


@pytest.mark.parametrize("name", TWINS)
def test_a_coroutine_has_the_signature_of_its_twin(name):
    plain, twin = (inspect.signature(getattr(Memory, each)) for each in (name.removeprefix("a"), name))
    assert list(twin.parameters.values()) == list(plain.parameters.values())
    assert twin.return_annotation == plain.return_annotation


async def test_coroutines_do_what_their_twins_do(open_memory):
    plain, twin = open_memory("plain.db"), open_memory("twin.db")
    messages = chat("I play the violin", "Hanoi is warm", "I saw the river")
    turns = plain.append(messages, user_id="u", session_id="s")
    assert await twin.aappend(messages, user_id="u", session_id="s") == turns
    report, other = plain.index(user_id="u"), await twin.aindex(user_id="u")
    assert [getattr(report, name) for name in ("turns", "segments", "kept", "triplets", "entities", "embedded")] == [
        getattr(other, name) for name in ("turns", "segments", "kept", "triplets", "entities", "embedded")
    ]
    assert everything(twin, "u") == everything(plain, "u")
    found, again = plain.retrieve("violin", user_id="u", k=2), await twin.aretrieve("violin", user_id="u", k=2)
    assert (found.turns, found.triplets, found.segments) == (again.turns, again.triplets, again.segments)
    assert await twin.aforget(user_id="u", turn_id=turns[0].turn_id) == plain.forget(user_id="u", turn_id=turns[0].turn_id)
    assert everything(twin, "u") == everything(plain, "u")
    with pytest.raises(UnknownUserError):
        await twin.aretrieve("violin", user_id="nobody")
    with pytest.raises(ConfigurationError):
        await twin.aappend([], user_id="", session_id="s")


def test_errors_are_one_tree_and_what_python_calls_them():
    tree = {
        ConfigurationError: (MemoraiError, ValueError),
        FormatError: (MemoraiError, ValueError),
        UnknownUserError: (MemoraiError, LookupError),
        UnknownSessionError: (MemoraiError, LookupError),
        UnknownTurnError: (MemoraiError, LookupError),
        UnknownIdError: (MemoraiError, LookupError),
        StoreError: (MemoraiError,),
        SchemaVersionError: (StoreError,),
        EmbedderMismatchError: (StoreError,),
    }
    assert {error: error.__bases__ for error in tree} == tree
    assert MemoraiError.__bases__ == (Exception,)


@pytest.mark.parametrize("name", [name for name in memorai_core.__all__ if is_dataclass(getattr(memorai_core, name))])
def test_what_is_given_out_cannot_be_changed(name):
    kind = getattr(memorai_core, name)
    empty = object.__new__(kind)
    with pytest.raises(FrozenInstanceError):
        setattr(empty, fields(kind)[0].name, "changed")
    assert not hasattr(empty, "__dict__")


class TestMessage:
    @pytest.mark.parametrize("wrong", [{}, {"role": "user"}, {"text": "x"}, {"role": "user", "text": "x", "content": "y"}], ids=str)
    def test_a_role_and_a_text_are_needed_and_nothing_else(self, wrong):
        with pytest.raises(ValidationError):
            Message(**wrong)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"role": ""}, {"role": " "}, {"role": None}, {"role": "u" * 101}, {"role": b"user"}, {"text": None}, {"text": 5},
            {"text": b"x"}, {"id": ""}, {"id": 7}, {"id": "\0"}, {"id": "i" * 1001}, {"name": 3}, {"name": "n" * 1001},
            {"timestamp": 1714550400},
            {"timestamp": "yesterday"}, {"timestamp": True},
        ],
        ids=lambda wrong: str(wrong)[:40],
    )  # fmt: skip
    def test_what_is_wrong_is_refused(self, wrong):
        with pytest.raises(ValidationError):
            Message(**{"role": "user", "text": "x"} | wrong)

    def test_texts_are_brought_to_one_form(self):
        message = Message(role=" user\0 ", text="cafe\u0301\0 \ud800", name=" \ud83d ", id="e\u0301")
        assert (message.role, message.text, message.name, message.id) == ("user", "café \ufffd", "\ufffd", "é")

    @pytest.mark.parametrize("name", ["", "  ", None, "\0"])
    def test_a_blank_name_is_none(self, name):
        assert Message(role="user", text="x", name=name).name is None

    def test_a_message_cannot_be_changed(self):
        with pytest.raises(ValidationError):
            Message(role="user", text="x").text = "y"


class TestSettings:
    def test_the_papers_own_reading(self):
        paper = Settings.paper()
        assert (paper.sharpness, paper.weight_sharpness, paper.lexical, paper.adjacency, paper.dropped_weight) == (1, 1, 0, 0, 0)
        assert (paper.fanout, paper.turn_aspect, paper.sentence_layer) == (None, False, False)
        assert Settings.paper(damping=0.5, aspect_k=3) == paper.model_copy(update={"damping": 0.5, "aspect_k": 3})

    @pytest.mark.parametrize(
        "wrong",
        [
            {"aspect_k": 0}, {"fanout": 0}, {"sharpness": 0}, {"sharpness": -1}, {"damping": 1}, {"damping": -0.1}, {"lexical": -1},
            {"adjacency": -1}, {"dropped_weight": 1.1}, {"tolerance": 0}, {"weights": "other"}, {"segmentation": "x"}, {"unknown": 1},
            {"damping": float("nan")}, {"sharpness": float("inf")},
        ],
        ids=str,
    )  # fmt: skip
    def test_what_cannot_be_is_refused(self, wrong):
        with pytest.raises(ValidationError):
            Settings(**wrong)
        with pytest.raises(ValidationError):
            Settings.paper(**wrong)
