"""Writing to a memory as a property graph store is written: turns come in and go, the rest follows from them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from llama_index.core.graph_stores.types import ChunkNode, LabelledNode, Relation
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node

from memorai_core import ConfigurationError, Memory, Turn, UnknownSessionError, UnknownTurnError, UnknownUserError
from memorai_core.view import View
from memorai_llamaindex.documents import by_session, is_of, read_node
from memorai_llamaindex.graph import FOLLOWED_BY, MENTIONS, PART_OF, Naming, turn_node
from memorai_llamaindex.graph_reads import bare_ids, has, nodes, user_prefix

STRUCTURAL = {MENTIONS, PART_OF, FOLLOWED_BY, "SOURCE", "PREVIOUS", "NEXT", "PARENT", "CHILD"}
"""Relations that a memory has of itself between its turns; those of the framework's `ImplicitPathExtractor` are among them."""
_INSTEAD = (
    "memorai makes entities and relations itself, from turns: give the index kg_extractors=[MemoraiExtractor(memory=..., user_id=...)] "
    "over the same memory, or append messages"
)
_SHOWN = 5


def append(memory: Memory, user_id: str, session_id: str | None, llama_nodes: Sequence[BaseNode]) -> bool:
    """Appends nodes as turns, all of a session or none; those of the same id and text are there already. Whether any came."""
    sessions = by_session(llama_nodes, session_id, read_node)
    for session, messages in sessions.items():
        memory.append(messages, user_id=user_id, session_id=session)
    return bool(sessions)


def new_chunks(view: View | None, user_id: str, labelled: Sequence[LabelledNode]) -> list[BaseNode]:
    """The text chunks among nodes that the memory does not hold; raises ConfigurationError for other nodes it does not hold."""
    held = set() if view is None else {node.id for node in nodes(view, None, [node.id for node in labelled])}
    strange = [node for node in labelled if node.id.removeprefix(user_prefix(user_id)) not in held]
    refused = [node.id for node in strange if not isinstance(node, ChunkNode)]
    if refused:
        raise ConfigurationError(f"this memory holds no {_named(refused)}: {_INSTEAD}")
    return [_llama_node(node) for node in strange if isinstance(node, ChunkNode)]


def check_relations(view: View | None, relations: Sequence[Relation]) -> None:
    """Raises ConfigurationError for relations that the memory does not hold; it makes its own."""
    known = set() if view is None else {triplet.triplet_id for triplet in view.triplets(triplet_ids=_triplet_ids(relations))}
    refused = [
        f"{relation.source_id} -> {relation.label} -> {relation.target_id}"
        for relation in relations
        if relation.label not in STRUCTURAL and not known.issuperset(relation.properties.get("triplet_ids") or [""])
    ]
    if refused:
        raise ConfigurationError(f"this memory holds no {_named(refused)}: {_INSTEAD}")


def forget(memory: Memory, view: View, properties: Mapping[str, Any] | None, ids: Sequence[str] | None) -> None:
    """Forgets the turns of the ids (their own, their segments', or the nodes' that they came of) with all of the properties."""
    if not properties and not ids:
        return
    if ids is None and properties == {"user_id": view.user_id}:
        memory.forget(user_id=view.user_id, everything=True)
        return
    turns = view.turns() if ids is None else _turns_of(view, ids)
    naming = Naming(view.user_id)
    forget_turns(memory, view, [turn for turn in turns if has(turn_node(turn, [], naming).properties, properties)])


def forget_turns(memory: Memory, view: View, turns: Sequence[Turn]) -> None:
    """Forgets turns, whole sessions of them at once."""
    doomed: dict[str, set[str]] = defaultdict(set)
    for turn in turns:
        doomed[turn.session_id].add(turn.turn_id)
    for session_id, turn_ids in doomed.items():
        whole = turn_ids == {turn.turn_id for turn in view.turns(session_id=session_id)}
        with suppress(UnknownUserError, UnknownSessionError, UnknownTurnError):  # forgotten meanwhile
            if whole:
                memory.forget(user_id=view.user_id, session_id=session_id)
            for turn_id in () if whole else turn_ids:
                memory.forget(user_id=view.user_id, turn_id=turn_id)


def _turns_of(view: View, ids: Sequence[str]) -> list[Turn]:
    """The turns that ids stand for; an id that stands for nothing is left out. Raises ConfigurationError for an entity's."""
    bare = bare_ids(view.user_id, ids)
    found = {turn.turn_id: turn for turn in view.turns(bare)}
    held = view.segments(bare)
    found |= {turn.turn_id: turn for turn in view.turns([turn_id for segment in held for turn_id in segment.turn_ids])}
    rest = set(bare) - found.keys() - {segment.segment_id for segment in held}
    if rest and (entities := view.entities(bare, entity_ids=bare)):
        names = _named([entity.name for entity in entities])
        raise ConfigurationError(f"the entity {names} rests on turns and goes with the last of them: delete the turns that mention it")
    if rest:
        found |= {turn.turn_id: turn for turn in view.turns() if any(is_of(turn.source_id, one) for one in rest)}
    return list(found.values())


def _triplet_ids(relations: Sequence[Relation]) -> list[str]:
    return [one for relation in relations for one in relation.properties.get("triplet_ids") or ()]


def _llama_node(chunk: ChunkNode) -> BaseNode:
    """A chunk as the text node that it was made of, or else a new one."""
    if "_node_content" in chunk.properties:
        return metadata_dict_to_node(chunk.properties, text=chunk.text)
    return TextNode(id_=chunk.id, text=chunk.text, metadata=chunk.properties)


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN]))
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown
