"""A user's memory as numpy arrays: what a query touches. Immutable; a newer one is made from it when the store has moved on.

Nodes are numbered from 0 within their kind, turns in order of arrival. A claim is a triplet's or a description's text with
the turns it rests on; claims make the edges.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from memorai_core.retrieval.arrays import members, offsets
from memorai_core.retrieval.lexical import Postings
from memorai_core.storage.loading import Version


@dataclass(frozen=True, slots=True)
class Texts:
    """Embedded texts. Text i has the rows start[i] to start[i + 1] of `vectors`, one a window."""

    row: np.ndarray
    start: np.ndarray
    vectors: np.ndarray
    """(windows, dimension), float32, rows of length 1."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Turn nodes. `segment` and `text` are -1 where there is none."""

    row: np.ndarray
    node_id: np.ndarray
    session: np.ndarray
    position: np.ndarray
    timestamp: np.ndarray
    segment: np.ndarray
    kept: np.ndarray
    text: np.ndarray


@dataclass(frozen=True, slots=True)
class Segments:
    """Segment nodes; `text` is that of the summary, -1 where it is empty."""

    row: np.ndarray
    node_id: np.ndarray
    text: np.ndarray


@dataclass(frozen=True, slots=True)
class Entities:
    """Entity nodes."""

    row: np.ndarray
    node_id: np.ndarray


