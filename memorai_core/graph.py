"""A user's memory as a networkx graph: for looking at and for export, never for ranking."""

import sqlite3

import networkx as nx

from memorai_core.models import Turn
from memorai_core.storage.reading import column, entities_by_row, segments_by_id, triplets_by_row, turns_by_row


def memory_graph(db: sqlite3.Connection, user: int) -> "nx.MultiDiGraph[str]":
    """Turn, segment and entity nodes by id, with `kind`; edges with `kind`: relation, mentions, part_of, followed_by (§3.2).

    A relation goes from subject to object with its triplet's id as key; every mention names the triplets or descriptions that
    make it. Lists are lists of ids.
    """
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    turns = turns_by_row(db, column(db, "SELECT turn FROM turns WHERE user = ? ORDER BY session, position", user))
    _add_turns(graph, turns)
    _add_segments(graph, db, user)
    _add_entities(graph, db, user)
    _add_triplets(graph, db, user)
    return graph


def _add_turns(graph: "nx.MultiDiGraph[str]", turns: list[Turn]) -> None:
    last: Turn | None = None
    for turn in turns:
        graph.add_node(
            turn.turn_id, kind="turn", source_id=turn.source_id, session_id=turn.session_id, position=turn.position, role=turn.role,
            speaker=turn.speaker, text=turn.text, timestamp=turn.timestamp.isoformat() if turn.timestamp else None,
            timestamp_inferred=turn.timestamp_inferred, segment_id=turn.segment_id, kept=turn.kept,
        )  # fmt: skip
        if last and last.session_id == turn.session_id:
            graph.add_edge(last.turn_id, turn.turn_id, key="followed_by", kind="followed_by")
        last = turn


def _add_segments(graph: "nx.MultiDiGraph[str]", db: sqlite3.Connection, user: int) -> None:
    ids = column(db, "SELECT segment_id FROM segments WHERE user = ? ORDER BY segment", user)
    for segment in segments_by_id(db, user, ids):
        graph.add_node(
            segment.segment_id, kind="segment", session_id=segment.session_id, summary=segment.summary, made_by=segment.made_by,
            turn_ids=list(segment.turn_ids),
        )  # fmt: skip
        for turn_id in segment.turn_ids:
            graph.add_edge(turn_id, segment.segment_id, key="part_of", kind="part_of")


def _add_entities(graph: "nx.MultiDiGraph[str]", db: sqlite3.Connection, user: int) -> None:
    for entity in entities_by_row(db, column(db, "SELECT entity FROM entities WHERE user = ? ORDER BY entity", user)):
        graph.add_node(
            entity.entity_id, kind="entity", name=entity.name, turn_ids=list(entity.turn_ids),
            descriptions=[description.text for description in entity.descriptions],
        )  # fmt: skip
        for turn_id in entity.turn_ids:
            said = [description.text for description in entity.descriptions if turn_id in description.turn_ids]
            graph.add_edge(entity.entity_id, turn_id, key="mentions", kind="mentions", descriptions=said, triplet_ids=[])


def _add_triplets(graph: "nx.MultiDiGraph[str]", db: sqlite3.Connection, user: int) -> None:
    rows = column(db, "SELECT triplet FROM triplets WHERE user = ? ORDER BY triplet", user)
    ends = {
        triplet_id: (subject, object_)
        for triplet_id, subject, object_ in db.execute(
            """SELECT r.triplet_id, a.entity_id, b.entity_id FROM triplets r JOIN entities a ON a.entity = r.subject
            JOIN entities b ON b.entity = r.object WHERE r.user = ?""",
            (user,),
        )
    }
    for triplet in triplets_by_row(db, rows):
        subject, object_ = ends[triplet.triplet_id]
        graph.add_edge(
            subject, object_, key=triplet.triplet_id, kind="relation", triplet_id=triplet.triplet_id, relation=triplet.relation,
            description=triplet.description, source_turns=list(triplet.source_turns), segment_id=triplet.segment_id,
            origin=triplet.origin, made_by=triplet.made_by,
        )  # fmt: skip
        for end in {subject, object_}:
            for turn_id in triplet.source_turns:
                graph.edges[end, turn_id, "mentions"]["triplet_ids"].append(triplet.triplet_id)
