"""What an agent is asked at the moment, and what was recalled for it in the steps before."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, ToolMessage

from memorai_langchain.convert import is_injected, text_of

MEMORY_CHANGERS = ("save_memory", "forget_memory")
"""Tools after which what was recalled is out of date."""
KEPT = 256
FRESH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """A user's message that the agent is working on."""

    user_id: str
    message_id: str | None
    text: str
    changes: int
    """How often the agent has changed the memory since."""
    in_sight: frozenset[tuple[str, str]]
    """Session id and source id of every turn that the model sees anyway."""


def question_of(messages: Sequence[AnyMessage], user_id: str, in_sight: frozenset[tuple[str, str]]) -> Question | None:
    """The last thing that the user has said, if it is text."""
    changes = 0
    for message in reversed(messages):
        changes += isinstance(message, ToolMessage) and message.name in MEMORY_CHANGERS
        if _is_said_by_user(message):
            text = text_of(message.content)
            return Question(user_id, message.id, text, changes, in_sight) if text.strip() else None
    return None


class Recollections:
    """What was recalled for questions a moment ago, so that each step of an agent's loop need not recall it again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str | None, str, int], tuple[float, str]] = OrderedDict()
        self._lock = Lock()

    def get(self, question: Question) -> str | None:
        """The text that was recalled for the question; None where there was no recalling in the last minute."""
        with self._lock:
            moment, text = self._kept.get(_key(question), (0.0, ""))
        return text if moment and time.monotonic() - moment < FRESH_SECONDS else None

    def put(self, question: Question, text: str) -> str:
        """Keeps a text, and gives it back."""
        with self._lock:
            self._kept[_key(question)] = (time.monotonic(), text)
            self._kept.move_to_end(_key(question))
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return text


def _key(question: Question) -> tuple[str, str | None, str, int]:
    return question.user_id, question.message_id, question.text, question.changes


def _is_said_by_user(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and not is_injected(message)
