"""What of the evidence comes through: memorai's retriever against the framework's own path over the same triplets."""

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY, EntityNode, Relation
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.llms.mock import MockLLM
from llama_index.core.schema import TextNode, TransformComponent

from llamaindex_adapter.fakes import empty
from memorai_core import Memory, Message
from memorai_core.bench.datasets import open_dataset
from memorai_llamaindex import MemoraiEmbedding, MemoraiPGRetriever, MemoraiPropertyGraphStore

K = 10
Question = tuple[str, frozenset[str]]
"""A question and the ids of the messages that answer it."""


class SameTriplets(TransformComponent):
    """Gives each turn's node the triplets that memorai found in it, in the way of the framework's own extractors."""

    by_turn: dict[str, list[tuple[str, str, str]]]

    def __call__(self, nodes, **kwargs):
        for node in nodes:
            found = self.by_turn.get(node.node_id, [])
            node.metadata[KG_NODES_KEY] = [EntityNode(name=name) for name in dict.fromkeys(end for a, _, b in found for end in (a, b))]
            node.metadata[KG_RELATIONS_KEY] = [Relation(label=label, source_id=a, target_id=b) for a, label, b in found]
        return nodes


def stock_retriever(memory: Memory, user_id: str, depth: int) -> VectorContextRetriever:
    """The framework's vector retriever over its own store, each turn a node of its own, with the same embedder."""
    view, model = memory.view(user_id=user_id), MemoraiEmbedding(memory.embedder)
    by_turn: dict[str, list[tuple[str, str, str]]] = {}
    source = {turn.turn_id: turn.source_id for turn in view.turns()}
    for triplet in view.triplets():
        for turn_id in triplet.source_turns:
            by_turn.setdefault(source[turn_id], []).append((triplet.subject, triplet.relation, triplet.object))
    nodes = [TextNode(id_=turn.source_id, text=f"{turn.speaker}: {turn.text}") for turn in view.turns()]
    index = PropertyGraphIndex(
        nodes=nodes, property_graph_store=SimplePropertyGraphStore(), kg_extractors=[SameTriplets(by_turn=by_turn)], embed_model=model,
        llm=MockLLM(), use_async=False,
    )  # fmt: skip
    return VectorContextRetriever(
        index.property_graph_store, vector_store=index.vector_store, embed_model=model, similarity_top_k=K, path_depth=depth
    )


def recall(found: Sequence[str], wanted: frozenset[str]) -> float:
    return len(wanted.intersection(found[:K])) / len(wanted)


def compared(memory: Memory, user_id: str, questions: Sequence[Question]) -> tuple[float, float, float]:
    """Mean recall of the core, of memorai's retriever in the framework's, and of the framework's own."""
    store = MemoraiPropertyGraphStore(memory=memory, user_id=user_id)
    index = PropertyGraphIndex.from_existing(store, llm=MockLLM(), embed_model=MemoraiEmbedding(memory.embedder), use_async=False)
    through = index.as_retriever(sub_retrievers=[MemoraiPGRetriever(store, k=K)])
    stock = stock_retriever(memory, user_id, depth=1)
    core, ours, theirs = [], [], []
    for question, wanted in questions:
        core.append(recall([str(turn.source_id) for turn in memory.retrieve(question, user_id=user_id, k=K).turns], wanted))
        ours.append(recall([node.metadata["source_id"] for node in through.retrieve(question)], wanted))
        theirs.append(recall([node.node_id for node in stock.retrieve(question)], wanted))
    assert ours == core, "question by question"
    return fmean(core), fmean(ours), fmean(theirs)


def test_all_of_the_cores_evidence_comes_through_and_the_frameworks_own_path_loses_it():
    things = ["boat", "harp", "kite", "drum", "lamp", "tent", "vase", "sled", "oven", "ring", "coin", "lute"]
    with empty() as memory:
        messages = [
            Message(role="user", name=("Ann", "Ben")[number % 2], text=f"My {thing} stands in the {place} room.", id=f"m{number}")
            for number, (thing, place) in enumerate(zip(things, reversed(things), strict=True))
        ]
        messages += [Message(role="user", name=name, text="I am tired of talking.", id=f"end {name}") for name in ("Ann", "Ben")]
        memory.append(messages, user_id="u", session_id="s")
        memory.index(user_id="u")
        questions = [(f"Where does the {thing} stand?", frozenset({f"m{number}"})) for number, thing in enumerate(things)]
        core, ours, theirs = compared(memory, "u", questions)
    assert ours == core == 1.0
    assert theirs == 0.0, "every statement of a speaker is said to come from the speaker's last turn"


@pytest.mark.slow
def test_locomo_recall_through_the_framework_is_the_cores_to_the_digit():
    data = os.environ.get("MEMORAI_DATA")
    path = Path(data or "") / "locomo" / "locomo_dev5.json"
    if not data or not path.exists():
        pytest.skip("MEMORAI_DATA names no folder with locomo/locomo_dev5.json")
    case = next(open_dataset("locomo", path).cases(1))
    assert case.conversation.user_id == "conv-26"
    with Memory.open(":memory:") as memory:
        for session in case.conversation.sessions:
            memory.append(session.messages, user_id="u", session_id=session.session_id)
        memory.index(user_id="u")
        questions = [(asked.text, frozenset(asked.evidence)) for asked in case.questions if asked.evidence and not asked.abstain]
        core, ours, theirs = compared(memory, "u", questions)
    print(f"conv-26, {len(questions)} questions, recall@{K}: core {core:.4f}, MemoraiPGRetriever {ours:.4f}, stock {theirs:.4f}")
    assert ours == core > 0.6
    assert theirs < 0.01
