import asyncio
import json

import pytest
from pydantic import Field

from memorai_core.errors import ConfigurationError
from memorai_core.flow import Prompt, Usage, arun, ask, run
from memorai_core.replies import ReplyModel, TurnNumbers
from memorai_core.reply_cache import CachedChatModel
from memorai_core.testing import ScriptedChatModel


class Numbers(ReplyModel):
    numbers: TurnNumbers = Field(min_length=1)


GOOD = '{"numbers": [1]}'


def prompt(text: str = "which?", version: str = "1") -> Prompt:
    return Prompt(text, "numbers", version, Numbers, 3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "replies.jsonl"


def texts(replies):
    return [reply.text for reply in replies]


def test_a_reply_is_asked_for_once(path):
    model = ScriptedChatModel([GOOD, '{"numbers": [2]}'])
    cached = CachedChatModel(model, path, identity="m")
    first = cached.generate([prompt("a")])
    again = cached.generate([prompt("b"), prompt("a")])
    assert texts(again) == ['{"numbers": [2]}', GOOD]
    assert [asked.text for asked in model.prompts] == ["a", "b"]
    assert (first[0].from_cache, again[0].from_cache, again[1].from_cache) == (False, False, True)


def test_replies_outlive_the_process(path):
    CachedChatModel(ScriptedChatModel([GOOD]), path, identity="m").generate([prompt()])
    model = ScriptedChatModel(["never"])
    assert texts(CachedChatModel(model, path, identity="m").generate([prompt()])) == [GOOD]
    assert model.prompts == []


def test_sync_and_async_share_what_is_kept(path):
    CachedChatModel(ScriptedChatModel([GOOD]), path, identity="m").generate([prompt()])
    model = ScriptedChatModel(['{"numbers": [3]}'])
    cached = CachedChatModel(model, path, identity="m")
    assert texts(asyncio.run(cached.agenerate([prompt(), prompt("new")]))) == [GOOD, '{"numbers": [3]}']
    assert texts(CachedChatModel(model, path, identity="m").generate([prompt("new")])) == ['{"numbers": [3]}']


@pytest.mark.parametrize(("other", "identity"), [(prompt("which?", "2"), "m"), (prompt("who?"), "m"), (prompt(), "n")])
def test_another_prompt_version_or_model_is_asked(path, other, identity):
    CachedChatModel(ScriptedChatModel([GOOD]), path, identity="m").generate([prompt()])
    model = ScriptedChatModel(['{"numbers": [2]}'])
    assert texts(CachedChatModel(model, path, identity=identity).generate([other])) == ['{"numbers": [2]}']


@pytest.mark.parametrize("bad", ["", "sorry", '{"numbers": [99]}', '{"number": [1]}'])
def test_a_reply_that_is_rejected_is_never_kept(path, bad):
    cached = CachedChatModel(ScriptedChatModel([bad, bad, GOOD]), path, identity="m")
    usage = Usage()
    (rejected,) = run(ask([prompt()], Numbers), cached, usage)
    assert rejected.kind
    assert usage.calls == 2
    assert not path.exists()
    (reply,) = run(ask([prompt()], Numbers), cached, usage)
    assert reply.numbers == [1]


def test_what_a_cache_answers_costs_nothing(path):
    cached = CachedChatModel(ScriptedChatModel([GOOD]), path, identity="m")
    usage, again = Usage(), Usage()
    run(ask([prompt()], Numbers), cached, usage)
    asyncio.run(arun(ask([prompt()], Numbers), cached, again))
    assert usage.calls == 1
    assert again == Usage(0, 0, 0)


def test_free_text_is_kept_unless_empty(path):
    free = Prompt("say", "answer", "1")
    cached = CachedChatModel(ScriptedChatModel([" ", "Hanoi"]), path, identity="m")
    assert [texts(cached.generate([free])) for _ in range(3)] == [[" "], ["Hanoi"], ["Hanoi"]]


def test_an_entry_that_was_cut_off_is_asked_again(path):
    cached = CachedChatModel(ScriptedChatModel([GOOD] * 2), path, identity="m")
    cached.generate([prompt("a"), prompt("b")])
    path.write_bytes(path.read_bytes()[:-5])
    model = ScriptedChatModel([GOOD] * 2)
    reopened = CachedChatModel(model, path, identity="m")
    reopened.generate([prompt("a"), prompt("b")])
    assert [asked.text for asked in model.prompts] == ["b"]
    assert len(CachedChatModel(model, path, identity="m")._texts) == 2


def test_foreign_lines_are_passed_over(path):
    path.write_text('[]\n{"key": 1}\nnull\n\xff\n' + json.dumps({"key": "k", "text": "t"}), encoding="latin-1")
    assert CachedChatModel(ScriptedChatModel([GOOD]), path, identity="m")._texts == {"k": "t"}


async def test_a_model_that_loses_a_prompt_is_a_clear_error(path):
    class Short(ScriptedChatModel):
        def generate(self, prompts):
            return super().generate(prompts)[1:]

        async def agenerate(self, prompts):
            return self.generate(prompts)

    cached = CachedChatModel(Short([GOOD], cycle=True), path, identity="m")
    with pytest.raises(ConfigurationError, match="1 replies to 2 prompts"):
        cached.generate([prompt("a"), prompt("b")])
    with pytest.raises(ConfigurationError, match="1 replies to 2 prompts"):
        await cached.agenerate([prompt("a"), prompt("b")])
    assert not path.exists()


def test_clear_forgets_on_disk_too(path):
    model = ScriptedChatModel([GOOD] * 2)
    cached = CachedChatModel(model, path, identity="m")
    cached.generate([prompt()])
    cached.clear()
    assert not path.exists()
    cached.generate([prompt()])
    assert len(model.prompts) == 2


def test_an_error_of_transport_keeps_what_came_before(path):
    model = ScriptedChatModel([GOOD, ConnectionError("down")])
    cached = CachedChatModel(model, path, identity="m")
    cached.generate([prompt("a")])
    with pytest.raises(ConnectionError, match="down"):
        cached.generate([prompt("a"), prompt("b")])
    assert texts(CachedChatModel(ScriptedChatModel([GOOD]), path, identity="m").generate([prompt("a")])) == [GOOD]
