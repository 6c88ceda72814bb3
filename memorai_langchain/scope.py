"""Whose memory and which session a call is about: what the running application carries, or else the constructor's."""

import sys
from collections.abc import Mapping
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from memorai_core import ConfigurationError


def user_of(bound: str | None, runtime: object = None, config: RunnableConfig | None = None) -> str:
    """The user of the agent's context, of the server's login or of the configurable fields, in this order, or else `bound`.

    `runtime` and `config` are those of the run that is under way where they are not given. Raises ConfigurationError where there
    is none.
    """
    runtime = runtime or _running()
    login = getattr(getattr(getattr(runtime, "server_info", None), "user", None), "identity", None)
    for carried in (_of_context(runtime, "user_id"), login, _configurable(config).get("user_id"), bound):
        if carried is not None:
            return _as_id("user_id", carried)
    raise ConfigurationError(
        "no user: pass user_id= to the constructor, or carry it in the run as context={'user_id': ...} or config={'configurable': "
        "{'user_id': ...}}; there is no default user"
    )


def session_of(bound: str | None, runtime: object = None) -> str:
    """The session of the agent's context or of the configurable fields, the thread, or else `bound`.

    Raises ConfigurationError where there is none.
    """
    session_id = session_if_any(bound, runtime)
    if session_id is None:
        raise ConfigurationError(
            "no session: pass session_id= to the constructor, or carry it in the run as config={'configurable': {'thread_id': ...}}"
        )
    return session_id


def session_if_any(bound: str | None, runtime: object = None) -> str | None:
    """What `session_of` gives, or None where there is none."""
    configurable = _configurable()
    carried = (_of_context(runtime or _running(), "session_id"), configurable.get("session_id"), configurable.get("thread_id"), bound)
    return next((_as_id("session_id", value) for value in carried if value is not None), None)


def in_thread() -> bool:
    """Whether the running graph keeps a thread, which gives every message an id that stays."""
    return _configurable().get("thread_id") is not None


def _configurable(config: RunnableConfig | None = None) -> Mapping[str, object]:
    return ensure_config(config).get("configurable") or {}


def _running() -> object:
    """The runtime of the graph that is running, if one is."""
    if "langgraph.runtime" not in sys.modules:
        return None
    from langgraph.runtime import get_runtime

    try:
        return get_runtime()
    except (RuntimeError, KeyError):  # outside of any run, or in one that is no graph's
        return None


def _of_context(runtime: object, name: str) -> object:
    context: object = getattr(runtime, "context", None)
    return context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)


def _as_id(name: str, value: object) -> str:
    if not isinstance(value, str | int | UUID) or not str(value).strip():
        raise ConfigurationError(f"{name} must be a string that is not blank, a number or a UUID, not {value!r}")
    return str(value)
