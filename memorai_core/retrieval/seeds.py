"""The aspects by which a query seeds its subgraph, §3.3.1: segments, entities, relations; and, ours, turns and words."""

from dataclasses import dataclass

import numpy as np

from memorai_core.retrieval.arrays import largest, members
from memorai_core.retrieval.similarity import Similarities
from memorai_core.retrieval.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Seeds:
    """Node numbers, sorted, each once."""

    turns: np.ndarray
    entities: np.ndarray
    segments: np.ndarray


def seeds(snapshot: Snapshot, found: Similarities, *, aspect_k: int, turn_aspect: bool, lexical: bool) -> Seeds:
    """The best `aspect_k` of each aspect. A relation seeds both its ends and the turns it cites."""
    claims = snapshot.claims
    related = _best_relations(snapshot, found.claim, aspect_k)
    at, _ = members(claims.start, related)
    turns = [claims.source[at]]
    if turn_aspect:
        turns.append(largest(found.turn, aspect_k))
    if lexical:
        turns.append(largest(found.lexical, aspect_k))
    entities = [largest(found.entity, aspect_k), claims.subject[related], claims.object[related]]
    return Seeds(
        np.unique(np.concatenate(turns)), np.unique(np.concatenate(entities)), np.unique(largest(found.segment, aspect_k))
    )  # fmt: skip


def _best_relations(snapshot: Snapshot, similarity: np.ndarray, aspect_k: int) -> np.ndarray:
    """The triplets of the `aspect_k` best descriptions: several may share one."""
    triplets = np.flatnonzero((snapshot.claims.object >= 0) & (similarity > 0))
    of_text = np.zeros(len(snapshot.texts.row), similarity.dtype)
    of_text[snapshot.claims.text[triplets]] = similarity[triplets]
    chosen = np.zeros(len(of_text), bool)
    described = snapshot.relation_texts
    chosen[described[largest(of_text[described], aspect_k)]] = True
    best: np.ndarray = triplets[chosen[snapshot.claims.text[triplets]]]
    return best