@dataclass(frozen=True, slots=True)
class Claims:
    """Triplets and descriptions: `object` is -1 for a description. Claim i rests on `source` from start[i] to start[i + 1]."""

    segment: np.ndarray
    subject: np.ndarray
    object: np.ndarray
    text: np.ndarray
    start: np.ndarray
    source: np.ndarray


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges between two kinds of nodes, sorted by (head, tail), each once, with the claims that support it.

    Head h has the edges start[h] to start[h + 1]; edge i has the claims support_start[i] to support_start[i + 1] of `support`.
    """

    head: np.ndarray
    tail: np.ndarray
    start: np.ndarray
    support_start: np.ndarray
    support: np.ndarray


@dataclass(frozen=True)
class Snapshot:
    """All of one user's memory that ranking needs, as of one version of the store."""

    version: Version
    texts: Texts
    turns: Turns
    segments: Segments
    entities: Entities
    claims: Claims
    postings: Postings
    last_triplet: int
    """The newest triplet row read, and likewise for descriptions: where catching up starts."""
    last_description: int

    @cached_property
    def mentions(self) -> Edges:
        """turn -> entity, supported by the claims that cite the turn and speak of the entity (§3.2: entity-turn edges)."""
        claims = self.claims
        at = np.repeat(np.arange(len(claims.text)), np.diff(claims.start))
        ends = claims.object[at] >= 0
        turn = np.concatenate([claims.source, claims.source[ends]])
        entity = np.concatenate([claims.subject[at], claims.object[at][ends]])
        return edges(turn, entity, np.concatenate([at, at[ends]]), len(self.turns.row), len(self.entities.row))

    @cached_property
    def mentioned_by(self) -> tuple[np.ndarray, np.ndarray]:
        """For each entity its mentions: starts (entities + 1,), and their places in `mentions`, in turn order."""
        order = np.argsort(self.mentions.tail, kind="stable").astype(np.int32)
        return offsets(np.bincount(self.mentions.tail, minlength=len(self.entities.row))), order

    @cached_property
    def relations(self) -> Edges:
        """entity -> entity, supported by their triplets (§3.2: entity-relation-entity edges)."""
        triplets = np.flatnonzero(self.claims.object >= 0)
        count = len(self.entities.row)
        return edges(self.claims.subject[triplets], self.claims.object[triplets], triplets, count, count)

    @cached_property
    def related_by(self) -> tuple[np.ndarray, np.ndarray]:
        """For each entity the relations that lead to it: starts (entities + 1,), and their places in `relations`."""
        order = np.argsort(self.relations.tail, kind="stable").astype(np.int32)
        return offsets(np.bincount(self.relations.tail, minlength=len(self.entities.row))), order

    @cached_property
    def turns_of_segment(self) -> tuple[np.ndarray, np.ndarray]:
        """For each segment its turns: starts (segments + 1,), and the turns."""
        indexed = np.flatnonzero(self.turns.segment >= 0)
        order = indexed[np.argsort(self.turns.segment[indexed], kind="stable")].astype(np.int32)
        return offsets(np.bincount(self.turns.segment[indexed], minlength=len(self.segments.row))), order

    @cached_property
    def following(self) -> np.ndarray:
        """The next turn of the same session, -1 for the last; shape (turns,)."""
        order = np.lexsort((self.turns.position, self.turns.session))
        same = self.turns.session[order[1:]] == self.turns.session[order[:-1]]
        following = np.full(len(order), -1, np.int32)
        following[order[:-1][same]] = order[1:][same]
        return following

    @cached_property
    def preceding(self) -> np.ndarray:
        """The turn before in the same session, -1 for the first; shape (turns,)."""
        preceding = np.full(len(self.following), -1, np.int32)
        has = np.flatnonzero(self.following >= 0)
        preceding[self.following[has]] = has
        return preceding

    @cached_property
    def relation_texts(self) -> np.ndarray:
        """The distinct texts that describe triplets, as text numbers."""
        return np.unique(self.claims.text[self.claims.object >= 0])

    def take_edges(self, older: "Snapshot") -> None:
        """Takes the edges over from an older snapshot with the same claims, entities and segments, and maybe fewer turns."""
        for name in ("relations", "related_by", "mentioned_by", "turns_of_segment", "relation_texts"):
            if name in older.__dict__:
                self.__dict__[name] = older.__dict__[name]
        if "mentions" in older.__dict__:
            known = older.mentions
            without = np.full(len(self.turns.row) - len(older.turns.row), known.start[-1], known.start.dtype)
            self.__dict__["mentions"] = replace(known, start=np.concatenate([known.start, without]))

    @cached_property
    def nbytes(self) -> int:
        """Bytes held, the arrays derived on first use included."""
        parts = (self.texts, self.turns, self.segments, self.entities, self.claims, self.mentions, self.relations)
        arrays = [getattr(part, name) for part in parts for name in part.__slots__]
        arrays += [*self.mentioned_by, *self.related_by, *self.turns_of_segment, self.following, self.preceding, self.relation_texts]
        return sum(int(array.nbytes) for array in arrays) + self.postings.nbytes


def edges(head: np.ndarray, tail: np.ndarray, claim: np.ndarray, heads: int, tails: int) -> Edges:
    """Gathers (head, tail, claim) rows into edges; a claim supports an edge once."""
    key = head.astype(np.int64) * max(tails, 1) + tail
    order = np.lexsort((claim, key))
    key, claim = key[order], claim[order]
    once = np.r_[True, (key[1:] != key[:-1]) | (claim[1:] != claim[:-1])][: len(key)]
    key, claim = key[once], claim[once]
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]][: len(key)])
    distinct = key[first]
    heads_of, tails_of = distinct // max(tails, 1), distinct % max(tails, 1)
    return Edges(
        heads_of.astype(np.int32), tails_of.astype(np.int32), offsets(np.bincount(heads_of, minlength=heads)).astype(np.int32),
        np.append(first, len(claim)).astype(np.int32), claim.astype(np.int32),
    )  # fmt: skip


def sources_allowed(claims: Claims, allowed: np.ndarray) -> np.ndarray:
    """Which claims rest on allowed turns alone; `allowed` is a mask over turns."""
    at, owner = members(claims.start, np.arange(len(claims.text)))
    refused = np.zeros(len(claims.text), bool)
    refused[owner[~allowed[claims.source[at]]]] = True
    return ~refused
