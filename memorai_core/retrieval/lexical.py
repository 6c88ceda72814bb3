"""BM25 over a user's turns (ours): Robertson's formula, with document frequencies of that user alone."""

from dataclasses import dataclass, replace

import numpy as np

from memorai_core.retrieval.arrays import members, offsets

K1 = 0.9
B = 0.4
MERGE = 8192
"""Postings of new turns that are kept apart before they are sorted in among the rest."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Which turn holds which term how often. The bulk is sorted by term; the newest turns' stand behind, in turn order."""

    vocabulary: np.ndarray
    """Distinct term hashes of the bulk, sorted, uint64."""
    starts: np.ndarray
    """Where each term's postings start, shape (vocabulary + 1,)."""
    turn: np.ndarray
    count: np.ndarray
    recent_term: np.ndarray
    recent_turn: np.ndarray
    recent_count: np.ndarray
    length: np.ndarray
    """Terms in each turn, shape (turns,)."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(getattr(self, name).nbytes for name in self.__slots__)


def postings(terms: np.ndarray, turns: np.ndarray, counts: np.ndarray, length: np.ndarray) -> Postings:
    """Sorts postings, given as three columns, by term."""
    order = np.argsort(terms, kind="stable")
    vocabulary, first = np.unique(terms[order], return_index=True)
    return Postings(
        vocabulary, np.append(first, len(terms)), turns[order].astype(np.int32), counts[order].astype(np.uint16),
        np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.uint16), length.astype(np.int32),
    )  # fmt: skip


def of_turns(terms: np.ndarray, counts: np.ndarray, term_ends: np.ndarray) -> Postings:
    """The postings of turns 0, 1, ..., whose terms lie end to end."""
    turns, length = _owners(terms, counts, term_ends)
    return postings(terms, turns, counts, length)


def with_turns(known: Postings, terms: np.ndarray, counts: np.ndarray, term_ends: np.ndarray) -> Postings:
    """The postings with those of turns that come after all known ones."""
    turns, length = _owners(terms, counts, term_ends)
    turns = turns + len(known.length)
    whole = replace(
        known,
        recent_term=np.concatenate([known.recent_term, terms]),
        recent_turn=np.concatenate([known.recent_turn, turns]).astype(np.int32),
        recent_count=np.concatenate([known.recent_count, counts]).astype(np.uint16),
        length=np.concatenate([known.length, length]).astype(np.int32),
    )
    if len(whole.recent_term) <= MERGE:
        return whole
    bulk = np.repeat(whole.vocabulary, np.diff(whole.starts))
    return postings(
        np.concatenate([bulk, whole.recent_term]), np.concatenate([whole.turn, whole.recent_turn]),
        np.concatenate([whole.count, whole.recent_count]), whole.length,
    )  # fmt: skip


def bm25(index: Postings, query: np.ndarray) -> np.ndarray:
    """The BM25 score of each turn for the query's distinct term hashes; shape (turns,), 0 and up."""
    total = len(index.length)
    scores = np.zeros(total)
    if total == 0 or len(query) == 0:
        return scores
    turn, count, term = _matches(index, query)
    frequency = np.bincount(term, minlength=len(query))
    idf = np.log1p((total - frequency + 0.5) / (frequency + 0.5))
    norm = K1 * (1 - B + B * index.length / max(float(index.length.mean()), 1e-9))
    np.add.at(scores, turn, idf[term] * count * (K1 + 1) / (count + norm[turn]))
    return scores


def _matches(index: Postings, query: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The postings of the query's terms: turn, count, and which of the terms."""
    place = np.minimum(np.searchsorted(index.vocabulary, query), max(len(index.vocabulary) - 1, 0))
    known = np.flatnonzero(index.vocabulary[place] == query) if len(index.vocabulary) else np.empty(0, np.int64)
    at, owner = members(index.starts, place[known])
    recent = np.flatnonzero(np.isin(index.recent_term, query))
    return (
        np.concatenate([index.turn[at], index.recent_turn[recent]]),
        np.concatenate([index.count[at], index.recent_count[recent]]),
        np.concatenate([known[owner], np.searchsorted(query, index.recent_term[recent])]),
    )


def _owners(terms: np.ndarray, counts: np.ndarray, term_ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    distinct = np.diff(term_ends, prepend=0)
    turns = np.repeat(np.arange(len(distinct)), distinct)
    length = np.bincount(turns, weights=counts, minlength=len(distinct)).astype(np.int32)
    assert len(turns) == len(terms) == offsets(distinct)[-1]
    return turns, length
