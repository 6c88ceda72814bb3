"""Input that no one should give, and someone will: each has a clear error or a defined meaning, and changes nothing it should not."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from dialogue import everything, say
from pydantic import ValidationError

from memorai_core import (
    ConfigurationError,
    EmbedderMismatchError,
    Memory,
    Message,
    StoreError,
    UnknownIdError,
    UnknownSessionError,
    UnknownTurnError,
    UnknownUserError,
)


@pytest.fixture
def memory(memory):
    memory.append([say("I moved to Hanoi last year", id="m0", at=0)], user_id="u", session_id="s")
    memory.index(user_id="u")
    return memory


def unchanged(memory, call, error):
    """Makes the call, which must raise, and looks whether anything else came of it."""
    before = (memory.users(), everything(memory, "u"))
    with pytest.raises(error) as raised:
        call()
    assert (memory.users(), everything(memory, "u")) == before
    return str(raised.value)


NO_IDS = ["", "  \t\n", None, 5, ["u"], "a\0b", "\ud800"]


@pytest.mark.parametrize("bad", NO_IDS, ids=repr)
def test_user_ids_must_be_text_that_is_not_blank(memory, bad):
    calls = [
        lambda: memory.append([say("x")], user_id=bad, session_id="s"),
        lambda: memory.index(user_id=bad),
        lambda: memory.index(user_id=bad, rebuild=True),
        lambda: memory.retrieve("x", user_id=bad),
        lambda: memory.graph(user_id=bad),
        lambda: memory.forget(user_id=bad, everything=True),
    ]
    if bad is not None:
        calls += [lambda: memory.stats(bad), lambda: memory.show("ab", user_id=bad)]
    for call in calls:
        assert repr(bad) in unchanged(memory, call, ConfigurationError)


@pytest.mark.parametrize("bad", NO_IDS, ids=repr)
def test_session_ids_must_be_text_that_is_not_blank(memory, bad):
    calls = [lambda: memory.append([say("x")], user_id="u", session_id=bad)]
    if bad is not None:
        calls += [lambda: memory.retrieve("x", user_id="u", session_id=bad), lambda: memory.forget(user_id="u", session_id=bad)]
    for call in calls:
        assert repr(bad) in unchanged(memory, call, ConfigurationError)


def test_who_is_not_there_is_named(memory):
    for call in (
        lambda: memory.retrieve("x", user_id="nobody"),
        lambda: memory.index(user_id="nobody"),
        lambda: memory.index(user_id="nobody", rebuild=True),
        lambda: memory.graph(user_id="nobody"),
        lambda: memory.stats("nobody"),
        lambda: memory.forget(user_id="nobody", everything=True),
        lambda: memory.forget(user_id="nobody", turn_id="ab"),
        lambda: memory.forget(user_id="nobody", session_id="s"),
    ):
        assert "'nobody'" in unchanged(memory, call, UnknownUserError)


def test_unknown_sessions_and_turns_are_named(memory):
    for call in (lambda: memory.retrieve("x", user_id="u", session_id="other"), lambda: memory.forget(user_id="u", session_id="other")):
        assert "'other'" in unchanged(memory, call, UnknownSessionError)
    (turn,) = memory.retrieve("Hanoi", user_id="u").turns
    for wrong in ("ab" * 16, turn.turn_id[:12], turn.turn_id + "00", "no id"):
        assert repr(wrong) in unchanged(memory, lambda wrong=wrong: memory.forget(user_id="u", turn_id=wrong), UnknownTurnError)


@pytest.mark.parametrize("bad", ["", "zz", "ab" * 16, "ab" * 32, "ab" * 48, "ab cd", None, 5], ids=repr)
def test_only_turns_of_the_evidence_are_explained(memory, bad):
    evidence = memory.retrieve("Hanoi", user_id="u")
    assert repr(bad) in unchanged(memory, lambda: memory.explain(evidence, bad), UnknownTurnError)


@pytest.mark.parametrize("bad", ["", " ", "zz", "../x", "ab%", "ab_", "\ud800", "' OR 1=1", None], ids=repr)
def test_only_ids_are_shown(memory, bad):
    unchanged(memory, lambda: memory.show(bad), UnknownIdError)


@pytest.mark.parametrize(
    "choice", [{}, {"turn_id": "ab", "session_id": "s"}, {"session_id": "s", "everything": True}, {"everything": False}]
)
def test_forget_takes_one_of_three(memory, choice):
    assert "exactly one" in unchanged(memory, lambda: memory.forget(user_id="u", **choice), ConfigurationError)


@pytest.mark.parametrize("k", [0, -1, 2.0, "3", None, float("nan")], ids=repr)
def test_k_counts_from_one(memory, k):
    assert "k must be" in unchanged(memory, lambda: memory.retrieve("Hanoi", user_id="u", k=k), ConfigurationError)


@pytest.mark.parametrize("query", [None, b"Hanoi", 5, ["Hanoi"]], ids=repr)
def test_a_query_is_text(memory, query):
    assert "query must be" in unchanged(memory, lambda: memory.retrieve(query, user_id="u"), ConfigurationError)


@pytest.mark.parametrize("as_of", ["2024-05-01", date(2024, 5, 1), 1714550400], ids=repr)
def test_as_of_is_a_moment(memory, as_of):
    assert "as_of must be" in unchanged(memory, lambda: memory.retrieve("Hanoi", user_id="u", as_of=as_of), ConfigurationError)


@pytest.mark.parametrize(
    "vector",
    ["abc", 5, [[1.0] * 64], [float("nan")] * 64, [float("inf")] * 64, [None] * 64, [1, [2]], [1j] * 64, np.ones((1, 64))],
    ids=lambda vector: repr(vector)[:12],
)
def test_a_query_vector_is_one_row_of_numbers(memory, vector):
    assert "query_vector" in unchanged(memory, lambda: memory.retrieve("x", user_id="u", query_vector=vector), ConfigurationError)


@pytest.mark.parametrize("size", [0, 1, 63, 65, 384])
def test_a_query_vector_has_the_dimension_of_the_memory(memory, size):
    message = unchanged(memory, lambda: memory.retrieve("x", user_id="u", query_vector=[1.0] * size), EmbedderMismatchError)
    assert str(size) in message
    assert "64" in message


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300])
def test_a_query_vector_may_have_any_length(memory, scale):
    unit = np.array(memory._vectors._embedder.embed_query("Alice: I moved to Hanoi last year"))
    found = memory.retrieve("", user_id="u", query_vector=unit * scale)
    expected = memory.retrieve("", user_id="u", query_vector=unit)
    assert len(found.turns) == 1
    assert found.turns[0].score == pytest.approx(expected.turns[0].score, rel=1e-6)


def test_a_query_vector_of_zeros_is_like_nothing(memory):
    assert memory.retrieve("", user_id="u", query_vector=[0] * 64).turns == ()


def test_append_takes_messages(memory):
    for bad in ([{"role": "user", "text": "x"}], ["x"], "xy", [None], say("x"), [say("x"), None]):
        assert "Message" in unchanged(memory, lambda bad=bad: memory.append(bad, user_id="new", session_id="s"), ConfigurationError)


def test_appending_nothing_makes_neither_user_nor_session(memory):
    assert memory.append([], user_id="new", session_id="s") == []
    assert memory.append(iter(()), user_id="u", session_id="new") == []
    assert memory.users() == ["u"]
    assert memory.stats("u")[0].sessions == 1


def test_messages_that_fail_halfway_leave_nothing(memory):
    def broken():
        yield say("first")
        raise RuntimeError("the source broke")

    unchanged(memory, lambda: memory.append(broken(), user_id="u", session_id="s"), RuntimeError)


@pytest.mark.parametrize(
    "moment",
    [datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))],
    ids=repr,
)
def test_a_moment_that_utc_cannot_hold_is_refused(moment):
    with pytest.raises(ValidationError, match="UTC"):
        Message(role="user", text="x", timestamp=moment)


@pytest.mark.parametrize(
    "moment",
    [datetime.min, datetime.max, datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1066, 10, 14), datetime(9999, 12, 31, 23, 59)],
    ids=str,
)
def test_dates_of_any_year_are_kept_to_the_microsecond(memory, moment):
    (naive, aware) = memory.append(
        [
            Message(role="user", text="old Hanoi", timestamp=moment),
            Message(role="user", text="old Hanoi", timestamp=moment.replace(tzinfo=UTC)),
        ],
        user_id="u",
        session_id="old",
    )
    assert naive.timestamp == aware.timestamp == moment.replace(tzinfo=UTC)
    assert (naive.timestamp_inferred, aware.timestamp_inferred) == (True, False)
    memory.index(user_id="u")
    stored = [turn for turn in memory.retrieve("old Hanoi", user_id="u", session_id="old").turns]
    assert {turn.timestamp for turn in stored} == {moment.replace(tzinfo=UTC)}
    memory.retrieve("old Hanoi", user_id="u", as_of=moment)


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "missing/memory.db", "a\ud800"], ids=lambda path: repr(path)[:12])
def test_paths_that_lead_nowhere_are_refused(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="path"):
        Memory.open(path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_database(tmp_path):
    with pytest.raises(StoreError, match="is a folder"):
        Memory.open(tmp_path)
