from datetime import UTC, datetime

import pytest
from llama_index.core.schema import Document, NodeRelationship, RelatedNodeInfo, TextNode

from memorai_llamaindex.documents import by_session, is_of, read_node, session_of, source_of


def read(text: str, **metadata):
    return [(one.role, one.name, one.text) for one in read_node(TextNode(id_="n", text=text, metadata=metadata))]


def test_a_document_is_one_turn():
    assert read("The museum opens at nine.\nIt closes at five.") == [("document", None, "The museum opens at nine.\nIt closes at five.")]
    assert read("") == read(" \n ") == []


def test_a_documents_metadata_say_who_speaks_and_when():
    node = TextNode(id_="n", text="I live in Hanoi.", metadata={"role": "user", "speaker": "Alice", "timestamp": "2025-03-01T09:00"})
    (message,) = read_node(node)
    assert (message.role, message.name, message.timestamp, message.id) == ("user", "Alice", datetime(2025, 3, 1, 9), "n")


def test_a_transcript_is_a_turn_a_line_and_lines_without_speaker_go_on():
    text = "[2025-03-01 09:00] Alice: I live in Hanoi.\n\nWith Rex.\nBob Ray: Nice: really.\n[long ago] Alice: Come by!"
    assert read(text, timestamp="2025-01-01") == [
        ("user", "Alice", "I live in Hanoi.\nWith Rex."),
        ("user", "Bob Ray", "Nice: really."),
        ("user", "Alice", "Come by!"),
    ]
    messages = read_node(TextNode(id_="n", text=text, metadata={"timestamp": datetime(2025, 1, 1, tzinfo=UTC)}))
    assert [message.id for message in messages] == ["n::0", "n::1", "n::2"]
    assert [message.timestamp.month for message in messages] == [3, 1, 1]


def test_roles_of_a_chat_are_roles_and_no_names():
    assert read("User: hello\nAssistant: hi\nHuman: bye") == [("user", None, "hello"), ("assistant", None, "hi"), ("user", None, "bye")]


@pytest.mark.parametrize(
    "text",
    [
        "Note: the museum is closed.\nWarning: so is the shop.",
        "Alice: one line is no conversation.",
        "Intro\nAlice: hello\nBob: hi",
        "Apples: two\nPears: three\nPlums: four",
        "https://a.example\nhttps://b.example",
        "Title: x\nAuthor: y\nDate: z",
    ],
)
def test_lists_and_headings_are_no_transcript(text):
    assert [role for role, _, _ in read(text)] == ["document"]


def test_a_session_is_named_by_the_caller_the_metadata_the_document_or_the_node():
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")}
    assert session_of(TextNode(id_="n", text="x", metadata={"session_id": "m"}, relationships=source), "given") == "given"
    assert session_of(TextNode(id_="n", text="x", metadata={"session_id": "m"}, relationships=source), None) == "m"
    assert session_of(TextNode(id_="n", text="x", metadata={"session_id": ""}, relationships=source), None) == "doc"
    assert session_of(Document(id_="d", text="x"), None) == "d"


def test_turns_are_known_by_the_node_or_the_document_they_came_of():
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc")}
    cut = [TextNode(text=text, relationships=source) for text in ("one", "two", "one")]
    assert source_of(cut[0]) == source_of(cut[2]) != source_of(cut[1])
    assert source_of(TextNode(id_="n", text="one")) == "n"
    for known in (source_of(cut[0]), "doc", "n"):
        assert is_of(known, known)
        assert is_of(f"{known}::12", known)
    assert is_of(f"{source_of(cut[0])}::3", "doc")
    for other in ("n1", "x::n", "n::x", "n::1::2", "n::1x", "n/1", None):
        assert not is_of(other, "n")


def test_nodes_of_one_session_follow_one_another():
    nodes = [TextNode(id_="a", text="one", metadata={"session_id": "s"}), TextNode(id_="b", text=""), TextNode(id_="c", text="two")]
    nodes[2].metadata["session_id"] = "s"
    assert {name: [one.text for one in said] for name, said in by_session(nodes, None, read_node).items()} == {"s": ["one", "two"]}
