"""One session through every step on the replies of a real, and hopeless, model: nothing is lost, and all is counted."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from conversations import FRIENDS, START, turn, vectors
from dialogue import assert_partition, segments_of, triplets_of, turns_of
from indexing.analysing import holds_together
from real_model import SmolLM

from memorai_core import Memory, Message, Settings
from memorai_core.flow import Prompt, Usage, run
from memorai_core.formats import Session, read_conversations
from memorai_core.indexing import index_session
from memorai_core.indexing.prompted import PromptedAnalyzer
from memorai_core.models import SessionTail
from memorai_core.testing import HashingEmbedder


def shortest_session() -> Session:
    """The shortest session of the development data, or one of our own where there is none."""
    folder = Path(os.environ.get("MEMORAI_DATA", "missing"))
    if not folder.is_dir():
        return Session("s1", tuple(Message(role="user", name=name, text=text, timestamp=START) for name, text in FRIENDS))
    conversations = read_conversations(folder / "locomo" / "locomo_dev5.json")
    return min((session for one in conversations for session in one.sessions), key=lambda one: sum(len(m.text) for m in one.messages))


def as_tail(session: Session) -> SessionTail:
    turns = (turn(n, m.name or m.role, m.text, timestamp=m.timestamp) for n, m in enumerate(session.messages))
    return SessionTail("alice", session.session_id, tuple(turns))


@pytest.mark.slow
def test_replies_held_to_their_shape_lose_nothing():
    session = as_tail(shortest_session())
    model, usage = SmolLM(constrained=True), Usage()
    analyzer = PromptedAnalyzer(prompting="fused")
    memory = run(index_session(session, vectors(session), analyzer, sentence_layer=False), model, usage)
    print(f"{len(session.turns)} turns, {len(memory.segments)} segments, {usage}, rejected {dict(memory.rejected)}")
    for prompt, text in model.replies:
        print(f"{prompt.made_by}: {text[:160]!r}")
    holds_together(session, memory)
    assert usage.calls == len(model.replies) > 0
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0


def through_langchain(model: SmolLM):
    """The same model as LangChain has one, and that as the core's."""
    messages = pytest.importorskip("langchain_core.messages", reason="needs the extra [langchain]")
    from langchain_core.runnables import RunnableLambda

    from memorai_langchain import LangChainChatModel

    def reply(asked: Sequence[object]) -> object:
        (said,) = model.generate([Prompt(messages.convert_to_messages(asked)[-1].text, "any", "1")])
        usage = {"input_tokens": said.input_tokens, "output_tokens": said.output_tokens}
        return messages.AIMessage(said.text, usage_metadata={**usage, "total_tokens": said.input_tokens + said.output_tokens})

    return LangChainChatModel(RunnableLambda(reply), max_concurrency=1)


@pytest.mark.slow
def test_every_step_on_unruly_replies_through_langchain_loses_nothing(tmp_path: Path):
    session = shortest_session()
    model = SmolLM(constrained=False)
    settings = Settings(prompting="paper")
    with Memory.open(tmp_path / "m.db", chat_model=through_langchain(model), embedder=HashingEmbedder(), settings=settings) as memory:
        appended = memory.append(session.messages, user_id="u", session_id=session.session_id)
        report = memory.index(user_id="u")
        print(report)
        assert (report.sessions, report.turns, report.kept + report.dropped) == (1, len(appended), len(appended))
        assert report.calls == len(model.replies) > 0
        assert report.input_tokens > report.calls * 100
        assert report.output_tokens > 0
        assert [(turn["turn_id"], turn["text"]) for turn in turns_of(memory, "u")] == [(turn.turn_id, turn.text) for turn in appended]
        assert all(turn["segment_id"] for turn in turns_of(memory, "u"))
        assert len(segments_of(memory, "u")) == report.segments
        assert_partition(memory, "u")
        kept = {turn["turn_id"] for turn in turns_of(memory, "u") if turn["kept"]}
        assert all(triplet["source_turns"] and kept.issuperset(triplet["source_turns"]) for triplet in triplets_of(memory, "u"))
        answer = memory.answer(f"What did {appended[0].speaker} talk about?", user_id="u")
        print(f"{answer.text!r} {answer.citations} {answer.unknown_citations}")
        assert answer.text
        assert {turn.turn_id for turn in answer.evidence.turns}.issuperset(answer.citations)
        assert memory.index(user_id="u").calls == 0
