"""memorai in a LlamaIndex property graph index: read by it, filled by it, and handed over to a graph database."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from llama_index.core import PropertyGraphIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.llms.mock import MockLLM
from llama_index.core.schema import TextNode

from memorai_core import Memory
from memorai_core.formats import read_conversations
from memorai_llamaindex import (
    MemoraiEmbedding,
    MemoraiExtractor,
    MemoraiPGRetriever,
    MemoraiPropertyGraphStore,
    export_to_property_graph,
)

DATA = Path(__file__).parent / "data"


def main(db: Path) -> None:
    llm = MockLLM()  # your own; this one repeats its prompt
    with Memory.open(db) as memory:
        for conversation in read_conversations(DATA / "two_friends.jsonl"):
            for session in conversation.sessions:
                memory.append(session.messages, user_id="ines", session_id=session.session_id)
        memory.index(user_id="ines")

        # Read: the memory is the index's store, and memorai's ranking one of its retrievers, beside the framework's own.
        store = MemoraiPropertyGraphStore(memory=memory, user_id="ines")
        model = MemoraiEmbedding(memory.embedder)
        extractor = MemoraiExtractor(memory=memory, user_id="ines")
        index = PropertyGraphIndex.from_existing(store, llm=llm, embed_model=model, kg_extractors=[extractor], use_async=False)
        retrievers = [MemoraiPGRetriever(store, k=3), VectorContextRetriever(store, embed_model=model)]
        for node in index.as_retriever(sub_retrievers=retrievers).retrieve("What is the waltz for Marta's wedding called?")[:3]:
            print(f"{node.score:.3f}  {node.text}")
            for triplet in node.metadata["triplets"][:2]:
                print(f"       {triplet['subject']} - {triplet['relation']} - {triplet['object']}, from {triplet['source_turns']}")

        # Write: what is inserted becomes turns, once, and is there for every reader of the memory.
        index.insert_nodes([TextNode(id_="call", text="Ines: The roof is done.\nBram: And the bill?\nInes: Paid by Dona Graça.")])
        print([turn.text for turn in memory.retrieve("Who paid the bill for the roof?", user_id="ines", k=3).turns])

        # Hand over: the same graph in a store of the framework, with all provenance. Neo4jPropertyGraphStore(...) does as well.
        database = SimplePropertyGraphStore()
        print(export_to_property_graph(memory, "ines", database))
        (turn,) = database.get(properties={"source_id": "call::2"})
        print(turn.id, *[(one["subject"], one["relation"], one["object"]) for one in json.loads(turn.properties["triplets"])])


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder) / "memory.db")
