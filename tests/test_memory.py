"""What a user of Memory relies on: what is appended is found, at once, whole, and within what was asked for."""

import copy
import pickle

import numpy as np
import pytest
from dialogue import Fickle, chat, everything, found, long_chat, say, turns_of

from memorai_core import Memory, Message, Settings
from memorai_core.testing import HashingEmbedder


def test_a_turn_is_found_by_its_words_before_it_is_indexed(memory):
    (turn,) = memory.append([say("I moved to Hanoi", id="m0")], user_id="u", session_id="s")
    memory.append([say("The violin is broken")], user_id="u", session_id="s")
    evidence = memory.retrieve("Who lives in Hanoi?", user_id="u")
    assert evidence.turns[0].turn_id == turn.turn_id
    assert evidence.turns[0].kept is None
    assert evidence.turns[0].segment_id is None
    assert evidence.turns[0].score > 0


def test_words_alone_find_nothing_where_they_have_no_weight(open_memory):
    memory = open_memory(settings=Settings(lexical=0))
    memory.append([say("I moved to Hanoi")], user_id="u", session_id="s")
    assert found(memory, "Hanoi") == []
    memory.index(user_id="u")
    assert found(memory, "Hanoi") == ["I moved to Hanoi"]


def test_pending_turns_are_found_beside_indexed_ones(memory):
    memory.append(long_chat(20), user_id="u", session_id="s1")
    memory.index(user_id="u")
    memory.append([say("I sold the zeppelin")], user_id="u", session_id="s2")
    assert "I sold the zeppelin" in found(memory, "zeppelin")


@pytest.mark.parametrize("name", ["Zelda", "小林"])
def test_a_turn_is_found_by_its_speaker(memory, name):
    memory.append([say("I like it here", name=name), *chat("river", "violin")], user_id="u", session_id="s")
    assert found(memory, name, k=1) == ["I like it here"]


SCRIPTS = [
    ("我昨天去了河内旅行", "河内"),
    ("ハノイに住んでいます", "ハノイ"),
    ("하노이에 살아요", "하노이"),
    ("ฉันอยู่ที่ฮานอย", "ฮานอย"),
    ("أعيش في هانوي منذ سنوات", "هانوي"),
    ("אני גר בחיפה", "בחיפה"),
    ("я живу в Ханое", "Ханое"),
    ("मैं हनोई में रहता हूँ", "हनोई"),
    ("🎻🎻", "🎻"),
    ("ＨＡＮＯＩ", "hanoi"),
    ("Straße", "STRASSE"),
    ("café", "cafe\u0301"),
]


@pytest.mark.parametrize(("text", "query"), SCRIPTS)
@pytest.mark.parametrize("indexed", [False, True], ids=["pending", "indexed"])
def test_any_script_is_found(memory, text, query, indexed):
    memory.append([say("something else"), say(text), say("and more of it")], user_id="u", session_id="s")
    if indexed:
        memory.index(user_id="u")
    evidence = memory.retrieve(query, user_id="u")
    (turn,) = [turn for turn in evidence.turns if turn.text == text]
    (seed,) = [part.amount for part in memory.explain(evidence, turn.turn_id).contributions if part.kind == "seed"]
    assert seed == pytest.approx((1 - memory.settings.damping) * evidence.trace.seed[: evidence.trace.turns].max())


def test_dropped_turns_are_found_by_words_and_by_text(open_memory):
    """The gate takes a turn's triplets and half its seed, not the turn."""
    memory = open_memory(analyzer=Fickle())
    memory.append(chat("river bank", "violin lesson", "quilt exhibition downtown", "mango tree"), user_id="u", session_id="s")
    memory.index(user_id="u")
    evidence = memory.retrieve("quilt exhibition downtown", user_id="u")
    assert evidence.turns[0].text == "quilt exhibition downtown"
    assert evidence.turns[0].kept is False
    assert evidence.turns[0].triplets == ()
    by_text = memory.retrieve("", user_id="u", query_vector=HashingEmbedder().embed_query("Alice: quilt exhibition downtown"))
    assert "quilt exhibition downtown" in [turn.text for turn in by_text.turns[:2]]


def test_settings_of_the_paper_leave_dropped_turns_without_a_seed(open_memory):
    memory = open_memory(analyzer=Fickle(), settings=Settings.paper())
    memory.append(chat("river bank", "violin lesson", "quilt exhibition"), user_id="u", session_id="s")
    memory.index(user_id="u")
    evidence = memory.retrieve("quilt exhibition", user_id="u")
    place = [node.tobytes().hex() for node in evidence.trace.node_id].index(turns_of(memory, "u")[2]["turn_id"])
    assert evidence.trace.seed[place] == 0


def test_k_bounds_the_turns(memory):
    memory.append(long_chat(12), user_id="u", session_id="s")
    memory.index(user_id="u")
    query = "river violin today"
    everyone = found(memory, query, k=1000)
    assert len(everyone) == 12
    for k in (1, 2, 5, 11):
        assert found(memory, query, k=k) == everyone[:k]


