"""A memory's turns, segments, entities and triplets as the nodes and relations of a LlamaIndex property graph.

LlamaIndex's entities and relations hold one source each, and stores overwrite one by another. So provenance travels where
nothing can overwrite it: whole on each turn's node, and on the one MENTIONS relation from a turn to an entity.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from llama_index.core.graph_stores.types import TRIPLET_SOURCE_KEY, ChunkNode, EntityNode, LabelledNode, Relation

from memorai_core import Entity, Segment, Triplet, Turn
from memorai_core.view import View
from memorai_llamaindex.nodes import triplet_record

MENTIONS, PART_OF, FOLLOWED_BY = "MENTIONS", "PART_OF", "FOLLOWED_BY"
"""Turn to entity, turn to segment, turn to the next turn of its session."""
Properties = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Naming:
    """How a user's nodes are called in a graph: `prefix` stands before every id, so that users do not meet in one."""

    user_id: str
    prefix: str = ""

    def of(self, node_id: str) -> str:
        """The id of a turn or segment."""
        return self.prefix + node_id

    def entity(self, name: str) -> str:
        """An entity's name and id in one, as the framework has it; it would put a space for each double quote."""
        return self.prefix + name.replace('"', "'")


def turn_node(turn: Turn, triplets: Sequence[Triplet], naming: Naming) -> ChunkNode:
    """A turn, with the triplets that rest on it, whole, as JSON."""
    properties = _present(
        kind="turn", user_id=naming.user_id, turn_id=turn.turn_id, source_id=turn.source_id, session_id=turn.session_id,
        segment_id=turn.segment_id, position=turn.position, role=turn.role, speaker=turn.speaker, kept=turn.kept,
        timestamp=turn.timestamp.isoformat() if turn.timestamp else None, timestamp_inferred=turn.timestamp_inferred,
        triplets=json.dumps([triplet_record(triplet) for triplet in triplets], ensure_ascii=False),
    )  # fmt: skip
    return ChunkNode(id_=naming.of(turn.turn_id), label="turn", text=f"{turn.speaker}: {turn.text}", properties=properties)


def segment_node(segment: Segment, naming: Naming) -> ChunkNode:
    """A segment, with its summary for a text."""
    properties = _present(
        kind="segment", user_id=naming.user_id, segment_id=segment.segment_id, session_id=segment.session_id,
        turn_ids=list(segment.turn_ids), made_by=segment.made_by,
    )  # fmt: skip
    return ChunkNode(id_=naming.of(segment.segment_id), label="segment", text=segment.summary, properties=properties)


def entity_nodes(entities: Iterable[Entity], naming: Naming, sessions: Mapping[str, str] | None = None) -> list[EntityNode]:
    """Entities, with what the segments say of them; those of one name are one node. `sessions` adds what mentions them, by turn."""
    return [_entity_node(name, group, naming, sessions) for name, group in _named(entities, naming).items()]


def _entity_node(name: str, group: Sequence[Entity], naming: Naming, sessions: Mapping[str, str] | None) -> EntityNode:
    properties: Properties = {
        "kind": "entity", "user_id": naming.user_id, "entity_ids": [entity.entity_id for entity in group], "display_name": group[0].name,
        "descriptions": [description.text for entity in group for description in entity.descriptions],
    }  # fmt: skip
    if sessions is not None:
        turn_ids = list(dict.fromkeys(turn_id for entity in group for turn_id in entity.turn_ids if turn_id in sessions))
        properties |= {"turn_ids": turn_ids, "session_ids": list(dict.fromkeys(sessions[turn_id] for turn_id in turn_ids))}
    return EntityNode(name=name, label="entity", properties=properties)


def _named(entities: Iterable[Entity], naming: Naming) -> dict[str, list[Entity]]:
    """Entities by the name of their node: a phrase and a model's entity may be called the same."""
    named: dict[str, list[Entity]] = {}
    for entity in entities:
        named.setdefault(naming.entity(entity.name), []).append(entity)
    return named


