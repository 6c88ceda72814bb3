"""A user's memory as a LlamaIndex property graph store."""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.graph_stores.types import LabelledNode, PropertyGraphStore, Relation, Triplet
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import VectorStoreQuery

from memorai_core import ConfigurationError, Memory, UnknownUserError
from memorai_core.view import View
from memorai_llamaindex import graph_reads, graph_writes
from memorai_llamaindex.scope import IndexMode, UserId, check_index_mode, index_turns, user_of


class MemoraiPropertyGraphStore(PropertyGraphStore):
    """What the framework's retrievers read of one user's memory, and where an index puts the turns of another conversation.

    Nodes are entities (called by their names), turns and segments (called by their ids); filters on properties must all be met;
    an empty list of ids stands for nothing. Turns come in through `upsert_llama_nodes` and `upsert_nodes` and are turned into
    graph as `index` says; entities and relations are made by the memory itself, so those it does not hold are refused with
    ConfigurationError. Deleting forgets turns for good, and with them what rests on them alone.
    """

    supports_structured_queries = False
    supports_vector_queries = True

    def __init__(self, *, memory: Memory, user_id: UserId, session_id: str | None = None, index: IndexMode = "inline") -> None:
        self.memory = memory
        self.user_id = user_id
        self._session_id = session_id
        self._index = check_index_mode(index)

    @property
    def client(self) -> Memory:
        """The memory."""
        return self.memory

    def get(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """Nodes with all of the properties, among the ids where given: names of entities, or ids of anything."""
        view = self._view()
        return [] if view is None else graph_reads.nodes(view, properties, ids)

    def get_llama_nodes(self, node_ids: list[str]) -> list[BaseNode]:
        """Turns by id."""
        view = self._view()
        return [] if view is None else graph_reads.llama_nodes(view, node_ids)

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """Triplets that meet all that is given; nothing where nothing is. Every source turn is in the relation's properties."""
        view = self._view()
        return [] if view is None else graph_reads.triplets(view, entity_names, relation_names, properties, ids)

    def get_rel_map(
        self, graph_nodes: list[LabelledNode], depth: int = 2, limit: int = 30, ignore_rels: list[str] | None = None
    ) -> list[Triplet]:
        """Triplets around nodes, nearest first, one for each turn that a triplet rests on, so that each brings its own text."""
        view = self._view()
        return [] if view is None else graph_reads.around(view, graph_nodes, depth, limit, ignore_rels or [])

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        """The entities nearest to a vector, by the best of what is said of each, that pass the filters, with their cosines."""
        view = self._view()
        return ([], []) if view is None else graph_reads.nearest(view, query)

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> Any:
        """Not supported; raises NotImplementedError."""
        raise NotImplementedError("memorai has no query language: export_to_property_graph puts a memory into a database that has one")

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Appends text chunks as turns; what the memory holds already is left as it is, and entities it does not hold are refused."""
        user_id = user_of(self.user_id)
        chunks = graph_writes.new_chunks(self._view(user_id), user_id, nodes)
        self._append(user_id, chunks)

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Does nothing for relations that the memory holds, and refuses others."""
        graph_writes.check_relations(self._view(), relations)

    def upsert_llama_nodes(self, llama_nodes: list[BaseNode]) -> None:
        """Appends nodes as turns, once each, and has them turned into graph."""
        self._append(user_of(self.user_id), llama_nodes)

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """Forgets the turns of the ids that have all of the properties; ids are those of turns, segments and appended nodes.

        Nothing given, or an empty list of ids, deletes nothing. Raises ConfigurationError for entities and relations.
        """
        if entity_names or relation_names:
            raise ConfigurationError("entities and relations rest on turns and go with the last of them: delete the turns instead")
        view = self._view()
        if view is not None:
            graph_writes.forget(self.memory, view, properties, ids)

    def delete_llama_nodes(self, node_ids: list[str] | None = None, ref_doc_ids: list[str] | None = None) -> None:
        """Forgets the turns of nodes, and the sessions that documents became."""
        self.delete(ids=node_ids or [])
        view = self._view()
        if view is not None and ref_doc_ids:
            doomed = [turn for session_id in ref_doc_ids for turn in view.turns(session_id=session_id)]
            graph_writes.forget_turns(self.memory, view, doomed)

    def _view(self, user_id: str | None = None) -> View | None:
        """The user's memory; None where nothing is stored of the user yet."""
        try:
            return self.memory.view(user_id=user_of(self.user_id) if user_id is None else user_id)
        except UnknownUserError:
            return None

    def _append(self, user_id: str, llama_nodes: Sequence[BaseNode]) -> None:
        if graph_writes.append(self.memory, user_id, self._session_id, llama_nodes):
            index_turns(self.memory, user_id, self._index)

    async def aget(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """`get`, in a thread."""
        return await asyncio.to_thread(self.get, properties, ids)

    async def aget_llama_nodes(self, node_ids: list[str]) -> list[BaseNode]:
        """`get_llama_nodes`, in a thread."""
        return await asyncio.to_thread(self.get_llama_nodes, node_ids)

    async def aget_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """`get_triplets`, in a thread."""
        return await asyncio.to_thread(self.get_triplets, entity_names, relation_names, properties, ids)

    async def aget_rel_map(
        self, graph_nodes: list[LabelledNode], depth: int = 2, limit: int = 30, ignore_rels: list[str] | None = None
    ) -> list[Triplet]:
        """`get_rel_map`, in a thread."""
        return await asyncio.to_thread(self.get_rel_map, graph_nodes, depth, limit, ignore_rels)

    async def avector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        """`vector_query`, in a thread."""
        return await asyncio.to_thread(self.vector_query, query)

    async def aupsert_nodes(self, nodes: list[LabelledNode]) -> None:
        """`upsert_nodes`, in a thread."""
        await asyncio.to_thread(self.upsert_nodes, nodes)

    async def aupsert_relations(self, relations: list[Relation]) -> None:
        """`upsert_relations`, in a thread."""
        await asyncio.to_thread(self.upsert_relations, relations)

    async def adelete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> None:
        """`delete`, in a thread."""
        await asyncio.to_thread(self.delete, entity_names, relation_names, properties, ids)

    async def adelete_llama_nodes(self, node_ids: list[str] | None = None, ref_doc_ids: list[str] | None = None) -> None:
        """`delete_llama_nodes`, in a thread."""
        await asyncio.to_thread(self.delete_llama_nodes, node_ids, ref_doc_ids)
