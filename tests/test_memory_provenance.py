"""Whatever is retrieved can be followed back to what was said, by whom and when."""

import re
from datetime import datetime

from dialogue import Fickle, scratch, texts, turns_of
from hypothesis import given, settings
from hypothesis import strategies as st

from memorai_core import Message

SPEAKERS = ["Alice", "Bob", "Zoë <z>"]
PHRASES = texts | st.sampled_from(["I moved to Hanoi.", "我住在河内。", "أنا أعيش هنا.", "🎻", "Wow!", "", "quilt"])
SAID = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "user"]),
        text=st.lists(PHRASES, max_size=3).map(". ".join),
        name=st.none() | st.sampled_from(SPEAKERS),
        timestamp=st.none() | st.datetimes(min_value=datetime(1900, 1, 1)),
    ),
    min_size=1,
    max_size=8,
)
SESSIONS = st.lists(SAID, min_size=1, max_size=3)


@given(SESSIONS, st.booleans(), texts)
@settings(max_examples=25)
def test_all_that_is_found_is_what_was_said(sessions, fickle, query):
    with scratch(analyzer=Fickle() if fickle else None) as memory:
        given = {}
        for number, messages in enumerate(sessions):
            turns = memory.append(messages, user_id="u", session_id=f"s{number}")
            given |= {turn.turn_id: (message, turn) for message, turn in zip(messages, turns, strict=True)}
        memory.index(user_id="u")
        segments = {turn["turn_id"]: turn["segment_id"] for turn in turns_of(memory, "u")}
        for asked in (query, "I moved to Hanoi 我住在河内", "Alice Bob"):
            evidence = memory.retrieve(asked, user_id="u", k=30)
            for turn in evidence.turns:
                message, stored = given[turn.turn_id]
                assert (turn.text, turn.role, turn.speaker) == (message.text, message.role, message.name or message.role)
                assert (turn.session_id, turn.position, turn.timestamp) == (stored.session_id, stored.position, stored.timestamp)
                assert turn.segment_id == segments[turn.turn_id]
            check_triplets(evidence, given, segments)
            check_lists(evidence)


def words(text):
    """Its letters: sentences are trimmed of list marks, and lone stops between them are no sentences."""
    return re.sub(r"\W", "", text).casefold()


def check_triplets(evidence, given, segments):
    """Each cites kept turns of its segment, and a sentence of its turn where the sentence layer made it."""
    kept = {turn.turn_id: turn.kept for turn in evidence.turns}
    for triplet in evidence.triplets:
        assert triplet.source_turns
        assert {segments[turn_id] for turn_id in triplet.source_turns} == {triplet.segment_id}
        assert all(kept.get(turn_id, True) for turn_id in triplet.source_turns)
        if triplet.relation == "speaks_of":
            (turn_id,) = triplet.source_turns
            message, _ = given[turn_id]
            speaker, sentence = triplet.description.split(": ", 1)
            assert speaker == (message.name or message.role)
            assert words(sentence) in words(message.text)
            assert words(triplet.object) in words(message.text)


def check_lists(evidence):
    """The turns' triplets are those that cite them, and the evidence lists them and the segments once, in the turns' order."""
    for turn in evidence.turns:
        assert all(turn.turn_id in triplet.source_turns for triplet in turn.triplets)
    assert list(evidence.triplets) == list(dict.fromkeys(triplet for turn in evidence.turns for triplet in turn.triplets))
    for triplet in evidence.triplets:
        citing = [turn.turn_id for turn in evidence.turns if triplet in turn.triplets]
        assert citing == [turn.turn_id for turn in evidence.turns if turn.turn_id in triplet.source_turns]
    assert [segment.segment_id for segment in evidence.segments] == list(
        dict.fromkeys(turn.segment_id for turn in evidence.turns if turn.segment_id)
    )
    assert len({turn.turn_id for turn in evidence.turns}) == len(evidence.turns)
    scores = [turn.score for turn in evidence.turns if not turn.filled]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)
    filled = [turn.filled for turn in evidence.turns]
    assert filled == sorted(filled)
    assert all(turn.score == 0 for turn in evidence.turns if turn.filled)
