"""BM25 against the formula, term by term, and against another implementation; and postings that grow."""

import math
from collections import Counter

import bm25s
import numpy as np
from dialogue import WORDS
from hypothesis import given, settings
from hypothesis import strategies as st

from memorai_core.retrieval import lexical
from memorai_core.retrieval.lexical import K1, B, bm25, of_turns, with_turns
from memorai_core.terms import COUNT, HASH, term_counts, term_hashes, terms

TEXTS = st.lists(st.lists(st.sampled_from([*WORDS[:8], "the"]), max_size=12).map(" ".join), max_size=12)
QUERY = st.lists(st.sampled_from([*WORDS[:9], "the", "never-said"]), max_size=5).map(" ".join)


def columns(texts):
    counted = [term_counts(text) for text in texts]
    hashes = np.frombuffer(b"".join(pair[0] for pair in counted), HASH)
    counts = np.frombuffer(b"".join(pair[1] for pair in counted), COUNT)
    return hashes, counts, np.cumsum([len(pair[0]) // HASH.itemsize for pair in counted], dtype=np.int64)


def by_the_formula(texts, query):
    bags = [Counter(terms(text)) for text in texts]
    average = sum(bag.total() for bag in bags) / len(bags) if bags else 0
    scores = []
    for bag in bags:
        score = 0.0
        for term in set(terms(query)):
            containing = sum(term in other for other in bags)
            idf = math.log(1 + (len(bags) - containing + 0.5) / (containing + 0.5))
            if bag[term]:
                score += idf * bag[term] * (K1 + 1) / (bag[term] + K1 * (1 - B + B * bag.total() / average))
        scores.append(score)
    return scores


@given(TEXTS, QUERY)
def test_scores_match_the_formula(texts, query):
    scores = bm25(of_turns(*columns(texts)), term_hashes(query))
    np.testing.assert_allclose(scores, by_the_formula(texts, query), atol=1e-12)


@given(TEXTS.filter(lambda texts: sum(map(len, texts)) > 0), QUERY)
def test_scores_match_another_implementation(texts, query):
    wanted = sorted({term for term in terms(query)} & {term for text in texts for term in terms(text)})
    if not wanted:
        return
    other = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64")
    other.index([terms(text) for text in texts], show_progress=False)
    # Lucene leaves out the factor k1 + 1, which is the same for every turn.
    np.testing.assert_allclose(
        bm25(of_turns(*columns(texts)), term_hashes(query)), other.get_scores(wanted) * (K1 + 1), rtol=1e-6, atol=1e-9
    )


@given(st.lists(TEXTS, min_size=1, max_size=5), QUERY, st.integers(0, 40))
@settings(max_examples=60)
def test_postings_that_grew_score_as_those_made_at_once(batches, query, merge):
    whole = of_turns(*columns([text for batch in batches for text in batch]))
    before, lexical.MERGE = lexical.MERGE, merge
    try:
        grown = of_turns(*columns(batches[0]))
        for batch in batches[1:]:
            grown = with_turns(grown, *columns(batch))
            assert len(grown.recent_term) <= merge
    finally:
        lexical.MERGE = before
    np.testing.assert_array_equal(grown.length, whole.length)
    np.testing.assert_allclose(bm25(grown, term_hashes(query)), bm25(whole, term_hashes(query)), rtol=1e-12, atol=0)


def test_the_merge_threshold_is_crossed_and_older_postings_are_left_as_they_were():
    texts = [f"{WORDS[number % 7]} word{number} word{number + 1}" for number in range(4000)]
    grown, older, merged = of_turns(*columns(texts[:10])), [], 0
    for start in range(10, len(texts), 399):
        older.append((grown, len(grown.vocabulary), len(grown.recent_term), len(grown.length)))
        grown = with_turns(grown, *columns(texts[start : start + 399]))
        merged += len(grown.recent_term) == 0
    assert merged >= 1
    for old, vocabulary, recent, turns in older:
        assert (len(old.vocabulary), len(old.recent_term), len(old.length)) == (vocabulary, recent, turns)
    whole = of_turns(*columns(texts))
    for query in ("river word3999", "word0 word1 violin", "nothing"):
        np.testing.assert_allclose(bm25(grown, term_hashes(query)), bm25(whole, term_hashes(query)), rtol=1e-12, atol=0)


def test_a_term_said_more_often_than_two_bytes_count_is_not_lost():
    scores = bm25(of_turns(*columns(["river " * 70_000, "violin"])), term_hashes("river"))
    assert scores[0] > 0
    assert scores[1] == 0


def test_nothing_scores_where_there_are_no_turns_or_no_words():
    assert bm25(of_turns(*columns([])), term_hashes("river")).tolist() == []
    assert bm25(of_turns(*columns(["", ""])), term_hashes("river")).tolist() == [0, 0]
    assert bm25(of_turns(*columns(["river"])), term_hashes("")).tolist() == [0]


def test_saying_a_word_twice_in_a_query_is_saying_it_once():
    postings = of_turns(*columns(["river bank", "river", "violin"]))
    np.testing.assert_array_equal(bm25(postings, term_hashes("river river")), bm25(postings, term_hashes("river")))
