"""Memory with a chat model: what index and answer ask of it, count, and make of what it says."""

import asyncio
import json
import re
from datetime import UTC, datetime

import pytest
from dialogue import assert_partition, everything, long_chat, say, triplets_of, turns_of

from memorai_core import Memory, Message, Settings
from memorai_core.answering import NOTHING_REMEMBERED
from memorai_core.errors import ConfigurationError, UnknownUserError
from memorai_core.flow import Prompt
from memorai_core.indexing.extractive import ExtractiveAnalyzer
from memorai_core.models import Answer
from memorai_core.reply_cache import CachedChatModel
from memorai_core.reports import IndexReport
from memorai_core.testing import ScriptedChatModel, faithful_reply

both_drivers = pytest.mark.parametrize("driver", ["sync", "async"])


def index(memory: Memory, driver: str, **how: bool) -> IndexReport:
    return asyncio.run(memory.aindex(user_id="u", **how)) if driver == "async" else memory.index(user_id="u", **how)


def answer(memory: Memory, driver: str, question: str, **how: object) -> Answer:
    return asyncio.run(memory.aanswer(question, user_id="u", **how)) if driver == "async" else memory.answer(question, user_id="u", **how)


def three_sessions(memory: Memory, turns: int = 8) -> None:
    for number in range(3):
        memory.append(long_chat(turns, start=100 * (number + 1)), user_id="u", session_id=f"s{number}")


def pending(memory: Memory) -> set[str]:
    """The sessions that have turns to index."""
    return {turn["session_id"] for turn in turns_of(memory, "u") if turn["segment_id"] is None}


def asked_of(prompts: list[Prompt]) -> set[str]:
    """The sessions whose turns prompts are about, known by the numbers that their sentences bear."""
    return {f"s{number}" for number in range(3) for prompt in prompts if re.search(rf"number{number + 1}0\d\.", prompt.text)}


# index


@both_drivers
@pytest.mark.parametrize("prompting", ["paper", "fused"])
def test_a_chat_model_makes_the_graph_and_the_report_counts_what_it_cost(open_memory, driver, prompting):
    model = ScriptedChatModel(faithful_reply)
    memory = open_memory(chat_model=model, settings=Settings(prompting=prompting))
    three_sessions(memory)
    report = index(memory, driver)
    assert (report.sessions, report.turns, report.segments) == (3, 24, 6)
    assert report.calls == len(model.prompts) > 0
    assert report.input_tokens == sum(len(prompt.text.split()) for prompt in model.prompts)
    assert report.output_tokens == sum(len(faithful_reply(prompt).split()) for prompt in model.prompts)
    assert report.rejected == {}
    assert_partition(memory, "u")
    assert {triplet["origin"] for triplet in triplets_of(memory, "u")} == {"model", "extractive"}
    assert {prompt.name for prompt in model.prompts} == (
        {"segmentation", "fused"} if prompting == "fused" else {"segmentation", "gate", "summary", "triplets", "entities"}
    )


@pytest.mark.parametrize("prompting", ["paper", "fused"])
def test_both_drivers_make_the_same_memory(open_memory, prompting):
    memories = []
    for driver in ("sync", "async"):
        memory = open_memory(
            f"{driver}.db", chat_model=ScriptedChatModel(faithful_reply), settings=Settings(prompting=prompting, max_concurrency=1)
        )
        three_sessions(memory)
        index(memory, driver)
        memories.append(everything(memory, "u"))
    assert memories[0] == memories[1]


@both_drivers
def test_a_second_index_asks_nothing(open_memory, driver):
    model = ScriptedChatModel(faithful_reply)
    memory = open_memory(chat_model=model)
    three_sessions(memory)
    index(memory, driver)
    asked = len(model.prompts)
    assert index(memory, driver).calls == 0
    assert len(model.prompts) == asked


@both_drivers
def test_growth_asks_of_the_session_that_grew_alone(open_memory, driver):
    model = ScriptedChatModel(faithful_reply)
    memory = open_memory(chat_model=model)
    three_sessions(memory)
    index(memory, driver)
    before = len(model.prompts)
    memory.append(long_chat(3, start=208), user_id="u", session_id="s1")
    index(memory, driver)
    assert asked_of(model.prompts[before:]) == {"s1"}
    assert_partition(memory, "u")


