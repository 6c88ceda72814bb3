"""memorai: long-term memory for LLM chat applications that a user can audit."""

from memorai_core.errors import (
    ConfigurationError,
    EmbedderMismatchError,
    FormatError,
    MemoraiError,
    SchemaVersionError,
    StoreError,
    UnknownIdError,
    UnknownSessionError,
    UnknownTurnError,
    UnknownUserError,
)
from memorai_core.memory import Memory
from memorai_core.models import Answer, Entity, Evidence, EvidenceSegment, EvidenceTurn, Explanation, Message, Segment, Triplet, Turn
from memorai_core.rendering import render_prompt
from memorai_core.reports import Audit, ForgetReport, IndexReport, UserStats
from memorai_core.settings import Settings

__all__ = [
    "Answer",
    "Audit",
    "ConfigurationError",
    "EmbedderMismatchError",
    "Entity",
    "Evidence",
    "EvidenceSegment",
    "EvidenceTurn",
    "Explanation",
    "ForgetReport",
    "FormatError",
    "IndexReport",
    "MemoraiError",
    "Memory",
    "Message",
    "SchemaVersionError",
    "Segment",
    "Settings",
    "StoreError",
    "Triplet",
    "Turn",
    "UnknownIdError",
    "UnknownSessionError",
    "UnknownTurnError",
    "UnknownUserError",
    "UserStats",
    "render_prompt",
]
