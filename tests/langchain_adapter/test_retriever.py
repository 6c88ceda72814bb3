import json

import pytest

pytest.importorskip("langchain_core", reason="needs the extra [langchain]")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate, format_document
from langchain_core.runnables import ConfigurableField, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from pydantic import ValidationError

from memorai_core import ConfigurationError, Memory, Message
from memorai_langchain import MemoraiRetriever

from .fakes import chat

QUESTION = "What is the cat called?"


def first_text(documents):
    return documents[0].page_content


def test_documents_carry_the_turn_s_own_words_and_where_they_come_from(alice):
    documents = MemoraiRetriever(memory=alice, user_id="alice", k=2).invoke(QUESTION)
    evidence = alice.retrieve(QUESTION, user_id="alice", k=2)
    assert [document.id for document in documents] == [turn.turn_id for turn in evidence.turns]
    assert first_text(documents) == "I adopted a grey cat called Miso."
    metadata = documents[0].metadata
    turn = evidence.turns[0]
    assert {key: metadata[key] for key in ["turn_id", "session_id", "segment_id", "speaker", "source_id", "role", "score"]} == {
        "turn_id": turn.turn_id, "session_id": "monday", "segment_id": turn.segment_id, "speaker": "Alice", "source_id": "m4",
        "role": "user", "score": turn.score,
    }  # fmt: skip
    assert metadata["timestamp"] == "2024-04-01T09:00:00+00:00"
    assert metadata["triplets"]
    assert all(turn.turn_id in triplet["source_turns"] for triplet in metadata["triplets"])
    assert json.loads(json.dumps(metadata)) == metadata


def test_a_document_prompt_can_name_the_speaker(alice):
    document = MemoraiRetriever(memory=alice, user_id="alice", k=1).invoke(QUESTION)[0]
    assert format_document(document, PromptTemplate.from_template("{speaker}: {page_content}")).startswith("Alice: I adopted")


async def test_async_finds_the_same(alice):
    retriever = MemoraiRetriever(memory=alice, user_id="alice")
    assert await retriever.ainvoke(QUESTION) == retriever.invoke(QUESTION)
    assert await retriever.ainvoke(QUESTION, k=1) == retriever.invoke(QUESTION)[:1]


@pytest.mark.parametrize("query", ["", "  "])
def test_nothing_is_found_for_nothing(alice, query):
    assert MemoraiRetriever(memory=alice, user_id="alice").invoke(query) == []


def test_an_unknown_user_has_an_empty_memory(alice):
    assert MemoraiRetriever(memory=alice, user_id="bob").invoke(QUESTION) == []


def test_a_session_keeps_to_itself(alice):
    alice.append([Message(role="user", text="My other cat is called Tofu.")], user_id="alice", session_id="tuesday")
    retriever = MemoraiRetriever(memory=alice, user_id="alice", session_id="tuesday")
    assert {document.metadata["session_id"] for document in retriever.invoke(QUESTION)} == {"tuesday"}
    assert {document.metadata["session_id"] for document in retriever.invoke(QUESTION, session_id="monday")} == {"monday"}


class TestWhoseMemory:
    @pytest.fixture
    def both(self, alice):
        alice.append([Message(role="user", text="My cat is called Pixel.")], user_id="bob", session_id="b")
        return alice

    def test_the_run_s_user_wins_over_the_constructor_s(self, both):
        retriever = MemoraiRetriever(memory=both, user_id="alice")
        bob = {"configurable": {"user_id": "bob"}}
        assert "Miso" in first_text(retriever.invoke(QUESTION))
        assert "Pixel" in first_text(retriever.invoke(QUESTION, bob))
        assert "Pixel" in first_text((RunnablePassthrough() | retriever).invoke(QUESTION, bob))

    async def test_the_same_in_async(self, both):
        retriever = MemoraiRetriever(memory=both)
        for user_id, name in [("alice", "Miso"), ("bob", "Pixel")]:
            config = {"configurable": {"user_id": user_id}}
            assert name in first_text(await retriever.ainvoke(QUESTION, config))
            assert name in first_text(await (RunnablePassthrough() | retriever).ainvoke(QUESTION, config))

    def test_batches_keep_users_apart(self, both):
        configs = [{"configurable": {"user_id": user_id}} for user_id in ["alice", "bob"] * 4]
        found = MemoraiRetriever(memory=both).batch([QUESTION] * 8, configs)
        assert ["Miso" in first_text(documents) for documents in found] == [True, False] * 4

    def test_configurable_fields(self, both):
        fields = {name: ConfigurableField(id=name) for name in ["user_id", "session_id"]}
        retriever = MemoraiRetriever(memory=both, user_id="alice").configurable_fields(**fields)
        assert "Pixel" in first_text(retriever.invoke(QUESTION, {"configurable": {"user_id": "bob"}}))
        assert retriever.invoke(QUESTION, {"configurable": {"session_id": "elsewhere"}}) == []

    def test_a_thread_does_not_narrow_the_search(self, both):
        config = {"configurable": {"user_id": "alice", "thread_id": "t", "session_id": "s"}}
        assert "Miso" in first_text(MemoraiRetriever(memory=both).invoke(QUESTION, config))

    def test_no_user_is_an_error_that_says_what_to_do(self, both):
        with pytest.raises(ConfigurationError, match="no user: pass user_id="):
            MemoraiRetriever(memory=both).invoke(QUESTION)

    @pytest.mark.parametrize("user_id", ["", "  ", ["alice"]])
    def test_a_user_that_is_no_name_is_an_error(self, both, user_id):
        with pytest.raises(ConfigurationError, match="user_id"):
            MemoraiRetriever(memory=both, user_id="alice").invoke(QUESTION, {"configurable": {"user_id": user_id}})


