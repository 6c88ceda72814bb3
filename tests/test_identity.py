"""Ids: one for what is one thing, another for everything else, and the same on every machine and in every version."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.identity import canonical_name, digest, entity_id, segment_id, text_key, text_keys, triplet_id, turn_id

TEXTS = st.text(max_size=6)


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))
def test_a_digest_stands_for_one_tuple_alone(one, other):
    """However the same letters are divided among the parts."""
    assert (digest(*one) == digest(*other)) == (one == other)


def test_parts_do_not_run_together():
    tuples = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c"), ()]
    assert len({digest(*parts) for parts in tuples}) == len(tuples)


def test_ids_are_32_hex_digits_and_stay_what_they_are():
    """A change here orphans every database: ids are stored, and cited by users."""
    assert digest("a", "b") == "3c9d591045bc8876f9d0399bbfb05c6a"
    assert turn_id("u", "s", "m0", 0) == "336a2ab7ef9c9db2e412028dfa2942ec"
    assert turn_id("u", "s", None, 0) == "341166d812a25339eb1e866f32d2b272"
    assert segment_id("u", "s", ("t0", "t1")) == "7bad7a71218a29145b783a5c965fccca"
    assert entity_id("u", "Alice") == "0fefac50e4bb0b6600f2dfc06f7f66b0"
    assert triplet_id("u", "g", "a", "r", "b") == "4de2bada3f1a7ced1e13417529ee2e17"
    assert text_key("Alice: hi").hex() == "317681dfa744da2f24ebc2316537507c"


def test_kinds_users_and_sessions_have_ids_of_their_own():
    turns = [turn_id("u", "s", "0", 0), turn_id("u", "s", None, 0), turn_id("u", "s", None, 1), turn_id("u", "s2", "0", 0)]
    turns += [turn_id("u2", "s", "0", 0), turn_id("u2", "s", None, 0)]
    segments = [segment_id("u", "s", ("0",)), segment_id("u", "s", ("0", "1")), segment_id("u2", "s", ("0",))]
    entities = [entity_id("u", "s"), entity_id("u2", "s")]
    triplets = [triplet_id("u", "s", "0"), triplet_id("u2", "s", "0")]
    ids = [*turns, *segments, *entities, *triplets]
    assert all(one != other for one, other in combinations(ids, 2))


def test_a_source_id_holds_its_place_wherever_it_stands():
    assert turn_id("u", "s", "m0", 0) == turn_id("u", "s", "m0", 7)


@pytest.mark.parametrize(
    "names",
    [
        ("Alice", "alice", "ALICE", " Alice ", "\tAlice\n"),
        ("New York", "new  york", "New\nYork", "New\u00a0York"),
        ("café", "cafe\u0301", "CAFÉ"),
        ("Straße", "STRASSE"),
        ("ＡＢＣ", "abc"),
        ("ﬁne", "fine"),
        ("河内", "河内 "),
    ],
    ids=lambda names: names[0],
)
def test_one_entity_however_its_name_is_written(names):
    assert len({entity_id("u", name) for name in names}) == 1


def test_other_names_are_other_entities():
    names = ["Alice", "Alicia", "Al ice", "A lice", "Álice", "Bob", "河内", "河", "🎻", "1", "l"]
    assert len({entity_id("u", name) for name in names}) == len(names)


@given(st.text(max_size=30))
def test_a_canonical_name_is_its_own(name):
    canonical = canonical_name(name)
    assert canonical_name(canonical) == canonical
    assert canonical == " ".join(canonical.split())


def test_a_text_is_known_by_every_letter():
    texts = ["hi", "Hi", "hi ", "hi.", "", "h", "i"]
    assert len({text_key(text) for text in texts}) == len(texts)
    assert text_keys(["hi", "", "hi", "ho"]) == {"hi": text_key("hi"), "ho": text_key("ho")}
