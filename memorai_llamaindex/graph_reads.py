"""Reading a memory as a property graph store is read: by id, by property, around nodes, and near a vector."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote

from llama_index.core.graph_stores.types import (
    TRIPLET_SOURCE_KEY,
    ChunkNode,
    EntityNode,
    LabelledNode,
    Relation,
)
from llama_index.core.graph_stores.types import Triplet as GraphTriplet
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from memorai_core import Entity, Triplet, Turn
from memorai_core.view import View
from memorai_llamaindex.graph import Naming, by_turn, entity_nodes, relation, segment_node, turn_node
from memorai_llamaindex.nodes import turn_node as llama_node

PAGE = 64
"""Entities that are read at once while filters refuse some."""


def user_prefix(user_id: str) -> str:
    """What stands before a user's ids where several users share a graph: no two users' prefixes begin alike."""
    return f"{quote(user_id, safe='')}/"


def nodes(view: View, properties: Mapping[str, Any] | None, ids: Sequence[str] | None) -> list[LabelledNode]:
    """Turns, segments and entities, in that order, of the ids and with all of the properties."""
    if ids is not None:
        ids = bare_ids(view.user_id, ids)
    naming, kind = Naming(view.user_id), (properties or {}).get("kind")
    turns = view.turns(ids) if kind in (None, "turn") else []
    citing = by_turn(view.triplets(citing=[turn.turn_id for turn in turns])) if turns else {}
    found: list[LabelledNode] = [turn_node(turn, citing.get(turn.turn_id, []), naming) for turn in turns]
    if kind in (None, "segment"):
        found += [segment_node(segment, naming) for segment in view.segments(ids)]
    if kind in (None, "entity"):
        found += _entity_nodes(view, view.entities(ids, entity_ids=ids))
    return [node for node in found if has(node.properties, properties)]


def has(found: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether all wanted properties are there."""
    return all(found.get(name) == value for name, value in (wanted or {}).items())


def llama_nodes(view: View, node_ids: Sequence[str]) -> list[BaseNode]:
    """Turns as text nodes, with the triplets that rest on them."""
    turns = view.turns(bare_ids(view.user_id, node_ids))
    citing = by_turn(view.triplets(citing=[turn.turn_id for turn in turns]))
    return [llama_node(turn, citing.get(turn.turn_id, []), view.user_id) for turn in turns]


def triplets(
    view: View,
    names: Sequence[str] | None,
    relations: Sequence[str] | None,
    properties: Mapping[str, Any] | None,
    ids: Sequence[str] | None,
) -> list[GraphTriplet]:
    """Triplets with an end among the names, of one of the relations, with all properties on them or their ends, about or citing an id."""
    if not (names or relations or properties or ids):
        return []
    found = view.triplets(about=bare_ids(view.user_id, names)) if names else None
    if ids:
        bare = bare_ids(view.user_id, ids)
        near = view.triplets(about=bare, citing=bare)
        known = {triplet.triplet_id for triplet in near}
        found = near if found is None else [triplet for triplet in found if triplet.triplet_id in known]
    if found is None:
        found = view.triplets()
    if relations:
        found = [triplet for triplet in found if triplet.relation in relations]
    tuples = _tuples(view, [(triplet, triplet.source_turns[0]) for triplet in found])
    return [one for one in tuples if has(one[0].properties | one[2].properties | one[1].properties, properties)]


def around(view: View, seeds: Sequence[LabelledNode], depth: int, limit: int, ignored: Sequence[str]) -> list[GraphTriplet]:
    """Triplets within `depth` steps of nodes, each once a source turn, at most `limit`, nearest first (see `View.triplets`)."""
    names = bare_ids(view.user_id, [node.id for node in seeds if isinstance(node, EntityNode)])
    citing = bare_ids(view.user_id, [node.id for node in seeds if isinstance(node, ChunkNode)])
    found: dict[str, Triplet] = {}
    seen: set[str] = set()
    for _ in range(depth):
        if not (names or citing) or len(found) >= limit:
            break
        step = view.triplets(about=names, citing=citing, without=ignored, limit=limit)
        fresh = [triplet for triplet in step if triplet.triplet_id not in found]
        found.update({triplet.triplet_id: triplet for triplet in fresh})
        seen.update(names)
        names, citing = [end for triplet in fresh for end in (triplet.subject, triplet.object) if end not in seen], []
    cited = ((triplet, turn_id) for triplet in found.values() for turn_id in triplet.source_turns)
    return _tuples(view, list(islice(cited, limit)))


