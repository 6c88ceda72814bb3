"""Which of a chain's inputs and outputs is what was said."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeGuard

from langchain_core.messages import BaseMessage

from memorai_core import ConfigurationError, Message
from memorai_langchain.convert import Content, now, role_of, text_of, to_message

INPUT_KEYS = ("input", "question", "query", "human_input", "user_input")
OUTPUT_KEYS = ("output", "answer", "response", "text", "result")
_NEVER = {"stop", "history", "chat_history"}


def chosen_key(values: Mapping[str, object], given: str | None, usual: Sequence[str], *, what: str, ours: Collection[str] = ()) -> str:
    """The key of what was said: the given one, the only one, or the first of the usual ones that is there.

    Our own variables, stop words and message histories are no candidates. Raises ConfigurationError that names those left.
    """
    if given is not None:
        if given in values:
            return given
        raise ConfigurationError(f"there is no {what} {given!r}, which {what}_key= names; there are {_listed(values)}")
    candidates = [key for key in values if key not in ours]
    if len(candidates) > 1:
        candidates = [key for key in candidates if key not in _NEVER and not _is_history(values[key])]
    if len(candidates) == 1:
        return candidates[0]
    for key in usual:
        if key in candidates:
            return key
    raise ConfigurationError(f"which {what} was said? Name one with {what}_key=: there are {_listed(candidates)}")


def said(value: object, role: str) -> Message | None:
    """What a value of a chain says, by whom; None for nothing. Of a list of messages it is the last one of that role.

    Raises TypeError for a value that is neither text nor messages.
    """
    if isinstance(value, BaseMessage):
        return to_message(value, now=now())
    if _is_history(value):
        by_role = [message for message in value if role_of(message) == role]
        return said(by_role[-1], role) if by_role else None
    if not _is_content(value):
        raise TypeError(f"neither text nor messages can be remembered of {type(value).__name__}")
    text = text_of(value)
    return Message(role=role, text=text, timestamp=now()) if text.strip() else None


def _is_history(value: object) -> TypeGuard[Sequence[BaseMessage]]:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(message, BaseMessage) for message in value)


def _is_content(value: object) -> TypeGuard[Content]:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(block, str | Mapping) for block in value))


def _listed(keys: Collection[str]) -> str:
    return ", ".join(repr(key) for key in keys) or "none"
