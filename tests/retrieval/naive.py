"""The read path once more, slowly: dicts and loops over the exported graph, written from the design and not from the code."""

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from memorai_core.embedding import embed_query, embed_texts
from memorai_core.retrieval.graph_edges import BACKWARD
from memorai_core.retrieval.lexical import K1, B
from memorai_core.retrieval.similarity import LEXICAL_POWER
from memorai_core.terms import terms


@dataclass
class World:
    """A user's memory by ids, in order of making."""

    turns: dict = field(default_factory=dict)
    segments: dict = field(default_factory=dict)
    entities: dict = field(default_factory=dict)
    claims: list = field(default_factory=list)
    """(ends, text, source turns, whether it is a triplet)"""


def world_of(graph):
    """Of a graph whose sessions came in one after another."""
    world = World()
    for node, data in graph.nodes(data=True):
        getattr(world, {"turn": "turns", "segment": "segments", "entity": "entities"}[data["kind"]])[node] = data
    for start, end, data in graph.edges(data=True):
        if data["kind"] == "relation":
            world.claims.append(((start, end), data["description"], data["source_turns"], True))
    described = {}
    for start, end, data in graph.edges(data=True):
        for text in data.get("descriptions", []):
            described.setdefault((start, text, world.turns[end]["segment_id"]), []).append(end)
    world.claims += [((entity,), text, sources, False) for (entity, text, _), sources in described.items()]
    return world


def bm25(texts, query):
    bags = [Counter(terms(text)) for text in texts]
    average = sum(bag.total() for bag in bags) / len(bags) if bags else 0
    scores = [0.0] * len(bags)
    for term in set(terms(query)):
        containing = sum(term in bag for bag in bags)
        idf = math.log(1 + (len(bags) - containing + 0.5) / (containing + 0.5))
        for number, bag in enumerate(bags):
            if bag[term]:
                scores[number] += idf * bag[term] * (K1 + 1) / (bag[term] + K1 * (1 - B + B * bag.total() / average))
    return scores


def best(values, count):
    """The keys of the `count` largest values above 0, the earlier one among equals."""
    return sorted((key for key in values if values[key] > 0), key=lambda key: -values[key])[:count]


def neighbours(keys, values, count):
    return sorted(keys, key=lambda key: -values[key])[: count or len(keys)]


