"""memorai's ranking as a sub-retriever of LlamaIndex's property graph index."""

import asyncio
from datetime import datetime

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.graph_stores.types import PropertyGraphStore
from llama_index.core.indices.property_graph import BasePGRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from memorai_core import ConfigurationError, Memory, UnknownSessionError, UnknownUserError
from memorai_llamaindex.embedding import same_embedder
from memorai_llamaindex.nodes import evidence_nodes
from memorai_llamaindex.scope import IndexMode, UserId, aindex, check_index_mode, index, user_of
from memorai_llamaindex.store import MemoraiPropertyGraphStore


class MemoraiPGRetriever(BasePGRetriever):
    """Gives the k turns of a user's memory that bear most on a query, a node each, best first (§3.3).

    `graph_store` is the index's, and may be any; a `MemoraiPropertyGraphStore` brings memory and user along. A user or session
    of whom nothing is stored yet has no turns. `session_id` keeps to one session and `as_of` to turns not later than it.
    `embed_model` names the model that the index embeds queries with: where the memory was built with the same one, the
    query's embedding is used, and otherwise the memory embeds the query itself. `index` has pending turns turned into graph
    before each retrieval ("inline"), or started on with it ("background").
    """

    def __init__(
        self,
        graph_store: PropertyGraphStore | None = None,
        *,
        memory: Memory | None = None,
        user_id: UserId | None = None,
        session_id: str | None = None,
        k: int = 10,
        as_of: datetime | None = None,
        index: IndexMode = "manual",
        embed_model: BaseEmbedding | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        if isinstance(graph_store, MemoraiPropertyGraphStore):
            memory = graph_store.memory if memory is None else memory
            user_id = graph_store.user_id if user_id is None else user_id
        if memory is None or user_id is None:
            raise ConfigurationError("MemoraiPGRetriever needs memory= and user_id=, or a MemoraiPropertyGraphStore to take them from")
        self._memory = memory
        self._user_id = user_id
        self._session_id = session_id
        self._k = k
        self._as_of = as_of
        self._index = check_index_mode(index)
        self._embed_model = embed_model
        self._same_embedder: bool | None = None
        store = MemoraiPropertyGraphStore(memory=memory, user_id=user_id) if graph_store is None else graph_store
        super().__init__(graph_store=store, include_text=False, callback_manager=callback_manager)

    def retrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The turns as nodes; each has all of its provenance in its metadata, so no source text is to be added."""
        user_id = user_of(self._user_id)
        try:
            index(self._memory, user_id, self._index)
            return self._nodes(query_bundle, user_id)
        except (UnknownUserError, UnknownSessionError):
            return []

    async def aretrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """`retrieve_from_graph`, without blocking the event loop."""
        user_id = user_of(self._user_id)
        try:
            await aindex(self._memory, user_id, self._index)
            return await asyncio.to_thread(self._nodes, query_bundle, user_id)
        except (UnknownUserError, UnknownSessionError):
            return []

    def _nodes(self, query_bundle: QueryBundle, user_id: str) -> list[NodeWithScore]:
        evidence = self._memory.retrieve(
            query_bundle.query_str, user_id=user_id, k=self._k, session_id=self._session_id, as_of=self._as_of,
            query_vector=self._usable(query_bundle.embedding),
        )  # fmt: skip
        return evidence_nodes(evidence)

    def _usable(self, embedding: list[float] | None) -> list[float] | None:
        """The query's embedding where it comes from the memory's own model; a mixed-up one would rank at random."""
        if embedding is None or self._embed_model is None:
            return None
        if self._same_embedder is None:
            self._same_embedder = same_embedder(self._embed_model, self._memory.embedder)
        return embedding if self._same_embedder else None
