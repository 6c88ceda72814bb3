"""Evidence for tests, made by hand."""

import numpy as np
from conversations import FRIENDS, START

from memorai_core.models import Evidence, EvidenceTurn
from memorai_core.retrieval.trace import Trace

_NONE = np.zeros(0)
_TRACE = Trace(_NONE, 0, 0, _NONE, _NONE, _NONE, _NONE, _NONE, 0.5, 0)


def evidence(*texts: tuple[str, str], query: str = "Where did Alice go?") -> Evidence:
    """Turns of the speakers and words given, best first; those of two friends by default."""
    turns = tuple(
        EvidenceTurn(f"turn-{n}", None, "s1", None, n, "user", speaker, text, START, False, True, 1.0, False)
        for n, (speaker, text) in enumerate(texts or FRIENDS)
    )
    return Evidence(query, "alice", turns, (), (), _TRACE)


def no_evidence() -> Evidence:
    return Evidence("Where?", "alice", (), (), (), _TRACE)
