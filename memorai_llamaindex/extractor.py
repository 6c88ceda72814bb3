"""memorai's write path as an extractor of a property graph index."""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY
from llama_index.core.schema import BaseNode, TransformComponent
from pydantic import ConfigDict, Field

from memorai_core import Memory, UnknownUserError
from memorai_core.view import View
from memorai_llamaindex.documents import Reader, by_session, is_of, read_node, session_of, source_of
from memorai_llamaindex.graph import Naming, Part, graph_of
from memorai_llamaindex.graph_reads import user_prefix
from memorai_llamaindex.scope import UserId, user_of


class MemoraiExtractor(TransformComponent):
    """An entry of `kg_extractors` that gives each document its part of a memory's graph, with provenance by turn.

    Documents and transcripts become turns of `memory` (`Memory.open(":memory:")` where nothing else is to keep them) and are
    indexed; the graph then goes into whatever store the index has. Which turns a triplet rests on stands on the nodes of the
    turns and on the MENTIONS relations. Ids begin with the user's, so that several users may share a store; `prefix=""` leaves
    it out.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    memory: Memory = Field(exclude=True, repr=False)
    user_id: UserId = Field(exclude=True)
    session_id: str | None = None
    """Otherwise the one in a node's metadata, or its document, or itself."""
    prefix: str | None = None
    reader: Reader = Field(default=read_node, exclude=True)
    """Gives a node's messages."""

    @classmethod
    def class_name(cls) -> str:
        """The name by which the framework knows the class."""
        return "MemoraiExtractor"

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """The nodes, each with graph nodes and relations in its metadata, where the index looks for them."""
        user_id = user_of(self.user_id)
        sessions = by_session(nodes, self.session_id, self.reader)
        for session_id, messages in sessions.items():
            self.memory.append(messages, user_id=user_id, session_id=session_id)
        if sessions:
            self.memory.index(user_id=user_id)
        return self._extracted(nodes, user_id)

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """The same, without blocking the event loop."""
        user_id = user_of(self.user_id)
        sessions = by_session(nodes, self.session_id, self.reader)
        for session_id, messages in sessions.items():
            await self.memory.aappend(messages, user_id=user_id, session_id=session_id)
        if sessions:
            await self.memory.aindex(user_id=user_id)
        return await asyncio.to_thread(self._extracted, nodes, user_id)

    def _extracted(self, nodes: Sequence[BaseNode], user_id: str) -> list[BaseNode]:
        try:
            view = self.memory.view(user_id=user_id)
        except UnknownUserError:
            view = None
        naming = Naming(user_id, user_prefix(user_id) if self.prefix is None else self.prefix)
        for node in nodes:
            part = self._part(view, node, naming) if view else Part()
            node.metadata[KG_NODES_KEY] = [*node.metadata.get(KG_NODES_KEY, []), *part.nodes]
            node.metadata[KG_RELATIONS_KEY] = [*node.metadata.get(KG_RELATIONS_KEY, []), *part.relations]
        return list(nodes)

    def _part(self, view: View, node: BaseNode, naming: Naming) -> Part:
        session = view.turns(session_id=session_of(node, self.session_id))
        return graph_of(view, [turn for turn in session if is_of(turn.source_id, source_of(node))], naming)
