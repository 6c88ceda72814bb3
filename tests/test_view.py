import numpy as np
import pytest

from memorai_core import EmbedderMismatchError, Memory, Message, UnknownUserError
from memorai_core.testing import HashingEmbedder

TOLD = {
    "s1": ["I moved to Hanoi with my dog Rex.", "The museum in Hanoi hired me as a guide."],
    "s2": ["Rex found an old violin at the museum.", "I practise the violin every evening."],
}


@pytest.fixture
def memory():
    with Memory.open(":memory:", embedder=HashingEmbedder()) as memory:
        for user in ("alice", "bob"):
            for session, texts in TOLD.items():
                messages = [Message(role="user", name=user.title(), text=text, id=f"{session}/{n}") for n, text in enumerate(texts)]
                memory.append(messages, user_id=user, session_id=session)
        memory.index(user_id="alice")
        yield memory


def test_turns_come_in_order_all_of_a_session_or_by_id(memory):
    view = memory.view(user_id="alice")
    everything = view.turns()
    assert [turn.text for turn in everything] == TOLD["s1"] + TOLD["s2"]
    assert [turn.text for turn in view.turns(session_id="s2")] == TOLD["s2"]
    chosen = [everything[3].turn_id, everything[0].turn_id]
    assert view.turns(chosen) == [everything[0], everything[3]]
    assert view.turns(chosen, session_id="s1") == [everything[0]]
    assert view.turns(["00" * 16, ""]) == []
    assert view.turns([]) == []


def test_turns_that_are_not_indexed_are_seen(memory):
    view = memory.view(user_id="bob")
    assert [turn.segment_id for turn in view.turns()] == [None] * 4
    assert view.segments() == []
    assert view.entities() == []
    assert view.triplets() == []
    assert view.nearest_entities([1.0]) == []


def test_an_entity_is_found_by_any_spelling_of_its_name_and_by_id(memory):
    view = memory.view(user_id="alice")
    (hanoi,) = view.entities(["  hANOI "])
    assert hanoi.name == "Hanoi"
    assert view.entities(entity_ids=[hanoi.entity_id]) == [hanoi]
    assert view.entities(["Saigon"]) == []
    for entity in view.entities():
        assert entity in view.entities([entity.name])
        assert view.entities([entity.name.upper()]) == view.entities([entity.name])
    assert hanoi in view.entities()
    assert len({entity.entity_id for entity in view.entities()}) == memory.stats("alice")[0].entities


def test_the_entities_of_a_turn_are_those_that_it_mentions(memory):
    view = memory.view(user_id="alice")
    for turn in view.turns():
        assert view.entities(turn_ids=[turn.turn_id]) == [entity for entity in view.entities() if turn.turn_id in entity.turn_ids]
    assert view.entities(turn_ids=[]) == []


def test_triplets_about_a_name_have_it_at_an_end_and_those_citing_a_turn_cite_it(memory):
    view = memory.view(user_id="alice")
    everything = view.triplets()
    assert len(everything) == memory.stats("alice")[0].triplets > 4
    about = view.triplets(about=["hanoi"])
    assert about == [triplet for triplet in everything if "Hanoi" in (triplet.subject, triplet.object)]
    assert about
    turn = view.turns()[2].turn_id
    assert view.triplets(citing=[turn]) == [triplet for triplet in everything if turn in triplet.source_turns]
    assert view.triplets(triplet_ids=[everything[1].triplet_id, "", turn]) == [everything[1]]
    assert view.triplets(about=[], citing=[], triplet_ids=[]) == []


def test_a_limit_takes_what_joins_two_of_the_named_first(memory):
    view = memory.view(user_id="alice")
    (best,) = view.triplets(about=["Alice", "Hanoi"], limit=1)
    assert {best.subject, best.object} == {"Alice", "Hanoi"}
    assert view.triplets(about=["Alice"], without={triplet.relation for triplet in view.triplets()}) == []


def test_the_nearest_entities_are_those_with_the_best_claim(memory):
    view = memory.view(user_id="alice")
    told = view.triplets(citing=[view.turns()[2].turn_id])
    query = memory.embedder.embed_query(told[0].description)
    ranked = view.nearest_entities(query)
    similarities = [similarity for _, similarity in ranked]
    names = {entity.entity_id: entity.name for entity in view.entities()}
    assert similarities == sorted(similarities, reverse=True)
    assert similarities[0] == pytest.approx(1.0, abs=0.01)
    nearest = {names[entity_id] for entity_id, similarity in ranked if similarity > 0.99}
    assert nearest >= {end for triplet in told if triplet.description == told[0].description for end in (triplet.subject, triplet.object)}
    assert len(nearest) < len(names)
    assert names[ranked[len(nearest) - 1][0]] == "Alice", "whom every turn mentions"
    with pytest.raises(EmbedderMismatchError):
        view.nearest_entities(np.ones(3))


def test_one_users_view_shows_nothing_of_another_and_nothing_once_forgotten(memory):
    memory.index(user_id="bob")
    view, other = memory.view(user_id="alice"), memory.view(user_id="bob")
    assert {turn.turn_id for turn in view.turns()}.isdisjoint(turn.turn_id for turn in other.turns())
    assert other.turns([turn.turn_id for turn in view.turns()]) == []
    assert other.entities(entity_ids=[entity.entity_id for entity in view.entities()]) == []
    assert other.triplets(citing=[turn.turn_id for turn in view.turns()]) == []
    memory.forget(user_id="alice", everything=True)
    assert (view.turns(), view.segments(), view.entities(), view.triplets()) == ([], [], [], [])
    assert view.nearest_entities(memory.embedder.embed_query("Rex")) == []
    with pytest.raises(UnknownUserError):
        memory.view(user_id="alice")
    assert len(other.turns()) == 4
