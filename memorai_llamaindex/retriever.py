"""memorai's ranking as a sub-retriever of LlamaIndex's property graph index."""

import asyncio
from datetime import datetime

from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.graph_stores.types import PropertyGraphStore
from llama_index.core.indices.property_graph import BasePGRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from memorai_core import ConfigurationError, Memory, UnknownSessionError, UnknownUserError
from memorai_core.embedding import embed_query
from memorai_llamaindex.embedding import is_same_vector
from memorai_llamaindex.nodes import evidence_nodes
from memorai_llamaindex.scope import IndexMode, UserId, aindex_turns, check_index_mode, index_turns, user_of
from memorai_llamaindex.store import MemoraiPropertyGraphStore


class MemoraiPGRetriever(BasePGRetriever):
    """Gives the k turns of a user's memory that bear most on a query, a node each, best first (§3.3).

    `graph_store` is the index's, and may be any; a `MemoraiPropertyGraphStore` brings memory and user along. A user or session
    of whom nothing is stored yet has no turns. `session_id` keeps to one session and `as_of` to turns not later than it.
    Where queries come with an embedding, the first one is compared with the memory's own: if they are the same, the embeddings
    of that and of all later queries are used, and otherwise none are. `index` has pending turns turned into graph before each
    retrieval ("inline"), or started on with it ("background").
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
        self._trusts_embeddings: bool | None = None
        store = MemoraiPropertyGraphStore(memory=memory, user_id=user_id) if graph_store is None else graph_store
        super().__init__(graph_store=store, include_text=False, callback_manager=callback_manager)

    def retrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The turns as nodes; each has all of its provenance in its metadata, so no source text is to be added."""
        user_id = user_of(self._user_id)
        try:
            index_turns(self._memory, user_id, self._index)
            return self._nodes(query_bundle, user_id)
        except (UnknownUserError, UnknownSessionError):
            return []

    async def aretrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """`retrieve_from_graph`, without blocking the event loop."""
        user_id = user_of(self._user_id)
        try:
            await aindex_turns(self._memory, user_id, self._index)
            return await asyncio.to_thread(self._nodes, query_bundle, user_id)
        except (UnknownUserError, UnknownSessionError):
            return []

    def _nodes(self, query_bundle: QueryBundle, user_id: str) -> list[NodeWithScore]:
        evidence = self._memory.retrieve(
            query_bundle.query_str, user_id=user_id, k=self._k, session_id=self._session_id, as_of=self._as_of,
            query_vector=self._usable_embedding(query_bundle),
        )  # fmt: skip
        return evidence_nodes(evidence)

    def _usable_embedding(self, query_bundle: QueryBundle) -> list[float] | None:
        """The query's embedding where it comes from the memory's own model; another's would rank at random."""
        if query_bundle.embedding is None or not query_bundle.query_str.strip():
            return None
        if self._trusts_embeddings is None:
            own = embed_query(self._memory.embedder, query_bundle.query_str)
            self._trusts_embeddings = is_same_vector(query_bundle.embedding, own)
        return query_bundle.embedding if self._trusts_embeddings else None
