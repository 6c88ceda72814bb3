"""Turns as LlamaIndex nodes, with everything they rest on and everything that rests on them in their metadata."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from llama_index.core.schema import NodeWithScore, TextNode

from memorai_core import Evidence, EvidenceTurn, Triplet, Turn


def evidence_nodes(evidence: Evidence) -> list[NodeWithScore]:
    """One node a turn, best first, with the turn's id as its own, and the turn's score.

    The framework keeps the first of several nodes with one text, so every text here differs from the others.
    """
    summaries = {segment.segment_id: segment.summary for segment in evidence.segments}
    nodes: list[NodeWithScore] = []
    seen: set[str] = set()
    for turn in evidence.turns:
        text = spoken(turn.speaker, turn.timestamp, turn.text)
        if text in seen:
            text = f"{text} [turn {turn.turn_id[:12]}]"
        seen.add(text)
        more = {"filled": turn.filled, "summary": summaries.get(turn.segment_id or "", "")}
        nodes.append(NodeWithScore(node=turn_node(turn, turn.triplets, evidence.user_id, text, more), score=turn.score))
    return nodes


def turn_node(
    turn: Turn | EvidenceTurn, triplets: Sequence[Triplet], user_id: str, text: str | None = None, more: dict[str, Any] | None = None
) -> TextNode:
    """A turn as a node; its metadata are for programs, so models and embedders are shown the text alone."""
    metadata: dict[str, Any] = {
        "kind": "turn", "user_id": user_id, "turn_id": turn.turn_id, "source_id": turn.source_id, "session_id": turn.session_id,
        "segment_id": turn.segment_id, "position": turn.position, "role": turn.role, "speaker": turn.speaker, "text": turn.text,
        "timestamp": turn.timestamp.isoformat() if turn.timestamp else None, "timestamp_inferred": turn.timestamp_inferred,
        "kept": turn.kept, "triplets": [triplet_record(triplet) for triplet in triplets], **(more or {}),
    }  # fmt: skip
    hidden = list(metadata)
    return TextNode(
        id_=turn.turn_id, text=spoken(turn.speaker, turn.timestamp, turn.text) if text is None else text, metadata=metadata,
        excluded_llm_metadata_keys=hidden, excluded_embed_metadata_keys=hidden,
    )  # fmt: skip


def triplet_record(triplet: Triplet) -> dict[str, Any]:
    """A triplet as plain data, with the ids of the turns it rests on."""
    return {
        "triplet_id": triplet.triplet_id, "subject": triplet.subject, "relation": triplet.relation, "object": triplet.object,
        "description": triplet.description, "source_turns": list(triplet.source_turns), "segment_id": triplet.segment_id,
        "origin": triplet.origin, "made_by": triplet.made_by,
    }  # fmt: skip


def spoken(speaker: str, timestamp: datetime | None, text: str) -> str:
    """A turn as one reads it: who, when and what."""
    return f"{speaker} ({timestamp:%Y-%m-%d %H:%M}): {text}" if timestamp else f"{speaker}: {text}"
