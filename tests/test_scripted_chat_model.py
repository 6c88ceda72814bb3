import asyncio
import json
import time

import pytest

from memorai_core.errors import ConfigurationError
from memorai_core.flow import Prompt
from memorai_core.protocols import ChatModel
from memorai_core.testing import ScriptedChatModel, faithful_reply


def prompts(*texts: str) -> list[Prompt]:
    return [Prompt(text, "gate", "1") for text in texts]


def said(model: ScriptedChatModel, *texts: str) -> list[str]:
    return [reply.text for reply in model.generate(prompts(*texts))]


def test_it_is_a_chat_model():
    assert isinstance(ScriptedChatModel(["a"]), ChatModel)


def test_fixed_replies_come_in_order_and_end():
    model = ScriptedChatModel(["a", "b"])
    assert said(model, "x", "y") == ["a", "b"]
    with pytest.raises(AssertionError, match="no reply left for prompt 2, gate@1"):
        said(model, "z")


def test_replies_may_cycle_or_be_computed():
    assert said(ScriptedChatModel(["a", "b"], cycle=True), *"uvwxy") == ["a", "b", "a", "b", "a"]
    assert said(ScriptedChatModel(lambda prompt: prompt.text.upper()), "x", "y") == ["X", "Y"]


def test_it_records_prompts_batches_and_tokens():
    model = ScriptedChatModel(["one two", "three"])
    (first, second) = model.generate(prompts("a b c", "d"))
    assert [prompt.text for prompt in model.prompts] == ["a b c", "d"]
    assert model.batches == [2]
    assert [(reply.input_tokens, reply.output_tokens) for reply in (first, second)] == [(3, 2), (1, 1)]


@pytest.mark.parametrize("call", [lambda m, p: m.generate(p), lambda m, p: asyncio.run(m.agenerate(p))])
def test_faults_replace_single_replies(call):
    model = ScriptedChatModel(["a"], cycle=True, faults={1: "{bad", 2: ConnectionError("down")})
    assert [reply.text for reply in call(model, prompts("x", "y"))] == ["a", "{bad"]
    with pytest.raises(ConnectionError, match="down"):
        call(model, prompts("z"))
    assert [reply.text for reply in call(model, prompts("z"))] == ["a"]


def test_an_exception_in_the_script_is_raised():
    with pytest.raises(TimeoutError):
        said(ScriptedChatModel(["a", TimeoutError()]), "x", "y")


def test_a_delay_is_one_a_batch():
    model = ScriptedChatModel(["a"], cycle=True, delay=0.02)
    start = time.perf_counter()
    model.generate(prompts(*"abcdefghij"))
    assert 0.02 <= time.perf_counter() - start < 0.2


def test_a_script_needs_a_reply():
    with pytest.raises(ConfigurationError, match="at least one reply"):
        ScriptedChatModel([])


def test_a_faithful_reply_to_a_prompt_it_does_not_know_is_free_text():
    assert faithful_reply(Prompt("Where?", "answer", "1")) == "It is as the memory says [1]."
    assert json.loads(faithful_reply(Prompt("Same?", "judge", "1")))["right"] is True
