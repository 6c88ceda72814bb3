"""One user's memory as it is: turns, segments, entities and triplets by id, by name and by nearness."""

import sqlite3
from collections.abc import Collection, Sequence

import numpy as np

from memorai_core.errors import UnknownUserError
from memorai_core.identity import canonical_name, entity_id
from memorai_core.indexing.sentences import key_phrases
from memorai_core.models import Entity, Segment, Triplet, Turn
from memorai_core.retrieval.similarity import similarities
from memorai_core.retriever import Retriever
from memorai_core.storage import reading
from memorai_core.storage.database import Database
from memorai_core.vectors import unit_vector


class View:
    """Reads one user's memory, where `retrieve` ranks it for a question. Made by `Memory.view`.

    An argument left out stands for all there is; ids and names that are not there are left out of the result. Once the user
    is forgotten, everything is empty.
    """

    def __init__(self, database: Database, retriever: Retriever, user: int, user_id: str) -> None:
        self._database = database
        self._retriever = retriever
        self._user = user
        self.user_id = user_id

    def turns(self, turn_ids: Collection[str] | None = None, *, session_id: str | None = None) -> list[Turn]:
        """Turns in the order of their sessions, indexed or not."""
        with self._database.read() as db:
            return reading.turns_by_row(db, reading.turn_rows(db, self._user, turn_ids, session_id))

    def segments(self, segment_ids: Sequence[str] | None = None) -> list[Segment]:
        """Segments, those given in the order given."""
        with self._database.read() as db:
            if segment_ids is None:
                segment_ids = reading.column(db, "SELECT segment_id FROM segments WHERE user = ? ORDER BY segment", self._user)
            return reading.segments_by_id(db, self._user, segment_ids)

    def entities(
        self,
        names: Collection[str] | None = None,
        *,
        entity_ids: Collection[str] | None = None,
        turn_ids: Collection[str] | None = None,
    ) -> list[Entity]:
        """Entities of a name, of an id, or mentioned in a turn, in order of making.

        A name is matched as memorai identifies entities, so "ALICE" finds Alice, and "violins" the phrase "violin".
        """
        with self._database.read() as db:
            if names is None and entity_ids is None and turn_ids is None:
                rows = reading.entity_rows(db, self._user)
            else:
                wanted = [*self._named(db, names or ()), *(entity_ids or ())]
                rows = reading.entity_rows(db, self._user, wanted, turn_ids or ())
            return reading.entities_by_row(db, rows)

    def triplets(
        self,
        *,
        triplet_ids: Collection[str] | None = None,
        about: Collection[str] | None = None,
        citing: Collection[str] | None = None,
        without: Collection[str] = (),
        limit: int | None = None,
    ) -> list[Triplet]:
        """Triplets of an id, with an end named in `about`, or that rest on a turn of `citing`; all where the three are left out.

        `without` names relations to leave out. A limit takes first those that join two of `about`, then those that a model or
        an annotator made, then the newest.
        """
        with self._database.read() as db:
            ends = None if about is None else self._named(db, about)
            return reading.triplets_by_row(db, reading.triplet_rows(db, self._user, triplet_ids, ends, citing, without, limit))

    def nearest_entities(self, query_vector: Sequence[float] | np.ndarray) -> list[tuple[str, float]]:
        """Entity ids with their cosine to a vector, that of the best description or triplet, best first; those above 0.

        The entities of one sentence are equally near; those that fewer turns mention come first, so a speaker comes last.
        Raises EmbedderMismatchError for a vector of another dimension than the memory's.
        """
        try:
            snapshot = self._retriever.snapshot(self.user_id)
        except UnknownUserError:
            return []
        if not len(snapshot.entities.row):
            return []
        found = similarities(snapshot, "", unit_vector(query_vector, snapshot.version.dimension), None).entity
        mentions = np.diff(snapshot.mentioned_by[0])
        order = np.lexsort((mentions, -found))[: np.count_nonzero(found)]
        return [(snapshot.entities.node_id[place].tobytes().hex(), float(found[place])) for place in order]

    def _named(self, db: sqlite3.Connection, names: Collection[str]) -> list[str]:
        """The ids of the entities that are called by one of the names."""
        keyed = {entity_id(self.user_id, key) for name in names for key in _keys(name)}
        return reading.entity_ids_named(db, self._user, names, keyed)


def _keys(name: str) -> set[str]:
    """What an entity of this name may be known by: the name itself, or as a key phrase, as written and without its capitals."""
    phrases = [(written, key_phrases(written)) for written in (name, name.casefold())]
    whole = {found[0].key for written, found in phrases if len(found) == 1 and found[0].text.split() == written.split()}
    return whole | {canonical_name(name)}
