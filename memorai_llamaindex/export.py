"""A whole memory into any LlamaIndex property graph store, for those who outgrow one machine, and out of it again."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.graph_stores.types import TRIPLET_SOURCE_KEY, ChunkNode, LabelledNode, PropertyGraphStore
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.utils import node_to_metadata_dict

from memorai_core import ConfigurationError, Memory, StoreError, Turn
from memorai_llamaindex.graph import Naming, graph_of
from memorai_llamaindex.graph_reads import user_prefix
from memorai_llamaindex.store import MemoraiPropertyGraphStore

logger = logging.getLogger(__name__)
T = TypeVar("T")
BATCH = 500
DESCRIPTIONS = 20
"""Descriptions of an entity that its vector is made of, at most."""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """How much of a graph an export wrote."""

    nodes: int
    relations: int


def export_to_property_graph(
    memory: Memory, user_id: str, store: PropertyGraphStore, *, prefix: str | None = None, embed_model: BaseEmbedding | None = None
) -> ExportReport:
    """Writes a user's memory into a store, in place of what an earlier export of the user left there.

    Which turns a triplet rests on stands whole on the nodes of the turns (`triplets`, as JSON) and on their MENTIONS relations
    (`triplet_ids`). Ids begin with `prefix`, by default the user's id, so that several users may share a store; "" is for a
    store of one user. `embed_model` gives nodes their vectors. Raises UnknownUserError.
    """
    prefix = user_prefix(user_id) if prefix is None else prefix
    view = memory.view(user_id=user_id)
    turns = view.turns()
    part = graph_of(view, turns, Naming(user_id, prefix))
    for node, turn in zip(part.nodes, turns, strict=False):
        node.properties |= _for_retrieval(node, turn)
    delete_from_property_graph(user_id, store, prefix=prefix)
    for nodes in _batches(part.nodes):
        if embed_model is not None:
            vectors = embed_model.get_text_embedding_batch([_told(node) for node in nodes])
            nodes = [node.model_copy(update={"embedding": vector}) for node, vector in zip(nodes, vectors, strict=True)]
        store.upsert_nodes(nodes)
    for relations in _batches(part.relations):
        store.upsert_relations(relations)
    return ExportReport(len(part.nodes), len(part.relations))


def delete_from_property_graph(user_id: str, store: PropertyGraphStore, *, prefix: str | None = None) -> None:
    """Takes a user's exported nodes, and all relations at them, out of a store; other users' stay.

    Raises ConfigurationError for a `MemoraiPropertyGraphStore`, which is the memory itself, and StoreError where the store
    keeps what it was told to delete.
    """
    if isinstance(store, MemoraiPropertyGraphStore):
        raise ConfigurationError("this store is a memory, not an export of one; memory.forget(user_id=..., everything=True) empties it")
    prefix, wanted = user_prefix(user_id) if prefix is None else prefix, {"user_id": user_id}
    if not _exported(store, user_id, prefix):
        return
    try:
        store.delete(properties=wanted)
    except Exception as error:
        logger.info("%s does not delete by property (%s): deleting by id", type(store).__name__, error)
    last: list[str] = []
    while left := _exported(store, user_id, prefix):  # some stores give, or delete, only so many at once
        if left == last:
            raise StoreError(f"{type(store).__name__} keeps nodes that it was told to delete: {', '.join(left[:3])}")
        for ids in _batches(left):
            store.delete(ids=ids)
        last = left


def _exported(store: PropertyGraphStore, user_id: str, prefix: str) -> list[str]:
    """Ids of the user's nodes. Some stores do not filter by property and some do not give properties back, so ids are checked too."""
    found = store.get(properties={"user_id": user_id})
    return sorted(
        node.id
        for node in found
        if node.id.startswith(prefix) and node.properties.get("user_id", user_id if prefix else None) == user_id
    )  # fmt: skip


def _for_retrieval(node: LabelledNode, turn: Turn) -> dict[str, object]:
    """What a store must hold for the framework to show a turn's text beside the entities it mentions."""
    session = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=turn.session_id)}
    text = TextNode(id_=node.id, relationships=session)
    return {**node_to_metadata_dict(text, remove_text=True), TRIPLET_SOURCE_KEY: node.id}


def _told(node: LabelledNode) -> str:
    """What a node's vector is made of: its text, or what is said of an entity."""
    if isinstance(node, ChunkNode):
        return node.text
    return "\n".join([str(node.properties["display_name"]), *node.properties["descriptions"][:DESCRIPTIONS]])


def _batches(items: Sequence[T]) -> Iterator[list[T]]:
    return (list(items[start : start + BATCH]) for start in range(0, len(items), BATCH))
