"""Retrieval within one session and as of a moment, and what is said of why."""

from datetime import timedelta, timezone

import pytest
from dialogue import DAY, Fickle, chat, found, long_chat, say, turns_of

from memorai_core import Settings


class TestSessionFilter:
    @pytest.fixture(autouse=True)
    def two_sessions(self, memory):
        memory.append([say("violin in Hanoi", name="Alice"), say("river")], user_id="u", session_id="s1")
        memory.append([say("violin in Hue", name="Alice"), say("mango")], user_id="u", session_id="s2")

    @pytest.mark.parametrize("indexed", [False, True], ids=["pending", "indexed"])
    def test_only_the_sessions_own_turns_triplets_and_segments(self, memory, indexed):
        if indexed:
            memory.index(user_id="u")
        for session_id, other in (("s1", "Hue"), ("s2", "Hanoi")):
            evidence = memory.retrieve("violin Alice", user_id="u", session_id=session_id, k=50)
            assert {turn.session_id for turn in evidence.turns} == {session_id}
            assert {segment.session_id for segment in evidence.segments} <= {session_id}
            assert other not in str((evidence.turns, evidence.triplets, evidence.segments))

    def test_a_session_of_nothing_but_words_unlike_the_query(self, memory):
        memory.append([say("")], user_id="u", session_id="s3")
        memory.index(user_id="u")
        assert found(memory, "violin", session_id="s3") == []


class TestAsOf:
    """Turn n was said at hour n, the last one is undated."""

    @pytest.fixture(autouse=True)
    def dated(self, open_memory):
        self.memory = open_memory(analyzer=Fickle())
        self.memory.append([say("undated river")], user_id="u", session_id="s0")
        said = ["river one", "river two", "river three", "river four", "river five"]
        self.memory.append(chat(*said), user_id="u", session_id="s1")

    @pytest.mark.parametrize("hours", [-1, 0, 1, 2, 3.5, 4, 99])
    @pytest.mark.parametrize("indexed", [False, True], ids=["pending", "indexed"])
    @pytest.mark.parametrize("settings", [Settings(), Settings.paper(), Settings(subgraph=False), Settings(weights="uniform")])
    def test_nothing_later_appears(self, hours, indexed, settings):
        memory, moment = self.memory, DAY + timedelta(hours=hours)
        if indexed:
            memory.index(user_id="u")
        memory.settings = settings
        evidence = memory.retrieve("river one two three four five Alice Bob everything", user_id="u", as_of=moment, k=50)
        late = [turn for turn in turns_of(memory, "u", "s1") if turn["position"] > hours]
        texts = {turn.text for turn in evidence.turns}
        if indexed or settings.lexical:
            assert texts == {"undated river"} | {turn["text"] for turn in turns_of(memory, "u", "s1")} - {turn["text"] for turn in late}
        shown = str((evidence.turns, evidence.triplets, evidence.segments))
        for turn in late:
            assert turn["turn_id"] not in shown
            assert turn["text"] not in shown
        nodes = {node.tobytes().hex() for node in evidence.trace.node_id[: evidence.trace.turns]}
        assert not nodes & {turn["turn_id"] for turn in late}

    def test_a_segment_with_a_later_turn_shows_no_summary(self):
        self.memory.index(user_id="u")
        evidence = self.memory.retrieve("river one", user_id="u", as_of=DAY, k=50)
        assert {segment.session_id: segment.summary for segment in evidence.segments} == {"s0": "Of topic und", "s1": ""}

    def test_times_of_all_zones_are_moments(self):
        east = timezone(timedelta(hours=7))
        moment = DAY + timedelta(hours=2)
        plain = found(self.memory, "river", as_of=moment)
        assert len(plain) == 4
        assert found(self.memory, "river", as_of=moment.astimezone(east)) == plain
        assert found(self.memory, "river", as_of=moment.replace(tzinfo=None)) == plain
        assert len(found(self.memory, "river", as_of=moment - timedelta(microseconds=1))) == 3

    def test_with_a_session(self):
        assert found(self.memory, "river", as_of=DAY, session_id="s1") == ["river one"]
        assert found(self.memory, "river", as_of=DAY - timedelta(days=1), session_id="s1") == []


class TestExplain:
    @pytest.fixture(autouse=True)
    def filled(self, memory):
        memory.append(long_chat(20), user_id="u", session_id="s1")
        memory.append([say("I moved to Hanoi with Bob")], user_id="u", session_id="s2")
        memory.index(user_id="u")
        memory.append([say("pending river")], user_id="u", session_id="s2")

    @pytest.mark.parametrize(
        "settings", [Settings(), Settings.paper(), Settings(tolerance=1e-3), Settings(damping=0.0), Settings(damping=0.9)]
    )
    def test_contributions_sum_to_the_score(self, memory, settings):
        memory.settings = settings
        for query in ("river violin", "Where did Alice move?", "Bob"):
            evidence = memory.retrieve(query, user_id="u", k=30)
            allowed = settings.tolerance * evidence.trace.seed.sum()
            for turn in evidence.turns:
                if not turn.filled:
                    explanation = memory.explain(evidence, turn.turn_id)
                    amounts = [part.amount for part in explanation.contributions]
                    assert explanation.score == turn.score
                    assert sum(amounts) == pytest.approx(turn.score, abs=allowed + 1e-12)
                    assert amounts == sorted(amounts, reverse=True)
                    assert [part.kind for part in explanation.contributions].count("seed") == 1

    def test_labels_say_what_nodes_are(self, memory):
        evidence = memory.retrieve("Hanoi", user_id="u", k=1)
        parts = memory.explain(evidence, evidence.turns[0].turn_id).contributions
        graph = memory.graph(user_id="u")
        for part in parts:
            if part.kind == "seed":
                assert (part.node_id, part.label) == (evidence.turns[0].turn_id, "Hanoi")
            else:
                assert graph.nodes[part.node_id]["kind"] == part.kind
                assert part.label == (graph.nodes[part.node_id]["name"] if part.kind == "entity" else part.node_id)

    def test_evidence_is_explained_though_the_memory_has_moved_on(self, memory):
        evidence = memory.retrieve("Hanoi", user_id="u", k=3)
        before = memory.explain(evidence, evidence.turns[0].turn_id)
        memory.forget(user_id="u", everything=True)
        after = memory.explain(evidence, evidence.turns[0].turn_id)
        assert [(part.kind, part.amount) for part in after.contributions] == [(part.kind, part.amount) for part in before.contributions]