class Reading:
    """One query over a world, with everything on the way by id."""

    def __init__(self, world, embedder, query, settings, allowed=None):
        self.world, self.settings = world, settings
        self.allowed = set(world.turns) if allowed is None else allowed
        self._similarities(embedder, query)
        self._subgraph()
        self._weights()
        self._walk()

    def _similarities(self, embedder, query):
        asked = embed_query(embedder, query) if query.strip() else None

        def sim(text):
            if asked is None or not text.strip():
                return 0.0
            (windows,) = embed_texts(embedder, [text])
            return max(0.0, float(np.vecdot(windows.astype(np.float16).astype(np.float32), asked).max()))

        world, s = self.world, self.settings
        said = {turn: f"{data['speaker']}: {data['text']}" for turn, data in world.turns.items()}
        indexed = {turn for turn, data in world.turns.items() if data["segment_id"] and data["text"].strip()}
        self.turn = {turn: sim(said[turn]) if turn in indexed & self.allowed else 0.0 for turn in world.turns}
        self.segment = {
            segment: sim(data["summary"]) if set(data["turn_ids"]) <= self.allowed else 0.0 for segment, data in world.segments.items()
        }
        self.claim = [sim(text) if set(sources) <= self.allowed else 0.0 for _, text, sources, _ in world.claims]
        self.mention = {}
        for value, (ends, _, sources, _) in zip(self.claim, world.claims, strict=True):
            for key in {(turn, end) for turn in sources for end in ends}:
                self.mention[key] = max(value, self.mention.get(key, 0.0))
        self.entity = {
            entity: max((value for (_, other), value in self.mention.items() if other == entity), default=0.0) for entity in world.entities
        }
        words = dict(zip(world.turns, bm25(said.values(), query), strict=True))
        self.words = {turn: score if turn in self.allowed else 0.0 for turn, score in words.items()}
        top = max(self.words.values(), default=0.0)
        scale = max([*self.turn.values(), *self.claim, 0.0]) ** s.sharpness or 1.0
        self.turn_seed = {turn: value**s.sharpness for turn, value in self.turn.items()}
        if s.lexical and top:
            for turn in world.turns:
                self.turn_seed[turn] += s.lexical * scale * (self.words[turn] / top) ** LEXICAL_POWER

    def _subgraph(self):
        world, s = self.world, self.settings
        if not s.subgraph:
            self.turns = set(self.allowed)
            self.entities = {entity for turn, entity in self.mention if turn in self.allowed}
            self.segments = {world.turns[turn]["segment_id"] for turn in self.allowed} - {None}
            return
        described = {}
        for value, (_, text, _, triplet) in zip(self.claim, world.claims, strict=True):
            if triplet:
                described[text] = max(value, described.get(text, 0.0))
        chosen = set(best(described, s.aspect_k))
        related = [claim for claim, value in zip(world.claims, self.claim, strict=True) if claim[3] and claim[1] in chosen and value > 0]
        turns = {turn for claim in related for turn in claim[2]}
        turns |= set(best(self.turn, s.aspect_k)) if s.turn_aspect else set()
        turns |= set(best(self.words, s.aspect_k)) if s.lexical else set()
        entities = set(best(self.entity, s.aspect_k)) | {end for claim in related for end in claim[0]}
        segments = set(best(self.segment, s.aspect_k))
        self.turns, self.entities, self.segments = set(turns), set(entities), set(segments)
        mentioned = sorted(self.mention, key=lambda pair: (list(world.turns).index(pair[0]), list(world.entities).index(pair[1])))
        ends = [claim[0] for claim in world.claims if claim[3]]
        for entity in entities:
            self.turns |= set(neighbours([turn for turn, other in mentioned if other == entity], self.turn_seed, s.fanout))
            for near in ({tail for head, tail in ends if head == entity}, {head for head, tail in ends if tail == entity}):
                self.entities |= set(neighbours([other for other in world.entities if other in near], self.entity, s.fanout))
        for segment in segments:
            self.turns |= set(neighbours(world.segments[segment]["turn_ids"], self.turn_seed, s.fanout))
        for turn in turns:
            self.entities |= set(neighbours([entity for other, entity in mentioned if other == turn], self.entity, s.fanout))
            self.segments |= {world.turns[turn]["segment_id"]} - {None}
        if s.adjacency:
            self.turns |= {pair[1] for pair in self._pairs() if pair[0] in turns}
            self.turns |= {pair[0] for pair in self._pairs() if pair[1] in turns}
        self.turns &= self.allowed

    def _pairs(self):
        turns = list(self.world.turns.items())
        for (before, one), (after, other) in pairwise(turns):
            if one["session_id"] == other["session_id"]:
                yield before, after

    def _weights(self):
        world, s = self.world, self.settings
        uniform = s.weights == "uniform"
        self.weight = Counter()
        out = Counter()
        for (turn, entity), value in self.mention.items():
            if turn in self.turns and entity in self.entities:
                weight = 1.0 if uniform else value**s.weight_sharpness
                self.weight[entity, turn] += weight
                self.weight[turn, entity] += weight
                out[turn] += weight
        related = {}
        for value, (ends, *_, triplet) in zip(self.claim, world.claims, strict=True):
            if triplet:
                related[ends] = max(value, related.get(ends, 0.0))
        for (head, tail), value in related.items():
            if head in self.entities and tail in self.entities:
                weight = 1.0 if uniform else value**s.weight_sharpness
                self.weight[head, tail] += weight
                self.weight[tail, head] += weight
        for turn in self.turns:
            segment = world.turns[turn]["segment_id"]
            if segment in self.segments:
                spoken = [self.entity[entity] ** s.weight_sharpness for other, entity in self.mention if other == turn]
                own = self.turn[turn] ** s.weight_sharpness
                up = 1.0 if uniform else sum(spoken) / len(spoken) if spoken else own
                self.weight[turn, segment] += up
                self.weight[segment, turn] += 1.0 if uniform else own
                out[turn] += up
        welcome = {turn: s.dropped_weight if world.turns[turn]["kept"] is False else 1.0 for turn in world.turns}
        for before, after in self._pairs() if s.adjacency else ():
            if before in self.turns and after in self.turns:
                self.weight[before, after] += s.adjacency * (out[before] or 1.0) * welcome[after]
                self.weight[after, before] += s.adjacency * BACKWARD * (out[after] or 1.0) * welcome[before]
        self.seed = {turn: self.turn_seed[turn] * welcome[turn] for turn in self.turns}
        self.seed |= {entity: self.entity[entity] ** s.sharpness for entity in self.entities}
        self.seed |= {segment: self.segment[segment] ** s.sharpness for segment in self.segments}

    def _walk(self):
        nodes = list(self.seed)
        place = {node: number for number, node in enumerate(nodes)}
        total = Counter()
        for (start, _), weight in self.weight.items():
            total[start] += weight
        p = np.zeros((len(nodes), len(nodes)))
        for (start, end), weight in self.weight.items():
            if total[start] > 0:
                p[place[start], place[end]] += weight / total[start]
        d = self.settings.damping
        score = (1 - d) * np.linalg.solve(np.eye(len(nodes)) - d * p.T, np.array([self.seed[node] for node in nodes])) if nodes else []
        self.score = dict(zip(nodes, map(float, score), strict=True))

    def top(self, k):
        """(turn, score, filled) of the best k."""
        order = list(self.world.turns)
        inside = {turn: self.score[turn] for turn in order if turn in self.turns}
        found = [(turn, inside[turn], False) for turn in best(inside, k)]
        rest = {turn: self.turn_seed[turn] for turn in order if turn in self.allowed and turn not in {turn for turn, *_ in found}}
        return found + [(turn, 0.0, True) for turn in best(rest, k - len(found))]