def test_an_error_of_transport_passes_through_and_the_next_index_goes_on_there(open_memory):
    model = ScriptedChatModel(faithful_reply, faults={4: ConnectionError("down"), 7: TimeoutError("slow")})
    memory = open_memory(chat_model=model)
    three_sessions(memory)
    with pytest.raises(ConnectionError, match="down"):
        memory.index(user_id="u")
    assert pending(memory) == {"s1", "s2"}
    first = len(model.prompts)
    with pytest.raises(TimeoutError, match="slow"):
        memory.index(user_id="u")
    memory.index(user_id="u")
    assert asked_of(model.prompts[first:]) == {"s1", "s2"}
    assert pending(memory) == set()
    undisturbed = open_memory("undisturbed.db", chat_model=ScriptedChatModel(faithful_reply))
    three_sessions(undisturbed)
    undisturbed.index(user_id="u")
    assert everything(memory, "u") == everything(undisturbed, "u")


async def test_an_error_of_transport_in_aindex_leaves_finished_sessions_finished(open_memory):
    def reply(prompt: Prompt) -> str | Exception:
        if "number306." in prompt.text and prompt.name == "fused" and not recovered:
            return ConnectionError("down")
        return faithful_reply(prompt)

    recovered: list[bool] = []
    model = ScriptedChatModel(reply)
    memory = open_memory(chat_model=model, settings=Settings(max_concurrency=1))
    three_sessions(memory)
    with pytest.raises(ConnectionError, match="down"):
        await memory.aindex(user_id="u")
    assert pending(memory) == {"s2"}
    recovered.append(True)
    before = len(model.prompts)
    report = await memory.aindex(user_id="u")
    assert asked_of(model.prompts[before:]) == {"s2"}
    assert (report.sessions, report.turns) == (1, 8)
    assert_partition(memory, "u")


@both_drivers
@pytest.mark.parametrize("prompting", ["paper", "fused"])
def test_replies_that_are_no_use_are_counted_and_lose_no_turn(open_memory, driver, prompting):
    memory = open_memory(chat_model=ScriptedChatModel(["I cannot help with that."], cycle=True), settings=Settings(prompting=prompting))
    three_sessions(memory)
    report = index(memory, driver)
    assert (report.sessions, report.turns) == (3, 24)
    assert report.rejected["segmentation:unreadable"] == 3
    steps = ["fused"] if prompting == "fused" else ["gate", "summary"]
    assert all(report.rejected[f"{step}:unreadable"] == report.segments for step in steps)
    assert pending(memory) == set()
    assert_partition(memory, "u")
    assert {triplet["origin"] for triplet in triplets_of(memory, "u")} == {"extractive"}
    assert memory.retrieve("violin", user_id="u").turns


def test_with_the_extractive_analyzer_index_asks_nothing(open_memory):
    model = ScriptedChatModel(["In Hanoi [1]."])
    memory = open_memory(chat_model=model, analyzer=ExtractiveAnalyzer())
    three_sessions(memory)
    report = memory.index(user_id="u")
    assert (report.calls, report.input_tokens, model.prompts) == (0, 0, [])
    assert report.segments > 0
    assert memory.answer("Where?", user_id="u").text == "In Hanoi [1]."


def test_a_chat_model_that_loses_a_prompt_is_a_clear_error(open_memory):
    class Short(ScriptedChatModel):
        def generate(self, prompts):
            return super().generate(prompts)[1:]

    memory = open_memory(chat_model=Short(faithful_reply))
    three_sessions(memory)
    with pytest.raises(ConfigurationError, match="0 replies to 1 prompts"):
        memory.index(user_id="u")
    assert pending(memory) == {"s0", "s1", "s2"}


# answer


def hanoi(memory: Memory) -> None:
    memory.append(
        [say("I moved to Hanoi", id="m0", at=0), say("Is it warm there?", name="Ben", id="m1", at=1)], user_id="u", session_id="s"
    )


@both_drivers
def test_an_answer_cites_turns_and_reports_what_it_makes_up(open_memory, driver):
    memory = open_memory(chat_model=ScriptedChatModel(["To Hanoi [1], by ship [7]."]), analyzer=ExtractiveAnalyzer())
    hanoi(memory)
    memory.index(user_id="u")
    said = answer(memory, driver, "Where did Alice move to?")
    assert said.citations == (said.evidence.turns[0].turn_id,)
    assert said.evidence.turns[0].source_id == "m0"
    assert said.unknown_citations == (7,)
    assert not said.abstained
    assert (said.input_tokens or 0) > 0
    assert said.output_tokens == 6


@both_drivers
def test_an_answer_abstains(open_memory, driver):
    memory = open_memory(chat_model=ScriptedChatModel(["[none] It is not said when."]), analyzer=ExtractiveAnalyzer())
    hanoi(memory)
    said = answer(memory, driver, "When did Alice move?")
    assert (said.abstained, said.text, said.citations) == (True, "It is not said when.", ())