def nearest(view: View, query: VectorStoreQuery) -> tuple[list[LabelledNode], list[float]]:
    """The entities nearest to the query's embedding that pass its filters, node ids and document ids (sessions)."""
    if query.query_embedding is None:
        return [], []
    passing = islice(_passing(view, query), query.similarity_top_k)
    pairs = list(passing)
    return [node for node, _ in pairs], [similarity for _, similarity in pairs]


def _passing(view: View, query: VectorStoreQuery) -> Iterator[tuple[LabelledNode, float]]:
    ranked = view.nearest_entities(query.query_embedding or [])
    if query.node_ids is not None:
        wanted = {entity.entity_id for entity in view.entities(bare_ids(view.user_id, query.node_ids))}
        ranked = [(one, similarity) for one, similarity in ranked if one in wanted]
    given: set[str] = set()
    page_size = PAGE if query.filters or query.doc_ids is not None else max(1, query.similarity_top_k)
    for start in range(0, len(ranked), page_size):
        similarity = dict(ranked[start : start + page_size])
        page = {
            entity_id: node
            for node in _entity_nodes(view, view.entities(entity_ids=similarity))
            for entity_id in node.properties["entity_ids"]
        }
        meets = build_metadata_filter_fn(lambda one, page=page: page[one].properties, query.filters)  # type: ignore[misc]
        for one in similarity:
            if one in page and page[one].id not in given and meets(one) and _of_sessions(page[one], query.doc_ids):
                given.add(page[one].id)
                yield page[one], similarity[one]


def _of_sessions(node: LabelledNode, session_ids: Sequence[str] | None) -> bool:
    return session_ids is None or not set(session_ids).isdisjoint(node.properties["session_ids"])


def _entity_nodes(view: View, entities: Sequence[Entity]) -> list[EntityNode]:
    """Entities with the turns and sessions that mention them."""
    turns = view.turns({turn_id for entity in entities for turn_id in entity.turn_ids})
    return entity_nodes(entities, Naming(view.user_id), {turn.turn_id: turn.session_id for turn in turns})


def _tuples(view: View, cited: Sequence[tuple[Triplet, str]]) -> list[GraphTriplet]:
    """Triplets as the framework has them: the subject names the turn that the framework's retrievers will show."""
    naming = Naming(view.user_id)
    turns = {turn.turn_id: turn for turn in view.turns({turn_id for _, turn_id in cited})}
    return [
        (_end(triplet.subject, turn_id, naming), _edge(triplet, turns.get(turn_id), turn_id, naming), _end(triplet.object, turn_id, naming))
        for triplet, turn_id in cited
    ]


def _end(name: str, source_turn: str, naming: Naming) -> EntityNode:
    properties = {"kind": "entity", "user_id": naming.user_id, "display_name": name, TRIPLET_SOURCE_KEY: source_turn}
    return EntityNode(name=naming.entity(name), label="entity", properties=properties)


def _edge(triplet: Triplet, turn: Turn | None, source_turn: str, naming: Naming) -> Relation:
    edge = relation([triplet], naming, source_turn)
    if turn is not None:
        edge.properties |= {"session_id": turn.session_id, "segment_id": turn.segment_id, "speaker": turn.speaker}
        edge.properties |= {"timestamp": turn.timestamp.isoformat()} if turn.timestamp else {}
    return edge


def bare_ids(user_id: str, ids: Sequence[str]) -> list[str]:
    """Ids as the memory has them: without the user's prefix, and with the double quotes that a node's name cannot have."""
    bare = [one.removeprefix(user_prefix(user_id)) for one in ids]
    return list(dict.fromkeys([*bare, *(one.replace("'", '"') for one in bare)]))
