"""A snapshot that caught up is the snapshot that a fresh load would give, whatever was written in between and by whom."""

from collections import Counter

import numpy as np
import pytest
from dialogue import Fickle, Windowed, chat, long_chat, say, scratch, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from memorai_core import Memory, Settings
from memorai_core.retrieval import lexical, rank
from memorai_core.retrieval.cache import SnapshotCache
from memorai_core.retrieval.catching_up import caught_up, load
from memorai_core.retrieval.lexical import bm25
from memorai_core.storage.loading import version
from memorai_core.terms import term_hashes
from memorai_core.testing import HashingEmbedder

SESSIONS = st.sampled_from(["s1", "s2"])
APPEND = st.tuples(st.just("append"), SESSIONS, st.lists(texts, min_size=1, max_size=4))
OPERATIONS = st.one_of(
    APPEND,
    APPEND,
    st.tuples(st.just("edit"), st.integers(0, 30), texts),
    st.tuples(st.just("index"), st.just(False)),
    st.tuples(st.just("index"), st.just(False)),
    st.tuples(st.just("index"), st.just(True)),
    st.tuples(st.just("forget turn"), st.integers(0, 30)),
    st.tuples(st.just("forget session"), SESSIONS),
    st.just(("other user",)),
)
QUERIES = ["river violin Hanoi", "said mango chess", "Alice", "quilt and so on"]


def by_ids(snapshot):
    """All that a snapshot holds, by ids in place of numbers; entities without claims are left out: they are like nothing."""

    def ids(nodes, numbers):
        return [nodes.node_id[number].tobytes().hex() if number >= 0 else None for number in np.atleast_1d(numbers).tolist()]

    def vectors(numbers):
        texts = snapshot.texts
        return [texts.vectors[texts.start[n] : texts.start[n + 1]].tobytes() if n >= 0 else None for n in numbers.tolist()]

    turns, claims = snapshot.turns, snapshot.claims
    columns = [turns.session.tolist(), turns.position.tolist(), turns.timestamp.tolist(), ids(snapshot.segments, turns.segment)]
    columns += [turns.kept.tolist(), vectors(turns.text), snapshot.postings.length.tolist(), ids(turns, snapshot.following)]
    sources = [tuple(sorted(ids(turns, claims.source[a:b]))) for a, b in zip(claims.start, claims.start[1:], strict=False)]
    ends = (ids(snapshot.entities, claims.subject), ids(snapshot.entities, claims.object))
    return {
        "turns": dict(zip(ids(turns, np.arange(len(turns.row))), zip(*columns, strict=True), strict=True)),
        "segments": dict(zip(ids(snapshot.segments, np.arange(len(snapshot.segments.row))), vectors(snapshot.segments.text), strict=True)),
        "claims": Counter(zip(ids(snapshot.segments, claims.segment), *ends, vectors(claims.text), sources, strict=True)),
        "mentions": edges(snapshot.mentions, lambda n: ids(turns, n), lambda n: ids(snapshot.entities, n), vectors, claims),
        "relations": edges(snapshot.relations, *[lambda n: ids(snapshot.entities, n)] * 2, vectors, claims),
        "words": [bm25(snapshot.postings, term_hashes(query)).round(12).tolist() for query in QUERIES],
        "texts": Counter(vectors(np.arange(len(snapshot.texts.row)))),
    }


def edges(edges, head_ids, tail_ids, vectors, claims):
    found = {}
    for number, (head, tail) in enumerate(zip(head_ids(edges.head), tail_ids(edges.tail), strict=True)):
        support = edges.support[edges.support_start[number] : edges.support_start[number + 1]]
        assert (head, tail) not in found
        found[head, tail] = sorted(vectors(claims.text[support]))
    return found


def rankings(snapshot):
    embedder = HashingEmbedder()
    for query in QUERIES:
        for options in (Settings(), Settings.paper(), Settings(aspect_k=2, fanout=1)):
            found = rank(snapshot, query, np.array(embedder.embed_query(query), np.float32)[: snapshot.version.dimension], 20, options)
            names = [node.tobytes().hex() for node in snapshot.turns.node_id[found.turns]]
            yield query, options, found.filled, dict(zip(names, found.scores.tolist(), strict=True))


def check(cache, memory):
    with memory._database.read() as db:
        current = version(db, "u")
        if current is None:
            return
        kept, fresh = cache.get(db, current), load(db, current)
    assert kept.version == fresh.version
    assert by_ids(kept) == by_ids(fresh)
    for (query, options, filled, scores), (_, _, also_filled, expected) in zip(rankings(kept), rankings(fresh), strict=True):
        assert filled == also_filled, (query, options)
        assert scores == {turn: pytest.approx(score, abs=1e-9) for turn, score in expected.items()}, (query, options)


