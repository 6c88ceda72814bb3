"""The whole read path against its slow double, over random memories, queries and settings."""

from datetime import datetime, timedelta

import pytest
from dialogue import DAY, Directions, Fickle, Windowed, chat, say, scratch, texts
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from memorai_core import Settings

from .naive import Reading, world_of

SETTINGS = st.builds(
    Settings,
    aspect_k=st.sampled_from([1, 2, 5, 20]),
    fanout=st.sampled_from([None, 1, 2, 30]),
    turn_aspect=st.booleans(),
    subgraph=st.sampled_from([True, True, True, False]),
    weights=st.sampled_from(["dynamic", "dynamic", "uniform"]),
    sharpness=st.sampled_from([1.0, 2.5, 5.0]),
    weight_sharpness=st.sampled_from([1.0, 2.0]),
    damping=st.sampled_from([0.0, 0.3, 0.6, 0.85]),
    lexical=st.sampled_from([0.0, 1.0, 3.0]),
    adjacency=st.sampled_from([0.0, 0.5, 1.0]),
    dropped_weight=st.sampled_from([0.0, 0.5, 1.0]),
    tolerance=st.just(1e-13),
)
QUERIES = st.lists(texts, min_size=3, max_size=3)
FILTERS = st.sampled_from([{}, {}, {"session_id": "s1"}, {"as_of": DAY + timedelta(hours=3)}, {"session_id": "s2", "as_of": DAY}])


def allowed(world, session_id=None, as_of=None):
    def early(moment):
        return as_of is None or moment is None or datetime.fromisoformat(moment) <= as_of

    turns = world.turns.items()
    return {turn for turn, data in turns if session_id in (None, data["session_id"]) and early(data["timestamp"])}


@given(
    st.lists(texts | st.just(""), min_size=1, max_size=8),
    st.lists(texts, min_size=1, max_size=6),
    st.lists(texts, max_size=2),
    QUERIES,
    st.lists(st.tuples(SETTINGS, FILTERS), min_size=4, max_size=4),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=30, phases=[Phase.explicit, Phase.generate])
def test_ranking_equals_the_slow_one(first, second, pending, queries, choices, fickle, windowed):
    embedder = Windowed() if windowed else Directions()
    options = {"analyzer": Fickle()} if fickle else {}
    with scratch(embedder, **options) as memory:
        memory.append(chat(*first), user_id="u", session_id="s1")
        memory.append([*chat(*second), say("undated quilt", id="x")], user_id="u", session_id="s2")
        memory.index(user_id="u")
        memory.append(chat(*pending), user_id="u", session_id="s3")
        world = world_of(memory.graph(user_id="u"))
        for query in queries:
            for setting, filters in choices:
                memory.settings = setting
                reading = Reading(world, embedder, query, setting, allowed(world, **filters) if filters else None)
                found = memory.retrieve(query, user_id="u", k=7, **filters)
                compare(found, reading, 7)


def compare(found, reading, k):
    trace = found.trace
    nodes = [node.tobytes().hex() for node in trace.node_id]
    assert set(nodes[: trace.turns]) == reading.turns
    assert set(nodes[trace.turns : trace.turns + trace.entities]) == reading.entities
    assert set(nodes[trace.turns + trace.entities :]) == reading.segments
    close = {node: pytest.approx(score, rel=1e-6, abs=1e-12) for node, score in reading.score.items()}
    assert dict(zip(nodes, trace.score.tolist(), strict=True)) == close
    expected = reading.top(k)
    assert [turn.filled for turn in found.turns] == [filled for *_, filled in expected]
    for turn, (_, score, _) in zip(found.turns, expected, strict=True):
        assert turn.score == pytest.approx(score, rel=1e-6, abs=1e-12)
