"""What every reader gives: a user's conversation as sessions of messages."""

from dataclasses import dataclass

from memorai_core.models import Message


@dataclass(frozen=True, slots=True)
class Session:
    """One sitting of a conversation; every message has an id, unique within it."""

    session_id: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that one user's file or record holds, in its order; never without a message."""

    user_id: str
    sessions: tuple[Session, ...]
