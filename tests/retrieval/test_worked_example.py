"""Eq. 1 to 3 worked by hand on one small conversation, and what `Memory` makes of it with the paper's settings.

Every vector has 16 components of a quarter, some of them negative, so that it has length 1, is exact in half precision, and has
a cosine with the query that is a whole number of eighths: 8 less the number of negative components.
"""

import pytest
from dialogue import Table, say

from memorai_core import Settings
from memorai_core.models import EntityDraft, SegmentMemory, SessionMemory, TripletDraft
from memorai_core.vectors import PROBE_TEXT

DAMPING = 0.6
EIGHTHS = {
    "Where does Alice live?": 8,
    "Alice: I moved to Hanoi.": 5,
    "Alice: It is warm there.": 1,
    "Bob: Nice weather.": 4,
    "Alice: I practise the violin.": 2,
    "Bob: Every evening?": -3,
    "Alice settles in a warm city.": 6,
    "A hobby.": 1,
    "Alice is new in town.": 6,
    "Hanoi is a warm city.": 4,
    "The violin is played in the evening.": 2,
    "Alice moved to Hanoi.": 7,
    "Alice plays the violin every evening.": 3,
    PROBE_TEXT: 0,
}  # fmt: skip
TEXTS = ["I moved to Hanoi.", "It is warm there.", "Nice weather.", "I practise the violin.", "Every evening?"]
SPEAKERS = ["Alice", "Alice", "Bob", "Alice", "Bob"]


def vector(eighths):
    negative = 8 - eighths
    return [-0.25] * negative + [0.25] * (16 - negative)


class ByHand:
    """Two segments: the move to Hanoi, where the gate drops Bob's remark, and the violin."""

    def analyze(self, session, turn_vectors):
        t0, t1, t2, t3, t4 = (turn.turn_id for turn in session.turns)
        moved = TripletDraft("Alice", "moved_to", "Hanoi", "Alice moved to Hanoi.", (t0,), origin="model")
        plays = TripletDraft("Alice", "plays", "violin", "Alice plays the violin every evening.", (t3, t4), origin="model")
        alice = EntityDraft("Alice", "Alice is new in town.", (t0,))
        hanoi = EntityDraft("Hanoi", "Hanoi is a warm city.", (t0, t1))
        violin = EntityDraft("violin", "The violin is played in the evening.", (t3,))
        first = SegmentMemory((t0, t1, t2), frozenset({t0, t1}), "Alice settles in a warm city.", (moved,), (alice, hanoi))
        second = SegmentMemory((t3, t4), frozenset({t3, t4}), "A hobby.", (plays,), (violin,))
        return SessionMemory((first, second))
        yield []


# What each entity is known by at its best: Alice and Hanoi by "moved to", the violin by "plays".
ENTITY = {"Alice": 7 / 8, "Hanoi": 7 / 8, "violin": 3 / 8}
SEED = {
    "t0": 5 / 8, "t1": 1 / 8, "t2": 0.0, "t3": 2 / 8, "t4": 0.0,  # t2 was dropped, t4 points away from the query
    "s0": 6 / 8, "s1": 1 / 8, **ENTITY,
}  # fmt: skip
# Eq. 1, one line a case. The ways back, which the paper leaves open, are as DESIGN has them.
SPOKEN_OF = {
    ("Alice", "t0"): 7 / 8,  # the better of the description and of "moved to"
    ("Hanoi", "t0"): 7 / 8, ("Hanoi", "t1"): 4 / 8,  # t1 is cited by the description alone
    ("Alice", "t3"): 3 / 8, ("Alice", "t4"): 3 / 8, ("violin", "t3"): 3 / 8, ("violin", "t4"): 3 / 8,
}  # fmt: skip
RELATED = {("Alice", "Hanoi"): 7 / 8, ("Alice", "violin"): 3 / 8}
TO_SEGMENT = {
    ("t0", "s0"): (7 / 8 + 7 / 8) / 2, ("t1", "s0"): 7 / 8,
    ("t2", "s0"): 4 / 8,  # no entities: its own text
    ("t3", "s1"): (7 / 8 + 3 / 8) / 2, ("t4", "s1"): (7 / 8 + 3 / 8) / 2,
}  # fmt: skip
FROM_SEGMENT = {("s0", "t0"): 5 / 8, ("s0", "t1"): 1 / 8, ("s0", "t2"): 4 / 8, ("s1", "t3"): 2 / 8, ("s1", "t4"): 0.0}


def both_ways(edges):
    return {**edges, **{(end, start): weight for (start, end), weight in edges.items()}}


WEIGHT = {**both_ways(SPOKEN_OF), **both_ways(RELATED), **TO_SEGMENT, **FROM_SEGMENT}


def by_hand(weight, seed, damping):
    """Eq. 2 and 3, step by step until nothing moves."""
    out = {node: sum(amount for (start, _), amount in weight.items() if start == node) for node in seed}
    score = dict.fromkeys(seed, 0.0)
    while True:
        received = dict.fromkeys(seed, 0.0)
        for (start, end), amount in weight.items():
            received[end] += amount / out[start] * score[start] if out[start] else 0.0
        new = {node: (1 - damping) * seed[node] + damping * received[node] for node in seed}
        if all(abs(new[node] - score[node]) < 1e-16 for node in seed):
            return new
        score = new


