import os
import re
from pathlib import Path

import numpy as np
import pytest
from bm25s.stopwords import STOPWORDS_EN

from memorai_core.bench.baselines.flat import Both, Closeness, Flat, FullHistory, Words, standardise
from memorai_core.bench.baselines.vectors import embed_rows
from memorai_core.bench.datasets import open_dataset
from memorai_core.bench.metrics import hits, scores
from memorai_core.bench.systems import Query, turn_text
from memorai_core.bench.units import UNITS, lay_out

from .fakes import one_case, textbook_bm25


def tokens(text):
    return [word for word in re.findall(r"\b\w\w+\b", text.lower()) if word not in STOPWORDS_EN]


def asked(text, embedder):
    return Query(text, embedder.query(text)[0])


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("question", ["Where is the sourdough ribbon?", "Pixel piano piano Ana", "nothing shared"])
def test_bm25_agrees_with_the_textbook(tmp_path, unit, question):
    _, layout, embedder = one_case(tmp_path)
    words = Words()
    words.index(layout, UNITS)
    texts = [turn_text(message) for message in layout.messages]
    documents = [tokens(" ".join(texts[place] for place in group)) for group in layout.members(unit)]
    np.testing.assert_allclose(
        words.score(asked(question, embedder), unit), textbook_bm25(documents, tokens(question)), rtol=1e-5, atol=1e-6
    )


def test_stems_join_what_words_keep_apart(tmp_path):
    _, layout, embedder = one_case(tmp_path)
    question = asked("baking", embedder)
    plain, stemmed = Words(), Words(stemmed=True)
    plain.index(layout, UNITS)
    stemmed.index(layout, UNITS)
    assert not plain.score(question, "utterance").any()
    assert np.argmax(stemmed.score(question, "utterance")) == 1


def test_words_of_a_conversation_without_any(tmp_path):
    _, layout, embedder = one_case(tmp_path)
    empty = type(layout)(
        tuple(message.model_copy(update={"text": "  "}) for message in layout.messages), layout.positions, layout.sessions, layout.of
    )
    words = Words()
    words.index(empty, UNITS)
    assert words.score(asked("Pixel", embedder), "session").tolist() == [0.0, 0.0]


def test_closeness_of_a_session_is_that_of_its_closest_message(tmp_path):
    _, layout, embedder = one_case(tmp_path)
    closeness = Closeness(embedder)
    closeness.index(layout, UNITS)
    question = asked("Pixel sleeps on my piano", embedder)
    utterances = closeness.score(question, "utterance")
    assert np.argmax(utterances) == 2
    np.testing.assert_allclose(closeness.score(question, "session"), [utterances[:3].max(), utterances[3:].max()])
    whole = Closeness(embedder, whole=True)
    whole.index(layout, ("session",))
    assert whole.score(question, "session")[0] < utterances[2]


def test_rows_of_empty_texts_are_zeros_and_cost_nothing(tmp_path):
    _, _, embedder = one_case(tmp_path)
    before = embedder.spent.texts
    rows = embed_rows(embedder, ["", "Pixel the cat", " \n"])
    assert embedder.spent.texts == before + 1
    assert np.linalg.norm(rows.vectors, axis=1).round(5).tolist() == [0.0, 1.0, 0.0]
    assert embed_rows(embedder, []).closeness(np.ones(3, dtype=np.float32)).shape == (0,)


def test_both_is_the_sum_of_z_scores(tmp_path):
    _, layout, embedder = one_case(tmp_path)
    question = asked("sourdough ribbon", embedder)
    words, closeness = Words(), Closeness(embedder)
    both = Both(words, closeness)
    both.index(layout, UNITS)
    one, other = words.score(question, "pair"), closeness.score(question, "pair")
    expected = (one - one.mean()) / one.std() + (other - other.mean()) / other.std()
    np.testing.assert_allclose(both.score(question, "pair"), expected)
    assert standardise(np.ones(3)).tolist() == [0.0, 0.0, 0.0]


def test_each_unit_is_ranked_by_its_own_texts_unless_told_otherwise(tmp_path):
    case, layout, embedder = one_case(tmp_path)
    question = asked("sourdough ribbon Pixel", embedder)
    own, over = Flat("bm25", Words()), Flat("bm25@session", Words(), "session")
    assert own.index(case, layout).sessions == 2
    over.index(case, layout)
    assert own.rank(question, "session", 10) == over.rank(question, "session", 10)
    first = over.rank(question, "session", 10)[0]
    members = layout.members("session")
    assert over.rank(question, "utterance", 10) == members[first] + members[1 - first]
    assert sorted(own.rank(question, "pair", 10)) == [0, 1, 2, 3]


def test_full_history_is_in_order(tmp_path):
    case, layout, embedder = one_case(tmp_path)
    system = FullHistory()
    system.index(case, layout)
    assert system.rank(asked("anything", embedder), "utterance", 3) == list(range(7))


@pytest.mark.slow
def test_bm25_over_sessions_on_the_real_file_agrees_with_an_independent_implementation(tmp_path):
    folder = Path(os.environ.get("MEMORAI_DATA", "missing"))
    if not folder.is_dir():
        pytest.skip("MEMORAI_DATA names no folder")
    rows, counts, checked = [], [], []
    vector = np.zeros(1, dtype=np.float32)
    for case in open_dataset("locomo", folder / "locomo/locomo_dev5.json").cases():
        layout = lay_out(case.conversation)
        system = Flat("bm25", Words())
        system.index(case, layout)
        texts = [turn_text(message) for message in layout.messages]
        documents = [tokens(" ".join(texts[place] for place in group)) for group in layout.members("session")]
        for question in case.questions:
            if question.evidence:
                gold = layout.gold(question.evidence, "session")
                counts.append(len(gold))
                rows.append(hits(system.rank(Query(question.text, vector), "session", 10), gold))
                independent = np.array(textbook_bm25(documents, tokens(question.text)))
                checked.append(hits(np.argsort(-independent, kind="stable").tolist(), gold))
    ours, theirs = (scores(np.stack(found), np.array(counts)).mean(axis=0) for found in (rows, checked))
    np.testing.assert_allclose(ours, theirs, atol=0.3)
    np.testing.assert_allclose(ours[0], [78.1, 84.3, 91.8], atol=0.1)
