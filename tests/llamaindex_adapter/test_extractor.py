import json

import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY, EntityNode
from llama_index.core.llms.mock import MockLLM
from llama_index.core.schema import TextNode

from llamaindex_adapter.fakes import empty
from memorai_core import Message
from memorai_llamaindex import MemoraiExtractor

TRANSCRIPT = "Carol: I bought a boat in Hue.\nDan: Which colour is the boat?\nCarol: My boat is green and called Esmeralda."


@pytest.fixture
def memory():
    with empty() as memory:
        yield memory


def nodes():
    return [TextNode(id_="t", text=TRANSCRIPT), TextNode(id_="d", text="The harbour of Hue opens at nine.", metadata={"speaker": "Guide"})]


def extracted(memory, **more):
    return MemoraiExtractor(memory=memory, user_id="carol", **more)(nodes())


def test_each_node_gets_its_own_part_of_the_graph(memory):
    transcript, document = extracted(memory)
    view = memory.view(user_id="carol")
    said = {node.properties["turn_id"] for node in transcript.metadata[KG_NODES_KEY] if node.properties["kind"] == "turn"}
    assert said == {turn.turn_id for turn in view.turns(session_id="t")}
    (turn,) = view.turns(session_id="d")
    assert (turn.speaker, turn.source_id) == ("Guide", "d")
    names = {node.id for node in document.metadata[KG_NODES_KEY] if isinstance(node, EntityNode)}
    assert names == {f"carol/{entity.name}" for entity in view.entities(turn_ids=[turn.turn_id])}
    assert "carol/Guide" in names
    assert memory.stats("carol")[0].pending == 0


def test_turn_nodes_and_mentions_hold_the_provenance(memory):
    transcript, _ = extracted(memory)
    view = memory.view(user_id="carol")
    turns = [node for node in transcript.metadata[KG_NODES_KEY] if node.properties["kind"] == "turn"]
    held = {one["triplet_id"]: one["source_turns"] for node in turns for one in json.loads(node.properties["triplets"])}
    of_session = view.triplets(citing=[turn.turn_id for turn in view.turns(session_id="t")])
    assert held == {triplet.triplet_id: list(triplet.source_turns) for triplet in of_session}
    mentions = [edge for edge in transcript.metadata[KG_RELATIONS_KEY] if edge.label == "MENTIONS"]
    for edge in mentions:
        (entity,) = {entity.name: entity for entity in view.entities([edge.target_id.removeprefix("carol/")])}.values()
        assert edge.properties["turn_id"] in entity.turn_ids
    cited = {one for edge in mentions for one in edge.properties["triplet_ids"]}
    assert cited == held.keys()


def test_relations_between_entities_name_every_turn_they_rest_on(memory):
    transcript, _ = extracted(memory)
    view = memory.view(user_id="carol")
    (edge,) = [edge for edge in transcript.metadata[KG_RELATIONS_KEY] if (edge.source_id, edge.target_id) == ("carol/Carol", "carol/boat")]
    boats = [one for one in view.triplets(about=["boat"]) if one.subject == "Carol" and one.object == "boat"]
    assert edge.properties["triplet_ids"] == [one.triplet_id for one in boats]
    assert edge.properties["source_turns"] == [one.source_turns[0] for one in boats]
    assert len(boats) >= 1


async def test_async_gives_what_sync_gives_and_again_changes_nothing(memory):
    first = extracted(memory)
    again = await MemoraiExtractor(memory=memory, user_id="carol").acall(nodes())
    for one, other in zip(first, again, strict=True):
        assert one.metadata[KG_NODES_KEY] == other.metadata[KG_NODES_KEY]
        assert one.metadata[KG_RELATIONS_KEY] == other.metadata[KG_RELATIONS_KEY]
    assert len(memory.view(user_id="carol").turns()) == 4


def test_what_other_extractors_found_stays(memory):
    node = TextNode(id_="t", text=TRANSCRIPT, metadata={KG_NODES_KEY: [EntityNode(name="Zorro")]})
    MemoraiExtractor(memory=memory, user_id="carol", prefix="")([node])
    names = [one.id for one in node.metadata[KG_NODES_KEY]]
    assert names[0] == "Zorro"
    assert "Carol" in names


def test_nothing_said_gives_an_empty_part(memory):
    for given in ([TextNode(id_="e", text="")], []):
        for node in MemoraiExtractor(memory=memory, user_id="carol")(given):
            assert node.metadata[KG_NODES_KEY] == node.metadata[KG_RELATIONS_KEY] == []
    assert memory.users() == []


def test_a_reader_of_ones_own_and_a_session_of_ones_own(memory):
    extractor = MemoraiExtractor(
        memory=memory,
        user_id=lambda: "dora",
        session_id="s",
        reader=lambda node: [Message(role="user", text=node.text.upper(), id=node.node_id)],
    )
    extractor([TextNode(id_="a", text="I sail."), TextNode(id_="b", text="I row.")])
    assert [turn.text for turn in memory.view(user_id="dora").turns(session_id="s")] == ["I SAIL.", "I ROW."]


@pytest.mark.parametrize("use_async", [True, False])
def test_an_index_takes_it_into_a_store_of_its_own(memory, use_async):
    store = SimplePropertyGraphStore()
    PropertyGraphIndex(
        nodes=nodes(), property_graph_store=store, embed_kg_nodes=False, llm=MockLLM(), use_async=use_async,
        kg_extractors=[MemoraiExtractor(memory=memory, user_id="carol")],
    )  # fmt: skip
    found = {node.id: node for node in store.get()}
    assert {"t", "d", "carol/Carol", "carol/boat", "carol/Guide"} <= found.keys()
    for turn in memory.view(user_id="carol").turns():
        node = found[f"carol/{turn.turn_id}"]
        assert node.properties["triplet_source_id"] == turn.session_id, "the document it stands in"
        assert json.loads(node.properties["triplets"])
