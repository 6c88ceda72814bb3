"""Words as BM25 counts them: in any script, one form for what is one word, the same in every process."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.models import clean_text
from memorai_core.terms import COUNT, HASH, stem, term_counts, term_hash, term_hashes, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I moved to Hanoi!", ["i", "move", "to", "hanoi"]),
        ("Alice's violins’ cases", ["alic", "violin", "case"]),
        ("don't DON’T", ["don't", "don't"]),
        ("river-bank, and/or river_bank", ["river", "bank", "and", "or", "river", "bank"]),
        ("10,000 km in 2024", ["10", "000", "km", "in", "2024"]),
        ("河内", ["河", "内", "河内"]),
        ("我用iPhone拍照", ["我", "用", "我用", "iphon", "拍", "照", "拍照"]),
        ("2024年5月", ["2024", "年", "5", "月"]),
        ("スーパー", ["ス", "ー", "パ", "ー", "スー", "ーパ", "パー"]),
        ("🎻🎻 🏔", ["🎻", "🎻", "🏔"]),
        ("هانوي جميلة", ["هانوي", "جميلة"]),
        ("ＨＡＮＯＩ ﬁne Straße", ["hanoi", "fine", "strass"]),
        ("", []),
        (" \t\n.,;:!?-_()[]{}<>/\\'\"", []),
    ],
)
def test_terms(text, expected):
    assert terms(text) == expected


@given(st.text(max_size=200))
def test_any_text_has_terms_that_do_not_depend_on_its_case_or_normal_form(text):
    text = clean_text(text)
    found = terms(text)
    assert all(term and not term.isspace() for term in found)
    assert terms(f" {text} ") == found
    assert Counter(terms(f"{text} {text}")) == Counter(found + found)


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=100))
def test_case_does_not_matter(text):
    assert terms(text.upper()) == terms(text.lower()) == terms(text)


@given(st.text(max_size=200))
def test_hashes_and_counts_are_those_of_the_terms(text):
    text = clean_text(text)
    expected = {term_hash(term): count for term, count in Counter(terms(text)).items()}
    hashes, counts = term_counts(text)
    assert dict(zip(np.frombuffer(hashes, HASH).tolist(), np.frombuffer(counts, COUNT).tolist(), strict=True)) == expected
    assert term_hashes(text).tolist() == sorted(expected)


def test_counts_stop_at_what_two_bytes_hold():
    _, counts = term_counts("river " * 70_000)
    assert np.frombuffer(counts, COUNT).tolist() == [65_535]


def test_hashes_are_the_same_in_every_process():
    """Python's own hash() is salted, and a store outlives a process."""
    code = "from memorai_core.terms import term_hash; print(term_hash('violin'))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(other) == term_hash("violin") == 3658927768678662540


@pytest.mark.parametrize(
    ("one", "other"),
    [("moving", "moved"), ("violins", "violin"), ("Alice's", "alice"), ("Alice’s", "alice"), ("cafés", "cafés")],
)
def test_one_stem(one, other):
    assert stem(one.casefold()) == stem(other)


def test_words_of_other_alphabets_are_their_own_stems():
    assert stem("ханое") == "ханое"
    assert stem("cafés") == "cafés"
