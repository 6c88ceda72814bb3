"""Everything a memory can be told, in any order, against lists and dicts that cannot be wrong."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import hypothesis
from dialogue import Fickle, assert_partition, say, segments_of, triplets_of, turns_of
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memorai_core import Memory
from memorai_core.indexing.extractive import ExtractiveAnalyzer
from memorai_core.protocols import SessionAnalyzer
from memorai_core.testing import HashingEmbedder

USERS, SESSIONS, SPEAKERS = st.sampled_from(["u1", "u2"]), st.sampled_from(["s1", "s2"]), st.sampled_from(["Alice", "Bob"])
PLACE = st.integers(0, 50)
WORDS = st.lists(st.sampled_from(["I play the violin", "at the river", "in Hanoi", "with Bob", "🎻", "河内"]), max_size=3).map(" ".join)


@dataclass
class Spoken:
    """A turn as the model knows it."""

    turn_id: str
    source_id: str | None
    speaker: str
    text: str
    pending: bool = True
    tokens: list[str] = field(default_factory=list)
    """A word of its own for each text it ever had."""


class MemoryMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.count = 0
        self.model: dict[str, dict[str, list[Spoken]]] = {}
        self.open()

    analyzer: type[SessionAnalyzer] = ExtractiveAnalyzer

    def open(self):
        self.memory = Memory.open(self.folder / "memory.db", embedder=HashingEmbedder(32), analyzer=self.analyzer())

    def teardown(self):
        self.memory.close()
        shutil.rmtree(self.folder)

    def token(self):
        self.count += 1
        return f"token{self.count:05d}x"

    def sessions(self, user):
        return self.model.setdefault(user, {})

    def all_turns(self):
        return [(user, session, turn) for user, sessions in self.model.items() for session, turns in sessions.items() for turn in turns]

    def chosen(self, place):
        turns = self.all_turns()
        return turns[place % len(turns)]

    @rule(user=USERS, session=SESSIONS, said=st.lists(st.tuples(SPEAKERS, WORDS, st.booleans()), min_size=1, max_size=6))
    def append(self, user, session, said):
        messages, tokens = [], []
        for speaker, words, named in said:
            tokens.append(self.token())
            messages.append(say(f"{words} {tokens[-1]}", name=speaker, id=f"id-{tokens[-1]}" if named else None, at=self.count))
        turns = self.memory.append(messages, user_id=user, session_id=session)
        known = self.sessions(user).setdefault(session, [])
        known += [
            Spoken(turn.turn_id, message.id, message.name, message.text, tokens=[token])
            for turn, message, token in zip(turns, messages, tokens, strict=True)
        ]

    @precondition(lambda self: self.all_turns())
    @rule(place=PLACE)
    def append_again(self, place):
        user, session, turn = self.chosen(place)
        if turn.source_id:
            (again,) = self.memory.append([say(turn.text, name=turn.speaker, id=turn.source_id)], user_id=user, session_id=session)
            assert again.turn_id == turn.turn_id
            assert (again.segment_id is None) == turn.pending

    @precondition(lambda self: self.all_turns())
    @rule(place=PLACE, words=WORDS)
    def edit(self, place, words):
        user, session, turn = self.chosen(place)
        if turn.source_id:
            turn.tokens.append(self.token())
            turn.text = f"{words} {turn.tokens[-1]}"
            torn = next((s["turn_ids"] for s in segments_of(self.memory, user) if turn.turn_id in s["turn_ids"]), [])
            (edited,) = self.memory.append([say(turn.text, name=turn.speaker, id=turn.source_id)], user_id=user, session_id=session)
            assert (edited.turn_id, edited.text) == (turn.turn_id, turn.text)
            for each in self.model[user][session]:
                each.pending |= each.turn_id in (*torn, turn.turn_id)

    @precondition(lambda self: self.model)
    @rule(rebuild=st.booleans(), place=PLACE)
    def index(self, rebuild, place):
        user = sorted(self.model)[place % len(self.model)]
        waiting = [turn for turns in self.model[user].values() for turn in turns if turn.pending or rebuild]
        report = self.memory.index(user_id=user, rebuild=rebuild)
        assert report.turns == len(waiting)
        for turn in waiting:
            turn.pending = False
        assert self.memory.index(user_id=user).turns == 0

    @precondition(lambda self: self.all_turns())
    @rule(place=PLACE)
    def forget_turn(self, place):
        user, session, turn = self.chosen(place)
        assert self.memory.forget(user_id=user, turn_id=turn.turn_id).turns == 1
        self.model[user][session].remove(turn)
        self.gone(turn)

    @precondition(lambda self: any(self.model.values()))
    @rule(place=PLACE)
    def forget_session(self, place):
        pairs = [(user, session) for user, sessions in self.model.items() for session in sessions]
        user, session = pairs[place % len(pairs)]
        turns = self.model[user].pop(session)
        assert self.memory.forget(user_id=user, session_id=session).turns == len(turns)
        self.gone(*turns)

    @precondition(lambda self: self.model)
    @rule(place=PLACE)
    def forget_everything(self, place):
        user = sorted(self.model)[place % len(self.model)]
        turns = [turn for turns in self.model.pop(user).values() for turn in turns]
        assert self.memory.forget(user_id=user, everything=True).turns == len(turns)
        self.gone(*turns)

    def gone(self, *turns):
        """Not a byte of it is left, in the file or in its log."""
        stored = b"".join(path.read_bytes() for path in self.folder.iterdir())
        for turn in turns:
            for token in turn.tokens:
                assert token.encode() not in stored

    @precondition(lambda self: self.all_turns())
    @rule(place=PLACE)
    def retrieve(self, place):
        user, session, turn = self.chosen(place)
        found = self.memory.retrieve(turn.tokens[-1], user_id=user, k=50)
        stored = {each.turn_id: (sid, each) for sid, turns in self.model[user].items() for each in turns}
        assert turn.turn_id in {each.turn_id for each in found.turns}
        for each in found.turns:
            session_id, known = stored[each.turn_id]
            assert (each.session_id, each.source_id, each.speaker, each.text) == (session_id, known.source_id, known.speaker, known.text)
            assert (each.segment_id is None) == known.pending
            for triplet in each.triplets:
                assert each.turn_id in triplet.source_turns
                assert set(triplet.source_turns) <= set(stored)
        only = self.memory.retrieve(turn.tokens[-1], user_id=user, session_id=session)
        assert {each.session_id for each in only.turns} == {session}

    @rule()
    def reopen(self):
        self.memory.close()
        self.open()

    @invariant()
    def users_are_those_who_said_something(self):
        assert self.memory.users() == sorted(self.model)

    @invariant()
    def turns_are_in_order_and_segments_hold_the_indexed_ones(self):
        for user, sessions in self.model.items():
            stored = turns_of(self.memory, user)
            for session, turns in sessions.items():
                of_session = [turn for turn in stored if turn["session_id"] == session]
                assert [(turn["turn_id"], turn["speaker"], turn["text"]) for turn in of_session] == [
                    (turn.turn_id, turn.speaker, turn.text) for turn in turns
                ]
                assert [turn["segment_id"] is None for turn in of_session] == [turn.pending for turn in turns]
                assert [turn["kept"] for turn in of_session] == [None if turn.pending else True for turn in turns]
            assert_partition(self.memory, user)

    @invariant()
    def counts_agree(self):
        for user, sessions in self.model.items():
            (stats,) = self.memory.stats(user)
            turns = [turn for turns in sessions.values() for turn in turns]
            assert (stats.sessions, stats.turns, stats.pending) == (len(sessions), len(turns), sum(turn.pending for turn in turns))
            assert (stats.kept, stats.dropped) == (stats.turns - stats.pending, 0)
            assert stats.segments == len(segments_of(self.memory, user))
            assert stats.triplets == len(triplets_of(self.memory, user))

    @invariant()
    def triplets_cite_indexed_turns_that_say_so(self):
        for user, sessions in self.model.items():
            said = {turn.turn_id: turn for turns in sessions.values() for turn in turns}
            for triplet in triplets_of(self.memory, user):
                assert triplet["source_turns"]
                for turn in map(said.__getitem__, triplet["source_turns"]):
                    assert not turn.pending
                    sentence = triplet["description"].removeprefix(f"{turn.speaker}: ")
                    assert sentence in " ".join(turn.text.split()) or triplet["relation"] != "speaks_of"

    @invariant()
    def entities_are_those_that_turns_speak_of(self):
        for user in self.model:
            entities = [data for _, data in self.memory.graph(user_id=user).nodes(data=True) if data["kind"] == "entity"]
            assert all(entity["turn_ids"] for entity in entities)
            assert self.memory.stats(user)[0].entities == len(entities)


class FickleMemoryMachine(MemoryMachine):
    """With triplets and descriptions that cite several turns, as a chat model's do."""

    analyzer = Fickle


TestMemory = MemoryMachine.TestCase
TestFickleMemory = FickleMemoryMachine.TestCase
TestMemory.settings = TestFickleMemory.settings = hypothesis.settings(max_examples=20, stateful_step_count=20)
