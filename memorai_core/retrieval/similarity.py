"""How near everything in a snapshot is to the query: one product, and a maximum over each node's texts."""

from dataclasses import dataclass

import numpy as np

from memorai_core.retrieval.arrays import maximum_of_each
from memorai_core.retrieval.lexical import bm25
from memorai_core.retrieval.snapshot import Snapshot, sources_allowed
from memorai_core.retrieval.weights import claim_weights
from memorai_core.terms import term_hashes

LEXICAL_POWER = 2.5
"""BM25 scores, as shares of the best, are raised to this power: a turn with half the best score counts for a sixth."""


@dataclass(frozen=True, slots=True)
class Similarities:
    """Cosines with the query, negative ones as 0, and the turns' BM25 scores. What a filter refuses has 0."""

    turn: np.ndarray
    segment: np.ndarray
    entity: np.ndarray
    """The best of the claims that speak of the entity."""
    claim: np.ndarray
    mention: np.ndarray
    """(mentions,): the best of the claims behind each entity-turn edge."""
    lexical: np.ndarray
    """(turns,): BM25."""
    allowed: np.ndarray
    """Mask over turns."""


def similarities(snapshot: Snapshot, query: str, query_vector: np.ndarray, allowed: np.ndarray | None) -> Similarities:
    """All similarities for a query; `query_vector` is (dimension,) of length 1, `allowed` a mask over turns or None for all."""
    of_text = _of_texts(snapshot, query_vector)
    turn, segment = of_text[snapshot.turns.text], of_text[snapshot.segments.text]
    claim = of_text[snapshot.claims.text]
    lexical = bm25(snapshot.postings, term_hashes(query))
    if allowed is None:
        allowed = np.ones(len(turn), bool)
    else:
        turn, lexical = turn * allowed, lexical * allowed
        claim = claim * sources_allowed(snapshot.claims, allowed)
        indexed = snapshot.turns.segment >= 0
        refused = np.bincount(snapshot.turns.segment[indexed], weights=~allowed[indexed], minlength=len(segment))
        segment = segment * (refused == 0)
    mention = claim_weights(claim, snapshot.mentions.support_start, snapshot.mentions.support)
    starts, places = snapshot.mentioned_by
    entity = maximum_of_each(mention[places], starts)
    return Similarities(turn, segment, entity, claim, mention, lexical, allowed)


def seed_of_turns(found: Similarities, *, sharpness: float, lexical: float) -> np.ndarray:
    """seed(τ): the turn's similarity plus its BM25 score brought to the scale of the best similarity at hand; (turns,)."""
    turn: np.ndarray = found.turn.astype(np.float64) ** sharpness
    best = float(found.lexical.max(initial=0.0))
    if lexical == 0 or best == 0:
        return turn
    scale = float(max(found.turn.max(initial=0.0), found.claim.max(initial=0.0))) ** sharpness or 1.0
    seed: np.ndarray = turn + lexical * scale * (found.lexical / best) ** LEXICAL_POWER
    return seed


def _of_texts(snapshot: Snapshot, query_vector: np.ndarray) -> np.ndarray:
    """max(0, cos) of each text, the best window's, and a 0 at the end for text number -1."""
    texts = snapshot.texts
    cosine = np.vecdot(texts.vectors, query_vector.astype(np.float32))  # row by row: BLAS threads stall on a busy machine
    if len(cosine) != len(texts.row):
        cosine = np.maximum.reduceat(cosine, texts.start[:-1])
    clipped: np.ndarray = np.append(np.maximum(cosine, np.float32(0)), np.float32(0))
    return clipped