@both_drivers
def test_an_answer_is_asked_for_with_history_and_time(open_memory, driver):
    model = ScriptedChatModel(["In Hanoi [1]."])
    memory = open_memory(chat_model=model)
    hanoi(memory)
    history = [Message(role="user", name="Alice", text="I am <b>back</b> from the market")]
    answer(memory, driver, "Where did she move to?", history=history, now=datetime(2024, 6, 1, 9, 30, tzinfo=UTC))
    (prompt,) = model.prompts
    assert "It is now: Saturday 1 June 2024 09:30" in prompt.text
    assert '<message by="Alice">I am &lt;b&gt;back&lt;/b&gt; from the market</message>' in prompt.text
    assert "I moved to Hanoi" in prompt.text
    assert "Where did she move to?" in prompt.text


@both_drivers
def test_where_nothing_is_found_no_model_is_asked(open_memory, driver):
    model = ScriptedChatModel(["never"])
    memory = open_memory(chat_model=model)
    memory.append([say("", id="m0")], user_id="u", session_id="s")
    said = answer(memory, driver, "Where?")
    assert (said.text, said.abstained, model.prompts) == (NOTHING_REMEMBERED, True, [])


@both_drivers
def test_an_answer_needs_a_chat_model_and_a_known_user(open_memory, driver):
    memory = open_memory()
    hanoi(memory)
    with pytest.raises(ConfigurationError, match="chat_model="):
        answer(memory, driver, "Where did Alice move to?")
    with pytest.raises(UnknownUserError):
        open_memory("other.db", chat_model=ScriptedChatModel(["never"])).answer("Where?", user_id="u")


@both_drivers
def test_an_error_of_transport_passes_through_an_answer(open_memory, driver):
    memory = open_memory(chat_model=ScriptedChatModel([ConnectionError("down")]))
    hanoi(memory)
    with pytest.raises(ConnectionError, match="down"):
        answer(memory, driver, "Where did Alice move to?")


# A cache of replies, given as the chat model


def cached(tmp_path, model: ScriptedChatModel) -> CachedChatModel:
    return CachedChatModel(model, tmp_path / "replies.jsonl", identity="scripted")


@both_drivers
def test_with_a_cache_of_replies_building_anew_asks_nothing(open_memory, tmp_path, driver):
    model = ScriptedChatModel(faithful_reply)
    one_by_one = Settings(max_concurrency=1)  # entities have their descriptions in the order of sessions
    memory = open_memory(chat_model=cached(tmp_path, model), settings=one_by_one)
    three_sessions(memory)
    first = index(memory, driver)
    built = everything(memory, "u")
    again = index(memory, driver, rebuild=True)
    assert (first.calls, again.calls, again.input_tokens) == (len(model.prompts), 0, 0)
    assert everything(memory, "u") == built
    elsewhere = open_memory("elsewhere.db", chat_model=cached(tmp_path, ScriptedChatModel(["never"])), settings=one_by_one)
    three_sessions(elsewhere)
    assert index(elsewhere, driver).calls == 0
    assert everything(elsewhere, "u") == built


@both_drivers
def test_a_cache_never_keeps_what_index_rejects(open_memory, tmp_path, driver):
    unruly = ScriptedChatModel(lambda prompt: faithful_reply(prompt) if prompt.name == "segmentation" else json.dumps({"kept": [99]}))
    memory = open_memory(chat_model=cached(tmp_path, unruly))
    three_sessions(memory)
    assert index(memory, driver).rejected["fused:unfit"] == 6
    kept = [json.loads(line) for line in (tmp_path / "replies.jsonl").read_text(encoding="utf-8").splitlines() if line]
    assert len(kept) == 3
    assert all("starts" in entry["text"] for entry in kept)
    better = open_memory("better.db", chat_model=cached(tmp_path, ScriptedChatModel(faithful_reply)))
    three_sessions(better)
    report = index(better, driver)
    assert (report.rejected, report.calls) == ({}, 6)


def test_a_cache_keeps_what_an_interrupted_session_was_told(open_memory, tmp_path):
    model = ScriptedChatModel(faithful_reply, faults={5: ConnectionError("down")})
    memory = open_memory(chat_model=cached(tmp_path, model))
    three_sessions(memory)
    with pytest.raises(ConnectionError):
        memory.index(user_id="u")
    asked = len(model.prompts)
    memory.index(user_id="u")
    assert [prompt.name for prompt in model.prompts[asked:]] == ["fused", "fused", "segmentation", "fused", "fused"]