def relation(triplets: Sequence[Triplet], naming: Naming, source_turn: str | None = None) -> Relation:
    """What joins the subject and object that some triplets have in common; `source_turn` is the one that stands for all."""
    first = triplets[0]
    sources = list(dict.fromkeys(turn_id for triplet in triplets for turn_id in triplet.source_turns))
    properties = {
        "kind": "relation", "user_id": naming.user_id, "triplet_ids": [triplet.triplet_id for triplet in triplets],
        "descriptions": [triplet.description for triplet in triplets], "source_turns": sources,
        "origins": [triplet.origin for triplet in triplets], TRIPLET_SOURCE_KEY: naming.of(source_turn or sources[0]),
    }  # fmt: skip
    ends = naming.entity(first.subject), naming.entity(first.object)
    return Relation(label=first.relation, source_id=ends[0], target_id=ends[1], properties=properties)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a memory as a property graph."""

    nodes: list[LabelledNode] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)


def graph_of(view: View, turns: Sequence[Turn], naming: Naming) -> Part:
    """The graph of some turns: themselves, first and in their order, their segments, the entities they mention, and what joins these."""
    wanted = {turn.turn_id for turn in turns}
    triplets = view.triplets(citing=wanted)
    segments = view.segments([*dict.fromkeys(turn.segment_id for turn in turns if turn.segment_id)])
    entities = view.entities(turn_ids=wanted)
    citing = by_turn(triplets)
    nodes: list[LabelledNode] = [turn_node(turn, citing.get(turn.turn_id, []), naming) for turn in turns]
    nodes += [segment_node(segment, naming) for segment in segments]
    nodes += entity_nodes(entities, naming)
    relations = _mentions(entities, citing, wanted, naming)
    relations += [_structural(PART_OF, turn.turn_id, turn.segment_id, naming) for turn in turns if turn.segment_id]
    relations += [_structural(FOLLOWED_BY, a.turn_id, b.turn_id, naming) for a, b in pairwise(turns) if a.session_id == b.session_id]
    alike: dict[tuple[str, str, str], list[Triplet]] = {}
    for triplet in triplets:
        alike.setdefault((naming.entity(triplet.subject), triplet.relation, naming.entity(triplet.object)), []).append(triplet)
    return Part(nodes, relations + [relation(group, naming) for group in alike.values()])


def by_turn(triplets: Iterable[Triplet]) -> dict[str, list[Triplet]]:
    """The triplets that rest on each turn, by its id."""
    citing: dict[str, list[Triplet]] = {}
    for triplet in triplets:
        for turn_id in triplet.source_turns:
            citing.setdefault(turn_id, []).append(triplet)
    return citing


def _mentions(
    entities: Iterable[Entity], citing: Mapping[str, Sequence[Triplet]], wanted: Collection[str], naming: Naming
) -> list[Relation]:
    """What turns mention, one relation a turn and entity node, and by which triplets and descriptions."""
    by: dict[tuple[str, str], list[str]] = {}
    for turn_id in wanted:
        for triplet in citing.get(turn_id, ()):
            for end in {triplet.subject, triplet.object}:
                by.setdefault((turn_id, naming.entity(end)), []).append(triplet.triplet_id)
    mentions: list[Relation] = []
    for name, group in _named(entities, naming).items():
        for turn_id in dict.fromkeys(turn_id for entity in group for turn_id in entity.turn_ids if turn_id in wanted):
            said = [one.text for entity in group for one in entity.descriptions if turn_id in one.turn_ids]
            properties = {
                "kind": "mention", "user_id": naming.user_id, "turn_id": turn_id, "triplet_ids": by.get((turn_id, name), []),
                "descriptions": said,
            }  # fmt: skip
            mentions.append(Relation(label=MENTIONS, source_id=naming.of(turn_id), target_id=name, properties=properties))
    return mentions


def _structural(label: str, source: str, target: str, naming: Naming) -> Relation:
    properties = {"kind": label.lower(), "user_id": naming.user_id}
    return Relation(label=label, source_id=naming.of(source), target_id=naming.of(target), properties=properties)


def _present(**properties: Any) -> Properties:
    """The properties that have a value: databases know no null, or no type for it."""
    return {name: value for name, value in properties.items() if value is not None}
