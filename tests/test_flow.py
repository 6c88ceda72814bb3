import asyncio
import threading
import time
from collections.abc import Callable

import pytest
from pydantic import Field

from memorai_core.errors import ConfigurationError
from memorai_core.flow import Flow, Prompt, Reply, Usage, arun, ask, both, run, together
from memorai_core.replies import Rejected, ReplyModel, TurnNumbers
from memorai_core.testing import ScriptedChatModel


class Numbers(ReplyModel):
    numbers: TurnNumbers = Field(min_length=1)


GOOD = '{"numbers": [1, 2]}'


def prompt(text: str = "which?", cites: int = 3) -> Prompt:
    return Prompt(text, "numbers", "1", cites=cites)


def asking(*texts: str) -> Flow[list[Numbers | Rejected]]:
    return (yield from ask([prompt(text) for text in texts], Numbers))


def counting(rounds: int, name: str, log: list[str] | None = None) -> Flow[list[str]]:
    said = []
    try:
        for number in range(rounds):
            (reply,) = yield [prompt(f"{name}{number}")]
            said.append(reply.text)
        return said
    finally:
        if log is not None:
            log.append(f"{name} closed")


def echo(asked: Prompt) -> str:
    return asked.text


# ask, driven by hand


def test_ask_gives_replies_in_order_without_asking_again():
    flow = asking("a", "b")
    prompts = next(flow)
    assert [one.text for one in prompts] == ["a", "b"]
    assert {one.schema for one in prompts} == {Numbers}
    with pytest.raises(StopIteration) as end:
        flow.send([Reply('{"numbers": [3]}'), Reply(GOOD)])
    assert [reply.numbers for reply in end.value.value] == [[3], [1, 2]]


def test_ask_asks_again_only_what_failed_and_says_why():
    flow = asking("a", "b", "c")
    next(flow)
    again = flow.send([Reply(GOOD), Reply('{"numbers": "none of them"}'), Reply(GOOD)])
    assert len(again) == 1
    assert again[0].text.startswith("b")
    assert "numbers[0]: must be the number of a turn" in again[0].text
    assert (again[0].name, again[0].version, again[0].cites) == ("numbers", "1", 3)
    with pytest.raises(StopIteration) as end:
        flow.send([Reply('{"numbers": [2]}')])
    assert [reply.numbers for reply in end.value.value] == [[1, 2], [2], [1, 2]]


def test_ask_rejects_after_the_second_failure():
    flow = asking("a")
    next(flow)
    flow.send([Reply("")])
    with pytest.raises(StopIteration) as end:
        flow.send([Reply("I would rather not.")])
    assert end.value.value == [Rejected("unreadable", "no whole JSON object was found in it", "I would rather not.")]


def test_ask_for_nothing_asks_nothing():
    with pytest.raises(StopIteration) as end:
        next(ask([], Numbers))
    assert end.value.value == []


def test_a_dollar_sign_in_a_prompt_survives_the_second_asking():
    flow = asking("it cost $price and $$5")
    next(flow)
    assert flow.send([Reply("")])[0].text.startswith("it cost $price and $$5")


# together


def test_together_merges_prompts_into_batches_until_all_have_ended():
    model = ScriptedChatModel(echo)
    results = run(together([counting(1, "a"), counting(3, "b"), counting(0, "c"), counting(2, "d")]), model)
    assert results == [["a0"], ["b0", "b1", "b2"], [], ["d0", "d1"]]
    assert model.batches == [3, 2, 1]


def test_together_of_nothing_asks_nothing():
    assert run(together([]), None) == []


def test_both_gives_each_its_own_result():
    def length() -> Flow[int]:
        (reply,) = yield [prompt("four")]
        return len(reply.text)

    assert run(both(length(), counting(2, "a")), ScriptedChatModel(echo)) == (4, ["a0", "a1"])


def test_together_closes_its_flows_when_one_fails():
    log: list[str] = []

    def failing() -> Flow[list[str]]:
        yield [prompt()]
        raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        run(together([counting(3, "a", log), failing(), counting(3, "b", log)]), ScriptedChatModel(echo))
    assert sorted(log) == ["a closed", "b closed"]


# The two drivers


def both_ways(
    flow: Callable[[], Flow[object]], model: Callable[[], ScriptedChatModel | None], usage: Callable[[], Usage | None]
) -> list[object]:
    return [run(flow(), model(), usage()), asyncio.run(arun(flow(), model(), usage()))]


def test_both_drivers_give_the_same():
    assert both_ways(lambda: counting(3, "a"), lambda: ScriptedChatModel(echo), Usage) == [["a0", "a1", "a2"]] * 2