@pytest.fixture
def indexed(open_memory):
    def open_one(**changes):
        table = {text: vector(eighths) for text, eighths in EIGHTHS.items()}
        settings = Settings.paper(damping=DAMPING, **changes)
        memory = open_memory(embedder=Table(table, 16), analyzer=ByHand(), settings=settings)
        turns = memory.append(messages(), user_id="u", session_id="s")
        memory.index(user_id="u")
        return memory, {f"t{number}": turn.turn_id for number, turn in enumerate(turns)}

    return open_one


def messages():
    return [say(text, name=name, id=f"m{number}") for number, (name, text) in enumerate(zip(SPEAKERS, TEXTS, strict=True))]


def test_scores_are_those_of_the_equations(indexed):
    memory, ids = indexed()
    expected = by_hand(WEIGHT, SEED, DAMPING)
    found = memory.retrieve("Where does Alice live?", user_id="u", k=5)
    assert {turn.turn_id: turn.score for turn in found.turns} == {ids[name]: pytest.approx(expected[name], abs=1e-9) for name in ids}
    assert [turn.turn_id for turn in found.turns] == [ids[name] for name in sorted(ids, key=lambda name: -expected[name])]
    assert not any(turn.filled for turn in found.turns)


def test_every_node_and_edge_of_the_trace_is_that_of_the_equations(indexed):
    memory, ids = indexed()
    graph = memory.graph(user_id="u")
    name = {node: data.get("name") for node, data in graph.nodes(data=True)} | {turn_id: name for name, turn_id in ids.items()}
    for node, data in graph.nodes(data=True):
        if data["kind"] == "segment":
            name[node] = "s0" if ids["t0"] in data["turn_ids"] else "s1"
    trace = memory.retrieve("Where does Alice live?", user_id="u").trace
    named = [name[node.tobytes().hex()] for node in trace.node_id]
    expected = by_hand(WEIGHT, SEED, DAMPING)
    assert dict(zip(named, trace.seed.tolist(), strict=True)) == SEED
    assert dict(zip(named, trace.score.tolist(), strict=True)) == {node: pytest.approx(score, abs=1e-9) for node, score in expected.items()}
    assert len(trace.weight) == len(WEIGHT)
    edges = zip(trace.source.tolist(), trace.target.tolist(), trace.weight.tolist(), strict=True)
    assert {(named[start], named[end]): weight for start, end, weight in edges} == WEIGHT


def test_the_explanation_lists_each_in_flow(indexed):
    """t0 has its seed share, and what Alice, Hanoi and its segment send it."""
    memory, ids = indexed()
    score = by_hand(WEIGHT, SEED, DAMPING)
    explanation = memory.explain(memory.retrieve("Where does Alice live?", user_id="u"), ids["t0"])
    assert explanation.score == pytest.approx(score["t0"], abs=1e-9)
    out_of_alice = 7 / 8 + 3 / 8 + 3 / 8 + 7 / 8 + 3 / 8
    out_of_hanoi = 7 / 8 + 4 / 8 + 7 / 8
    parts = {part.label: (part.kind, part.amount) for part in explanation.contributions}
    assert len(parts) == len(explanation.contributions)
    segment = next(part.node_id for part in explanation.contributions if part.kind == "segment")
    assert parts == {
        "Where does Alice live?": ("seed", pytest.approx(0.4 * 5 / 8, abs=1e-9)),
        "Alice": ("entity", pytest.approx(0.6 * (7 / 8) / out_of_alice * score["Alice"], abs=1e-9)),
        "Hanoi": ("entity", pytest.approx(0.6 * (7 / 8) / out_of_hanoi * score["Hanoi"], abs=1e-9)),
        segment: ("segment", pytest.approx(0.6 * (5 / 8) / (10 / 8) * score["s0"], abs=1e-9)),
    }


def test_uniform_weights_are_1_on_the_same_edges(indexed):
    memory, ids = indexed(weights="uniform")
    expected = by_hand(dict.fromkeys(WEIGHT, 1.0), SEED, DAMPING)
    found = memory.retrieve("Where does Alice live?", user_id="u", k=5)
    assert {turn.turn_id: turn.score for turn in found.turns} == {ids[name]: pytest.approx(expected[name], abs=1e-9) for name in ids}


def test_the_whole_graph_is_the_subgraph_where_all_is_connected(indexed):
    memory, ids = indexed(subgraph=False)
    expected = by_hand(WEIGHT, SEED, DAMPING)
    found = memory.retrieve("Where does Alice live?", user_id="u", k=5)
    assert {turn.turn_id: turn.score for turn in found.turns} == {ids[name]: pytest.approx(expected[name], abs=1e-9) for name in ids}


def test_evidence_carries_the_triplets_that_cite_each_turn_and_the_segments(indexed):
    memory, ids = indexed()
    found = memory.retrieve("Where does Alice live?", user_id="u", k=5)
    cited = {turn.turn_id: [triplet.description for triplet in turn.triplets] for turn in found.turns}
    assert cited == {
        ids["t0"]: ["Alice moved to Hanoi."], ids["t1"]: [], ids["t2"]: [],
        ids["t3"]: ["Alice plays the violin every evening."], ids["t4"]: ["Alice plays the violin every evening."],
    }  # fmt: skip
    assert sorted(triplet.relation for triplet in found.triplets) == ["moved_to", "plays"]
    assert {segment.summary for segment in found.segments} == {"Alice settles in a warm city.", "A hobby."}
    assert {turn.turn_id: turn.kept for turn in found.turns}[ids["t2"]] is False