@pytest.mark.parametrize("options", [{"k": 0}, {"user": "alice"}, {"memory": "memory.db"}])
def test_wrong_arguments_are_errors(memory, options):
    with pytest.raises(ValidationError):
        MemoraiRetriever(**{"memory": memory, "user_id": "alice", **options})


def test_an_impossible_k_of_a_call_is_an_error(alice):
    with pytest.raises(ConfigurationError, match="k must be"):
        MemoraiRetriever(memory=alice, user_id="alice").invoke(QUESTION, k=0)


class Watcher(BaseCallbackHandler):
    def __init__(self):
        self.events = []

    def on_retriever_start(self, serialized, query, *, tags=None, metadata=None, **kwargs):
        self.events.append(("start", query, tags, metadata))

    def on_retriever_end(self, documents, **kwargs):
        self.events.append(("end", len(documents)))

    def on_retriever_error(self, error, **kwargs):
        self.events.append(("error", str(error)))


def test_callbacks_see_the_search(alice):
    watcher = Watcher()
    retriever = MemoraiRetriever(memory=alice, user_id="alice", k=2, tags=["recall"], metadata={"place": "test"})
    retriever.invoke(QUESTION, {"callbacks": [watcher]})
    (start, query, tags, metadata), end = watcher.events
    assert (start, query, end) == ("start", QUESTION, ("end", 2))
    assert "recall" in tags
    assert metadata["place"] == "test"
    assert metadata["ls_retriever_name"] == "memorai"


def test_errors_of_the_store_are_errors_of_the_retriever(alice):
    watcher = Watcher()
    alice.close()
    with pytest.raises(Exception, match="closed"):
        MemoraiRetriever(memory=alice, user_id="alice").invoke(QUESTION, {"callbacks": [watcher]})
    assert watcher.events[-1][0] == "error"


async def test_in_a_chain(alice):
    model = chat("Miso.", "Miso!")
    prompt = ChatPromptTemplate.from_template("Known: {known}\nQuestion: {question}")
    retriever = MemoraiRetriever(memory=alice, user_id="alice", k=1)
    known = retriever | (lambda documents: documents[0].page_content)
    chain = {"known": known, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    assert chain.invoke(QUESTION) == "Miso."
    assert await chain.ainvoke(QUESTION) == "Miso!"
    assert "I adopted a grey cat called Miso." in model.asked[0][0].content


def test_as_a_tool(alice):
    tool = create_retriever_tool(MemoraiRetriever(memory=alice, user_id="alice", k=1), "memory", "Looks things up.")
    assert tool.invoke({"query": QUESTION}) == "I adopted a grey cat called Miso."


def test_the_memory_is_neither_shown_nor_serialised(alice):
    retriever = MemoraiRetriever(memory=alice, user_id="alice")
    assert "memory=" not in repr(retriever)
    assert "memory" not in retriever.model_dump()


def test_langchain_s_embeddings_fit_as_they_are(tmp_path):
    with Memory.open(tmp_path / "other.db", embedder=DeterministicFakeEmbedding(size=16)) as memory:
        memory.append([Message(role="user", text="My cat is called Miso.")], user_id="alice", session_id="s")
        memory.index(user_id="alice")
        assert "Miso" in first_text(MemoraiRetriever(memory=memory, user_id="alice").invoke("My cat is called Miso."))
