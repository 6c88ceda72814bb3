"""One LoCoMo session through every step on the replies of a real, and hopeless, model: nothing is lost, and all is counted."""

import os
from pathlib import Path

import pytest
from conversations import turn, vectors
from indexing.analysing import Mode, holds_together
from real_model import SmolLM

from memorai_core.flow import Usage, run
from memorai_core.formats import read_conversations
from memorai_core.indexing import index_session
from memorai_core.indexing.prompted import PromptedAnalyzer
from memorai_core.models import SessionTail


def shortest_session() -> SessionTail:
    folder = Path(os.environ.get("MEMORAI_DATA", "missing"))
    if not folder.is_dir():
        pytest.skip("MEMORAI_DATA names no folder")
    conversations = read_conversations(folder / "locomo" / "locomo_dev5.json")
    shortest = min(
        (session for one in conversations for session in one.sessions), key=lambda session: sum(len(m.text) for m in session.messages)
    )
    turns = (turn(n, m.name or m.role, m.text, timestamp=m.timestamp) for n, m in enumerate(shortest.messages))
    return SessionTail("alice", shortest.session_id, tuple(turns))


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "constrained"), [("paper", False), ("fused", True)])
def test_a_real_models_replies_lose_nothing(mode: Mode, constrained: bool):
    session = shortest_session()
    model, usage = SmolLM(constrained=constrained), Usage()
    analyzer = PromptedAnalyzer(prompting=mode)
    memory = run(index_session(session, vectors(session), analyzer, sentence_layer=False), model, usage)
    print(f"{mode}: {len(session.turns)} turns, {len(memory.segments)} segments, {usage}, rejected {dict(memory.rejected)}")
    for prompt, text in model.replies:
        print(f"{prompt.made_by}: {text[:160]!r}")
    holds_together(session, memory)
    assert usage.calls == len(model.replies) > 0
    assert usage.input_tokens > 0
    assert usage.output_tokens > 0
