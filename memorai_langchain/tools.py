"""Tools by which an agent looks into its user's memory, writes into it, and forgets."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from memorai_core import Memory
from memorai_langchain.saving import IndexWhen, check_options
from memorai_langchain.tool_actions import Actions, Result


class MemoryTools(NamedTuple):
    """The three tools; being a sequence, they go into an agent as `tools=memory_tools(...)`."""

    search_memory: BaseTool
    save_memory: BaseTool
    forget_memory: BaseTool


class SearchArguments(BaseModel):
    """What the model says to search the memory."""

    query: str = Field(description="What to look for: a question or a few words.")


class SaveArguments(BaseModel):
    """What the model says to have something remembered."""

    text: str = Field(min_length=1, description="One thing to remember, as a sentence that is clear by itself, with names and dates.")


class ForgetArguments(BaseModel):
    """What the model says to have turns forgotten."""

    turn_ids: list[str] = Field(min_length=1, max_length=50, description="Ids of turns, as search_memory gives them.")


def memory_tools(
    *,
    memory: Memory,
    user_id: str | None = None,
    session_id: str | None = None,
    k: int = 10,
    index: IndexWhen = "background",
    max_tokens: int | None = None,
    raise_errors: bool = False,
) -> MemoryTools:
    """Tools over one memory. Whose memory it is comes from the run, or else from `user_id`; the model has no say in it.

    Notes go into a session of their own, named after the one at hand with "#notes" behind. What the model forgets is gone for
    good: put LangChain's `HumanInTheLoopMiddleware` before `forget_memory` where the user should confirm. Where the memory
    fails, the model is told so, unless `raise_errors`.
    """
    check_options(k, index)
    does = Actions(memory, user_id, session_id, k, index, max_tokens, raise_errors)
    return MemoryTools(
        _tool(
            "search_memory",
            "Look up what was said in earlier conversations with this user. Gives the turns that bear most on the query.",
            SearchArguments, does.search, does.asearch,
        ),
        _tool("save_memory", "Remember one thing about this user for later conversations.", SaveArguments, does.save, does.asave),
        _tool(
            "forget_memory",
            "Forget turns for good, and all that rests on them. Only when the user asks for it; search for their ids first.",
            ForgetArguments, does.forget, does.aforget,
        ),
    )  # fmt: skip


def _tool(
    name: str,
    description: str,
    arguments: type[BaseModel],
    action: Callable[..., Result],
    async_action: Callable[..., Awaitable[Result]],
) -> BaseTool:
    return StructuredTool.from_function(
        action, async_action, name=name, description=description, args_schema=arguments,
        response_format="content_and_artifact", handle_tool_error=True,
    )  # fmt: skip
