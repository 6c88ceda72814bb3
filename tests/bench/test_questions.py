import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.bench.datasets import open_dataset, parse_categories
from memorai_core.bench.questions import parse_evidence
from memorai_core.bench.units import lay_out
from memorai_core.errors import ConfigurationError, FormatError

from .generated import locomo_sample, longmemeval_instance, write_locomo, write_longmemeval

KNOWN = frozenset({"D8:6", "D9:17", "D11:26", "D30:5", "D1:1", "D1:11"})


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["D8:6; D9:17"], ("D8:6", "D9:17")),
        (["D:11:26"], ("D11:26",)),
        (["D30:05"], ("D30:5",)),
        (["D08:06"], ("D8:6",)),
        (["D"], ()),
        ([""], ()),
        ([], ()),
        (["D1:1", "D1:1"], ("D1:1",)),
        (["D1:11"], ("D1:11",)),
        (["D99:1", "D1:1"], ("D1:1",)),
        (["D1:1 D8:6,D30:05"], ("D1:1", "D8:6", "D30:5")),
    ],
)
def test_evidence_is_read_from_malformed_strings(texts, found):
    assert parse_evidence(texts, KNOWN) == found


@given(st.lists(st.text(alphabet="D:0123456789;, ")))
def test_evidence_names_known_messages_once(texts):
    found = parse_evidence(texts, KNOWN)
    assert set(found) <= KNOWN
    assert len(found) == len(set(found))


def test_locomo_questions(tmp_path):
    (case,) = open_dataset("locomo", write_locomo(tmp_path)).cases()
    by_category = {question.category: question for question in case.questions}
    assert [question.question_id for question in case.questions] == [f"conv-1/{n}" for n in range(5)]
    assert by_category["1"].evidence == ("D1:2", "D2:1")
    assert by_category["2"].evidence == ("D2:2",)
    assert by_category["2"].answer == "8"
    assert by_category["3"].evidence == ()
    assert by_category["5"].evidence == ("D2:3",)
    assert (by_category["5"].abstain, by_category["5"].answer, by_category["5"].trap) == (True, None, "Lisbon")
    assert not by_category["4"].abstain


def test_longmemeval_questions(tmp_path):
    file = write_longmemeval(tmp_path, longmemeval_instance(), longmemeval_instance("q2_abs"), longmemeval_instance("q3", answer=3))
    plain, unanswerable, number = open_dataset("longmemeval", file).cases()
    (question,) = plain.questions
    assert question.evidence == ("s1:0", "s1#2:1")
    assert question.asked_at is not None
    assert question.asked_at.isoformat() == "2023-05-30T23:40:00"
    assert unanswerable.questions[0].abstain
    assert unanswerable.questions[0].evidence == ()
    assert number.questions[0].answer == "3"


def test_the_oracle_layout_holds_fewer_sessions(tmp_path):
    whole = longmemeval_instance()
    oracle = longmemeval_instance(**{key: whole[key][:1] for key in ("haystack_dates", "haystack_session_ids", "haystack_sessions")})
    (case,) = open_dataset("longmemeval", write_longmemeval(tmp_path, oracle)).cases()
    assert case.questions[0].evidence == ("s1:0",)


def test_limit_and_digest(tmp_path):
    file = write_locomo(tmp_path, locomo_sample("a"), locomo_sample("b"))
    dataset = open_dataset("locomo", file)
    assert [case.conversation.user_id for case in dataset.cases(limit=1)] == ["a"]
    assert len(dataset.sha256) == 64
    file.write_text(json.dumps([locomo_sample("c")]))
    assert open_dataset("locomo", file).sha256 != dataset.sha256


def test_the_wrong_data_set_is_named(tmp_path):
    with pytest.raises(FormatError, match="--dataset"):
        list(open_dataset("longmemeval", write_locomo(tmp_path)).cases())
    with pytest.raises(FormatError, match="no such file"):
        open_dataset("locomo", tmp_path / "none.json")


@pytest.mark.parametrize(("chosen", "meant"), [("1-4", "1234"), ("1-5", "12345"), ("5", "5"), ("1,3", "13"), ("1-2, 4", "124")])
def test_locomo_categories(chosen, meant):
    assert parse_categories("locomo", chosen) == frozenset(meant)


@pytest.mark.parametrize("chosen", ["", "0", "6", "1-9", "a", "1-", "4-1", "2-x"])
def test_categories_that_do_not_exist(chosen):
    with pytest.raises(ConfigurationError, match="1 to 5"):
        parse_categories("locomo", chosen)


def test_categories_of_longmemeval_and_all():
    assert parse_categories("longmemeval", "multi-session, temporal-reasoning") == {"multi-session", "temporal-reasoning"}
    assert parse_categories("locomo", None) is None


def test_pairs_are_merged_by_position_within_a_session(tmp_path):
    (case,) = open_dataset("locomo", write_locomo(tmp_path)).cases()
    layout = lay_out(case.conversation)
    assert layout.members("pair") == [[0, 1], [2], [3, 4], [5, 6]]
    assert layout.members("session") == [[0, 1, 2], [3, 4, 5, 6]]
    assert layout.gold(("D1:2", "D1:1", "D2:2"), "pair") == {0, 2}
    assert layout.gold(("D1:2", "D2:2"), "utterance") == {1, 4}
    assert layout.coarsen([4, 3, 0, 6, 1], "pair") == [2, 0, 3]
    assert layout.coarsen([4, 3, 0, 6, 1], "session") == [1, 0]
    assert layout.coarsen([], "session") == []


@pytest.mark.slow
def test_the_real_files_lose_no_label():
    folder = Path(os.environ.get("MEMORAI_DATA", "missing"))
    if not folder.is_dir():
        pytest.skip("MEMORAI_DATA names no folder")
    locomo = [question for case in open_dataset("locomo", folder / "locomo/locomo_dev5.json").cases() for question in case.questions]
    assert len(locomo) == 999
    assert sum(not question.evidence for question in locomo) == 2
    for case in open_dataset("longmemeval", folder / "longmemeval/longmemeval_s_dev60.jsonl.gz").cases():
        (question,) = case.questions
        record = case.record.value
        assert isinstance(record, dict)
        marked = sum(bool(turn.get("has_answer")) for session in record["haystack_sessions"] for turn in session)
        assert len(question.evidence) == (0 if question.abstain else marked)
        assert question.evidence or question.abstain
