"""Steps that need a language model, as generators without I/O.

A flow yields prompts, receives their replies, and returns its result. `run` and `arun` are the only places where a model
is called; everything else is pure, and can be driven by hand with `next` and `send`.
"""

import contextvars
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, cast

from memorai_core.errors import ConfigurationError

if TYPE_CHECKING:
    from asyncio import Semaphore

    from memorai_core.protocols import ChatModel
    from memorai_core.replies import Rejected, ReplyModel


S = TypeVar("S", bound="ReplyModel")
T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One text for a chat model, and which prompt it was made from."""

    text: str
    name: str
    version: str
    schema: "type[ReplyModel] | None" = None
    """The shape of the reply that is asked for; None where it is free text. A server that can may be held to it."""
    cites: int = 0
    """The highest number of a turn that the reply may cite."""

    @property
    def made_by(self) -> str:
        """What is stored with all that comes of the reply."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class Reply:
    """A chat model's text, with token counts where the provider gives them."""

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    from_cache: bool = False
    """True where no model was called for it."""


@dataclass(slots=True)
class Usage:
    """What driving flows has cost so far; one may be shared by several runs of one event loop or thread."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, reply: Reply) -> None:
        """Counts one reply; one from a cache costs nothing."""
        if not reply.from_cache:
            self.calls += 1
            self.input_tokens += reply.input_tokens or 0
            self.output_tokens += reply.output_tokens or 0


Flow: TypeAlias = Generator[list[Prompt], list[Reply], T]


def ask(prompts: Sequence[Prompt], schema: type[S]) -> "Flow[list[S | Rejected]]":
    """The replies in the shape of `schema`, in order; those that cannot be read are asked for once more, with the error."""
    from memorai_core.replies import Rejected, read_reply  # what only a chat model's replies need

    if not prompts:
        return []
    prompts = [replace(prompt, schema=schema) for prompt in prompts]
    replies = yield prompts
    read = [read_reply(reply.text, schema, cites=prompt.cites) for prompt, reply in zip(prompts, replies, strict=True)]
    again = {place: _asked_again(prompts[place], reply) for place, reply in enumerate(read) if isinstance(reply, Rejected)}
    if again:
        replies = yield list(again.values())
        for place, reply in zip(again, replies, strict=True):
            read[place] = read_reply(reply.text, schema, cites=prompts[place].cites)
    return read


def _asked_again(prompt: Prompt, rejected: "Rejected") -> Prompt:
    from memorai_core.prompts.template import load

    return replace(prompt, text=load("retry", "prompt", "error").fill(prompt=prompt.text, error=rejected.detail))


def together(flows: Sequence[Flow[T]]) -> Flow[list[T]]:
    """The results of several flows in order, driven in lock-step, so that their prompts make larger batches."""
    try:
        steps = [_advance(flow) for flow in flows]
        while waiting := [place for place, step in enumerate(steps) if not isinstance(step, _Ended)]:
            asked = [cast(list[Prompt], steps[place]) for place in waiting]
            batch = [prompt for prompts in asked for prompt in prompts]
            replies = iter((yield batch) if batch else [])
            for place, prompts in zip(waiting, asked, strict=True):
                steps[place] = _advance(flows[place], [next(replies) for _ in prompts])
        return [cast(_Ended[T], step).result for step in steps]
    finally:
        for flow in flows:
            flow.close()


def settled(result: T) -> Flow[T]:
    """A flow that asks nothing and gives a result that is there already."""
    return result
    yield []


def both(first: Flow[A], second: Flow[B]) -> Flow[tuple[A, B]]:
    """The results of two flows, driven in lock-step."""
    results = yield from together([cast(Flow[object], first), cast(Flow[object], second)])
    return cast(A, results[0]), cast(B, results[1])


def run(flow: Flow[T], chat_model: "ChatModel | None", usage: Usage | None = None) -> T:
    """Drives a flow to its end; a flow that asks nothing needs no chat model. An error of the model passes through."""
    try:
        step = _advance(flow)
        while not isinstance(step, _Ended):
            try:
                replies = _needed(chat_model).generate(step)
            except Exception as error:
                step = _throw(flow, error)
            else:
                step = _advance(flow, _counted(step, replies, usage))
        return step.result
    finally:
        flow.close()


async def arun(flow: Flow[T], chat_model: "ChatModel | None", usage: Usage | None = None, working: "Semaphore | None" = None) -> T:
    """Drives a flow to its end as `run` does; the flow's own work is done in a thread, so the event loop stays free.

    Flows that share `working` do their own work in no more threads at once than that lets in.
    """
    try:
        step = await _in_thread(partial(_advance, flow), working)
        while not isinstance(step, _Ended):
            try:
                replies = await _needed(chat_model).agenerate(step)
            except Exception as error:
                step = await _in_thread(partial(_throw, flow, error), working)
            else:
                step = await _in_thread(partial(_advance, flow, _counted(step, replies, usage)), working)
        return step.result
    finally:
        flow.close()


@dataclass(frozen=True, slots=True)
class _Ended(Generic[T]):
    result: T


def _advance(flow: Flow[T], replies: list[Reply] | None = None) -> list[Prompt] | _Ended[T]:
    try:
        return next(flow) if replies is None else flow.send(replies)
    except StopIteration as end:
        return _Ended(cast(T, end.value))


def _throw(flow: Flow[T], error: Exception) -> list[Prompt] | _Ended[T]:
    try:
        return flow.throw(error)
    except StopIteration as end:
        return _Ended(cast(T, end.value))


def _needed(chat_model: "ChatModel | None") -> "ChatModel":
    if chat_model is None:
        raise ConfigurationError("this step needs a chat model: pass chat_model= to Memory.open")
    return chat_model


def _counted(prompts: list[Prompt], replies: list[Reply], usage: Usage | None) -> list[Reply]:
    if len(replies) != len(prompts):
        raise ConfigurationError(f"the chat model gave {len(replies)} replies to {len(prompts)} prompts; it must give one each, in order")
    if usage is not None:
        for reply in replies:
            usage.add(reply)
    return replies


async def _in_thread(work: Callable[[], T], working: "Semaphore | None") -> T:
    """The result of work done in a thread; a cancelled caller waits for it, since a generator at work cannot be closed."""
    if working is not None:
        async with working:
            return await _in_thread(work, None)
    import asyncio  # who awaits has it already; who does not, starts sooner without it

    future = asyncio.get_running_loop().run_in_executor(None, partial(contextvars.copy_context().run, work))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue
        if not future.cancelled():
            future.exception()  # seen, so that it is not reported as never retrieved
        raise