def test_a_flow_that_asks_nothing_needs_no_model():
    assert both_ways(lambda: counting(0, "a"), lambda: None, lambda: None) == [[], []]


def test_a_flow_that_asks_needs_a_model():
    with pytest.raises(ConfigurationError, match="pass chat_model="):
        run(counting(1, "a"), None)
    with pytest.raises(ConfigurationError, match="pass chat_model="):
        asyncio.run(arun(counting(1, "a"), None))


def test_usage_counts_calls_and_tokens():
    usage = Usage()
    model = ScriptedChatModel(lambda asked: "four words are said", count_tokens=lambda text: len(text.split()))
    run(together([counting(2, "a "), counting(1, "b ")]), model, usage)
    assert usage == Usage(calls=3, input_tokens=6, output_tokens=12)


def test_usage_without_counts_and_from_a_cache():
    usage = Usage()
    for reply in (Reply("a"), Reply("b", 5, None), Reply("c", 7, 7, from_cache=True)):
        usage.add(reply)
    assert usage == Usage(calls=2, input_tokens=5, output_tokens=0)


@pytest.mark.parametrize("driver", [run, lambda *given: asyncio.run(arun(*given))])
def test_an_error_of_transport_passes_through_untouched_and_closes_the_flow(driver):
    log: list[str] = []
    error = ConnectionError("line is down")
    with pytest.raises(ConnectionError) as raised:
        driver(together([counting(2, "a", log), counting(2, "b", log)]), ScriptedChatModel(["one", "two", "three", error]))
    assert raised.value is error
    assert error.__cause__ is None
    assert sorted(log) == ["a closed", "b closed"]


@pytest.mark.parametrize("driver", [run, lambda *given: asyncio.run(arun(*given))])
def test_a_flow_may_handle_an_error_of_transport(driver):
    def patient() -> Flow[str]:
        try:
            (reply,) = yield [prompt()]
        except TimeoutError:
            (reply,) = yield [prompt()]
        return reply.text

    assert driver(patient(), ScriptedChatModel([TimeoutError(), "at last"])) == "at last"


@pytest.mark.parametrize("driver", [run, lambda *given: asyncio.run(arun(*given))])
def test_a_model_that_gives_too_few_replies_is_refused(driver):
    class Short(ScriptedChatModel):
        def _replies(self, prompts):
            return super()._replies(prompts)[1:]

    with pytest.raises(ConfigurationError, match="1 replies to 2 prompts"):
        driver(together([counting(1, "a"), counting(1, "b")]), Short(echo))


def test_a_script_that_has_run_out_is_no_silent_end():
    with pytest.raises(AssertionError, match="no reply left for prompt 1"):
        run(counting(2, "a"), ScriptedChatModel(["one"]))


async def test_run_works_inside_a_running_loop():
    assert run(counting(1, "a"), ScriptedChatModel(echo)) == ["a0"]


async def test_the_flows_own_work_is_done_away_from_the_event_loop():
    threads: list[int] = []

    def working() -> Flow[str]:
        try:
            threads.append(threading.get_ident())
            yield [prompt()]
        except TimeoutError:
            threads.append(threading.get_ident())
            yield [prompt()]
        threads.append(threading.get_ident())
        return "done"

    assert await arun(working(), ScriptedChatModel([TimeoutError(), "a"])) == "done"
    assert len(threads) == 3
    assert threading.get_ident() not in threads


async def test_flows_side_by_side_wait_together():
    start = time.perf_counter()
    flows = (arun(counting(2, name), ScriptedChatModel(echo, delay=0.05)) for name in "abcdefghij")
    assert len(await asyncio.gather(*flows)) == 10
    assert time.perf_counter() - start < 0.5


async def test_a_cancelled_run_closes_its_flow():
    asked, log = asyncio.Event(), []

    class Silent(ScriptedChatModel):
        async def agenerate(self, prompts):
            asked.set()
            return await asyncio.Future()

    task = asyncio.create_task(arun(counting(1, "a", log), Silent(echo)))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["a closed"]


async def test_a_run_cancelled_while_its_flow_works_waits_and_then_closes_it():
    entered, leave, log = threading.Event(), threading.Event(), []

    def working() -> Flow[str]:
        try:
            entered.set()
            leave.wait(5)
            yield [prompt()]
            return "never"
        finally:
            log.append("closed")

    task = asyncio.create_task(arun(working(), ScriptedChatModel(echo)))
    await asyncio.to_thread(entered.wait, 5)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not log
    leave.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["closed"]