def test_turns_that_are_like_the_query_fill_up_where_the_subgraph_has_too_few(open_memory):
    memory = open_memory(settings=Settings(aspect_k=1, fanout=1, adjacency=0))
    memory.append(long_chat(40), user_id="u", session_id="s")
    memory.index(user_id="u")
    evidence = memory.retrieve("today river violin", user_id="u", k=40)
    filled = [turn.filled for turn in evidence.turns]
    inside = filled.count(False)
    assert 0 < inside < len(filled)
    assert filled == [False] * inside + [True] * (len(filled) - inside)
    assert all(turn.score == 0 for turn in evidence.turns[inside:])
    assert len({turn.turn_id for turn in evidence.turns}) == len(filled)
    assert found(memory, "today river violin", k=inside) == [turn.text for turn in evidence.turns[:inside]]


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "?!", "the"])
def test_a_query_without_words_finds_nothing_or_little_but_never_fails(memory, query):
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    assert found(memory, query) == []
    memory.index(user_id="u")
    evidence = memory.retrieve(query, user_id="u")
    assert evidence.query == query
    if not query.strip():
        assert evidence.turns == evidence.triplets == evidence.segments == ()


def test_a_query_is_cleaned_as_texts_are(memory):
    memory.append([say("cafe\u0301 in Hanoi")], user_id="u", session_id="s")
    evidence = memory.retrieve("caf\u00e9\0 \ud800", user_id="u")
    assert evidence.query == "café \ufffd"
    assert [turn.text for turn in evidence.turns] == ["café in Hanoi"]


def test_a_given_vector_stands_for_the_querys_own(open_memory):
    class OnlyDocuments(HashingEmbedder):
        queries = 0

        def embed_query(self, text):
            self.queries += 1
            return super().embed_query(text)

    embedder = OnlyDocuments()
    memory = open_memory(embedder=embedder)
    memory.append(long_chat(10), user_id="u", session_id="s")
    memory.index(user_id="u")
    plain = memory.retrieve("river violin", user_id="u")
    vector = HashingEmbedder().embed_query("river violin")
    embedder.queries = 0
    for given in (vector, tuple(vector), np.array(vector), np.array(vector, np.float32) * 7, [x * 1000 for x in vector]):
        again = memory.retrieve("river violin", user_id="u", query_vector=given)
        assert [(turn.turn_id, pytest.approx(turn.score, rel=1e-4)) for turn in plain.turns] == [(t.turn_id, t.score) for t in again.turns]
    assert embedder.queries == 0


def test_a_given_vector_is_not_used_while_nothing_is_indexed(memory):
    memory.append(chat("river"), user_id="u", session_id="s")
    assert found(memory, "river", query_vector=[1.0, 2.0]) == ["river"]


def test_the_same_query_has_the_same_answer(memory):
    memory.append(long_chat(30), user_id="u", session_id="s")
    memory.index(user_id="u")
    first = memory.retrieve("river violin", user_id="u")
    again = memory.retrieve("river violin", user_id="u")
    assert (first.turns, first.triplets, first.segments) == (again.turns, again.triplets, again.segments)
    assert set(first.timings_ms) == {"embed", "rank", "total"}
    assert all(milliseconds >= 0 for milliseconds in first.timings_ms.values())


def test_turns_of_the_same_score_come_in_the_order_of_arrival(open_memory):
    memory = open_memory(settings=Settings(damping=0, adjacency=0))
    turns = memory.append([say("river") for _ in range(6)], user_id="u", session_id="s")
    for _ in range(2):
        evidence = memory.retrieve("river", user_id="u")
        assert len({turn.score for turn in evidence.turns}) == 1
        assert [turn.turn_id for turn in evidence.turns] == [turn.turn_id for turn in turns]
        memory.index(user_id="u")


def test_evidence_can_be_compared_copied_and_pickled(memory):
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    memory.index(user_id="u")
    evidence, other = (memory.retrieve("river", user_id="u") for _ in range(2))
    assert evidence == evidence
    assert evidence != other
    assert evidence in [other, evidence]
    for twin in (copy.deepcopy(evidence), pickle.loads(pickle.dumps(evidence))):
        assert (twin.turns, twin.triplets, twin.segments) == (evidence.turns, evidence.triplets, evidence.segments)
        turn_id = twin.turns[0].turn_id
        assert memory.explain(twin, turn_id) == memory.explain(evidence, turn_id)


def test_retrieving_writes_nothing(memory):
    memory.append(chat("river", "violin"), user_id="u", session_id="s")
    before = everything(memory, "u")
    memory.retrieve("river", user_id="u")
    with memory._database.read() as db:
        assert db.execute("SELECT revision FROM users").fetchone() == (1,)
    assert everything(memory, "u") == before


def test_with_the_bundled_embedder_meaning_is_found(tmp_path):
    said = [
        ("Alice", "I just moved into a flat in Hanoi, near the lake."),
        ("Bob", "How is the new apartment treating you?"),
        ("Alice", "The neighbours are noisy, but my cat Mochi loves the balcony."),
        ("Bob", "I spent the weekend repairing my old motorbike."),
        ("Alice", "My sister is getting married in June."),
        ("Bob", "Congratulations! Who is the lucky one?"),
    ]
    with Memory.open(tmp_path / "memory.db") as memory:
        memory.append([Message(role="user", name=name, text=text) for name, text in said], user_id="u", session_id="s")
        report = memory.index(user_id="u")
        assert (report.turns, report.kept, memory.stats("u")[0].pending) == (6, 6, 0)
        assert said[2][1] in found(memory, "Does Alice keep an animal?", k=2)
        assert found(memory, "Which city does she live in?", k=1) == [said[0][1]]
        assert found(memory, "vehicle maintenance", k=1) == [said[3][1]]
