"""Any text that Unicode can hold, and some that it cannot, through all of a memory's life."""

import pytest
from dialogue import say

from memorai_core import Message, render_prompt


@pytest.fixture
def memory(memory):
    memory.append([say("I moved to Hanoi last year")], user_id="u", session_id="s")
    memory.index(user_id="u")
    return memory


ODD = {
    "empty": "",
    "white space": " \t\r\n\u00a0\u3000",
    "a megabyte of words": "river " * 170_000,
    "one long word": "x" * 200_000,
    "very many stops": "?!" * 100_000,
    "much Chinese": "河" * 60_000,
    "very many lines": "- river\n" * 20_000,
    "lone surrogates": "river \ud800 and \udfff",
    "NUL bytes": "ri\0ver\0",
    "NUL bytes alone": "\0\0",
    "emoji": "🎻🏔️👩‍👩‍👧‍👦🇻🇳",
    "one emoji": "🎻",
    "Chinese": "我住在河内，喜欢拉小提琴。",
    "Japanese": "ハノイに住んでいます。バイオリンが好きです。",
    "Korean": "하노이에 살아요.",
    "Thai": "ฉันอยู่ที่ฮานอย",
    "Arabic": "أعيش في هانوي وأحب الكمان.",
    "Hebrew": "אני גר בחיפה ואוהב כינור.",
    "mixed directions": "I said שלום and مرحبا \u202eback\u202c",
    "combining marks": "e" + "\u0301" * 500,
    "marks alone": "\u0301\u0302\u200d\ufe0f",
    "punctuation": "?!... ;-) <>&\"'",
    "numbers": "3.14 1,000,000 ½ ²",
    "markup": "</turn><system>x</system> {{x}} $x %s {0}",
    "SQL": "'; DROP TABLE turns; --",
    "unassigned": "\U000e0041\uffff\U0010ffff",
    "long lines of dots": ". " * 50_000,
}


@pytest.mark.parametrize("kind", ODD)
def test_any_text_is_stored_indexed_retrieved_and_forgotten(memory, kind):
    text = ODD[kind]
    message = Message(role="user", text=text, name=text[:20], id=f"id {text[:20]}")
    clean = message.text
    assert "\0" not in clean
    clean.encode()
    (turn, after) = memory.append([message, say("plain words after it")], user_id="odd", session_id="s")
    assert turn.text == clean
    assert turn.speaker == (message.name or "user")
    memory.retrieve(text, user_id="odd")
    report = memory.index(user_id="odd")
    assert (report.turns, memory.stats("odd")[0].pending) == (2, 0)
    evidence = memory.retrieve(text[:2000], user_id="odd", k=5)
    assert {found.text for found in evidence.turns} <= {clean, after.text}
    if any(character.isalnum() for character in clean):
        assert turn.turn_id in [found.turn_id for found in evidence.turns]
    if not clean.strip():
        assert turn.turn_id not in [found.turn_id for found in evidence.turns if found.triplets]
    assert render_prompt(evidence, text[:100])
    for found in evidence.turns:
        if not found.filled:
            memory.explain(evidence, found.turn_id)
    assert memory.append([message], user_id="odd", session_id="s")[0].turn_id == turn.turn_id
    assert memory.stats("odd")[0].pending == 0
    memory.forget(user_id="odd", turn_id=turn.turn_id)
    assert [data["text"] for _, data in memory.graph(user_id="odd").nodes(data=True) if data["kind"] == "turn"] == [after.text]
    assert memory.retrieve("Hanoi", user_id="u").turns, "and others notice nothing"


def test_what_has_no_words_is_stored_and_bears_nothing(memory):
    turns = memory.append([say(" "), say(""), say("\n")], user_id="empty", session_id="s")
    report = memory.index(user_id="empty")
    assert (report.turns, report.kept, report.dropped, report.triplets, report.embedded) == (3, 0, 3, 0, 0)
    assert memory.retrieve("Alice anything", user_id="empty").triplets == ()
    assert memory.stats("empty")[0].vectors == 0
    memory.append([say("river")], user_id="empty", session_id="s")
    memory.index(user_id="empty")
    assert memory.retrieve("river", user_id="empty", k=1).turns[0].text == "river"
    for turn in turns:
        memory.forget(user_id="empty", turn_id=turn.turn_id)
    assert memory.stats("empty")[0].turns == 1


def test_very_many_names_ids_and_sessions(memory):
    for number in range(30):
        memory.append([say("river", name=f"n{number}" * 300, id="i" * 1000)], user_id="u" * 5000, session_id=f"s{number}" * 1000)
    memory.index(user_id="u" * 5000)
    assert len(memory.retrieve("river", user_id="u" * 5000, k=40).turns) == 30


def test_a_memory_of_tens_of_sessions_pending_and_a_huge_k(memory):
    evidence = memory.retrieve("Hanoi", user_id="u", k=10**9)
    assert len(evidence.turns) == 1
