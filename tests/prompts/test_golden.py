"""Each prompt as it is sent, against a file: a change of words must be seen, and must come with a new version.

After a change that is meant: `PYTHONPATH=tests python tests/prompts/test_golden.py` writes the files anew.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from conversations import FRIENDS, START, tail
from evidences import evidence

from memorai_core import answering
from memorai_core.answering import answer_prompt
from memorai_core.flow import Prompt, Reply, ask
from memorai_core.indexing.entities import entities_prompt
from memorai_core.indexing.fused import fused_prompt
from memorai_core.indexing.gate import GateReply, gate_prompt
from memorai_core.indexing.segmentation import segmentation_prompt
from memorai_core.indexing.summary import summary_prompt
from memorai_core.indexing.triplets import triplets_prompt
from memorai_core.judging import judge_prompt
from memorai_core.models import Message
from memorai_core.prompts import Passage

GOLDEN = Path(__file__).parent.parent / "golden"
PASSAGE = Passage(tail(*FRIENDS, context=2).turns, tail(*FRIENDS, context=2).context)
KEPT = frozenset({"turn-2", "turn-3", "turn-5"})


def second_asking() -> Prompt:
    flow = ask([gate_prompt(PASSAGE)], GateReply)
    next(flow)
    (prompt,) = flow.send([Reply('{"kept": "all"}')])
    return replace(prompt, name="retry")


PROMPTS = {
    "segmentation": lambda: segmentation_prompt(PASSAGE),
    "gate": lambda: gate_prompt(PASSAGE),
    "summary": lambda: summary_prompt(PASSAGE),
    "triplets": lambda: triplets_prompt(PASSAGE, KEPT),
    "entities": lambda: entities_prompt(PASSAGE, KEPT, ["Alice", "pottery workshop", "bowls & <cups>"]),
    "fused": lambda: fused_prompt(PASSAGE),
    "answer": lambda: answer_prompt(evidence(), "And when?", [Message(role="user", text="Where did I <go>?", name="Alice")], START),
    "judge": lambda: judge_prompt("When did Alice go?", "7 May 2023", "The day before <8 May 2023>."),
    "retry": second_asking,
}


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_what_it_was(name, monkeypatch):
    monkeypatch.setattr("memorai_core.answering.render_prompt", lambda *given, **how: "(the memory and the question)")
    prompt = PROMPTS[name]()
    assert prompt.name == name
    file = GOLDEN / f"{prompt.made_by}.txt"
    assert file.exists(), "a changed prompt takes a new version, and a new version a new golden file"
    assert prompt.text == file.read_text(encoding="utf-8").removesuffix("\n")


def test_no_golden_file_is_left_over():
    assert {file.name.partition("@")[0] for file in GOLDEN.iterdir()} == set(PROMPTS)
    assert len(list(GOLDEN.iterdir())) == len(PROMPTS)


if __name__ == "__main__":
    answering.render_prompt = lambda *given, **how: "(the memory and the question)"
    for file in GOLDEN.iterdir():
        file.unlink()
    for make in PROMPTS.values():
        (GOLDEN / f"{make().made_by}.txt").write_text(make().text + "\n", encoding="utf-8")
