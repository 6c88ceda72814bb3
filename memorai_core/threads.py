"""The async side of work that blocks. asyncio is imported when it is used: who awaits something has it already."""

from collections.abc import Callable, Coroutine, Sequence
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a blocking call, made in a thread."""
    from asyncio import to_thread

    return await to_thread(function, *args, **kwargs)


async def all_or_error(parts: Sequence[Coroutine[object, object, None]]) -> None:
    """Runs coroutines side by side; the first error cancels the rest, waits for them, and is raised as it is.

    Cancelled itself, it waits for them too, however often: what they hold in use must not be closed under them.
    """
    from asyncio import CancelledError, create_task, gather, wait

    tasks = [create_task(part) for part in parts]
    try:
        await gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        while not all(task.done() for task in tasks):
            try:
                await wait(tasks)
            except CancelledError:
                continue
        await gather(*tasks, return_exceptions=True)  # seen, so that none is reported as never retrieved
        raise