def perform(memory, operation, number):
    """One write by one process; what cannot be done at this point is left."""
    match operation:
        case ("append", session, said):
            memory.append(chat(*said, start=number * 10), user_id="u", session_id=session)
        case ("edit", place, text) if turns := turns_in(memory):
            turn = turns[place % len(turns)]
            memory.append([say(text, name=turn[2], id=turn[1])], user_id="u", session_id=turn[0])
        case ("index", rebuild) if turns_in(memory):
            memory.index(user_id="u", rebuild=rebuild)
        case ("forget turn", place) if turns := turns_in(memory):
            memory.forget(user_id="u", turn_id=turns[place % len(turns)][3])
        case ("forget session", session) if any(turn[0] == session for turn in turns_in(memory)):
            memory.forget(user_id="u", session_id=session)
        case ("other user",):
            memory.append([say("river violin Hanoi quilt", id=f"m{number}")], user_id="u2", session_id="s1")
            memory.index(user_id="u2")


def turns_in(memory):
    with memory._database.read() as db:
        return db.execute(
            """SELECT session_id, source_id, speaker, turn_id FROM turns JOIN sessions USING (session)
            JOIN users ON users.user = turns.user WHERE user_id = 'u' ORDER BY turn"""
        ).fetchall()


@given(st.lists(st.tuples(OPERATIONS, st.booleans(), st.booleans()), min_size=2, max_size=10), st.booleans(), st.booleans())
@settings(max_examples=25)
def test_catching_up_equals_a_fresh_load(operations, fickle, windowed):
    """Each write is by this process or by another one; a reader looks after some of them and has caught up by then."""
    options = {"analyzer": Fickle(), "settings": Settings(sentence_layer=False)} if fickle else {}
    options["embedder"] = Windowed(64) if windowed else HashingEmbedder()
    with scratch(**options) as memory, Memory.open(memory._database.path, **options) as other:
        cache = SnapshotCache()
        for number, (operation, by_other, look) in enumerate(operations):
            perform(other if by_other else memory, operation, number)
            if look:
                check(cache, memory)
        check(cache, memory)


def snapshot_of(memory, old=None):
    with memory._database.read() as db:
        current = version(db, "u")
        return load(db, current) if old is None else caught_up(db, old, current)


def test_what_grew_leaves_older_snapshots_as_they_were(memory):
    memory.append(long_chat(40), user_id="u", session_id="s")
    memory.index(user_id="u")
    older = [snapshot_of(memory)]
    was = [by_ids(older[0])]
    for start in range(40, 46):
        memory.append(long_chat(1, start=start), user_id="u", session_id="s")
        memory.index(user_id="u")
        older.append(snapshot_of(memory, older[-1]))
        was.append(by_ids(older[-1]))
    buffers = [id(snapshot.texts.vectors.base) for snapshot in older[1:]]
    assert len(set(buffers)) < len(buffers), "a buffer with room behind its rows is not copied"
    assert [by_ids(each) for each in older] == was
    assert was[-1] == by_ids(snapshot_of(memory))


def test_a_segment_replaced_among_others_renumbers_those_behind_it(memory):
    """Two sessions whose open segments take turns to grow: what is taken out lies before what stays."""
    held = None
    for round in range(4):
        for session_id in ("s1", "s2"):
            memory.append(long_chat(2, start=round * 2), user_id="u", session_id=session_id)
            memory.index(user_id="u")
            held = snapshot_of(memory, held)
            assert by_ids(held) == by_ids(snapshot_of(memory))


def test_long_sessions_cross_the_merge_of_postings_while_catching_up(memory, monkeypatch):
    monkeypatch.setattr(lexical, "MERGE", 50)
    memory.append(long_chat(3), user_id="u", session_id="s")
    held = snapshot_of(memory)
    for start in range(3, 60, 3):
        memory.append(long_chat(3, start=start), user_id="u", session_id="s")
        held = snapshot_of(memory, held)
    assert len(held.postings.vocabulary) > 60
    assert by_ids(held)["words"] == by_ids(snapshot_of(memory))["words"]


def test_the_user_of_a_snapshot_may_have_nothing(memory):
    (turn,) = memory.append([say("river")], user_id="u", session_id="s")
    memory.index(user_id="u")
    memory.forget(user_id="u", turn_id=turn.turn_id)
    for options in (Settings(), Settings.paper(), Settings(subgraph=False)):
        vector = np.array(HashingEmbedder().embed_query("river"), np.float32)
        assert len(rank(snapshot_of(memory), "river", vector, 5, options).turns) == 0
    assert memory.retrieve("river", user_id="u").turns == ()
