"""Where a turn's score comes from, read off the trace of its ranking."""

import numpy as np

from memorai_core.errors import UnknownTurnError
from memorai_core.models import Contribution, Explanation
from memorai_core.retrieval.pagerank import transitions
from memorai_core.retrieval.trace import Trace


def explain(trace: Trace, turn_id: str, *, query: str = "") -> Explanation:
    """The seed share and the in-flows of a turn's score, largest first; their amounts sum to the score (Eq. 2).

    Raises UnknownTurnError where the turn is not in the trace's subgraph.
    """
    node = _node(trace, turn_id)
    incoming = np.flatnonzero(trace.target == node)
    share = transitions(trace.source, trace.weight, len(trace.seed))[incoming]
    amounts = trace.damping * share * trace.score[trace.source[incoming]]
    flows = np.bincount(trace.source[incoming], weights=amounts, minlength=len(trace.seed))
    contributions = [_contribution(trace, int(source), float(flows[source])) for source in np.flatnonzero(flows > 0)]
    seed = Contribution(turn_id, "seed", query, (1 - trace.damping) * float(trace.seed[node]))
    ordered = sorted([seed, *contributions], key=lambda contribution: (-contribution.amount, contribution.node_id))
    return Explanation(turn_id, float(trace.score[node]), tuple(ordered))


def _node(trace: Trace, turn_id: str) -> int:
    try:
        wanted = bytes.fromhex(turn_id)
    except (TypeError, ValueError):
        wanted = b""
    one = len(wanted) == trace.node_id.itemsize
    found = np.flatnonzero(trace.node_id[: trace.turns] == np.frombuffer(wanted, trace.node_id.dtype)) if one else trace.node_id[:0]
    if len(found) == 0:
        raise UnknownTurnError(f"turn {turn_id!r} is not in this evidence's subgraph; explain a turn of evidence.turns that is not filled")
    return int(found[0])


def _contribution(trace: Trace, node: int, amount: float) -> Contribution:
    node_id = trace.node_id[node].tobytes().hex()
    kind = "turn" if node < trace.turns else "entity" if node < trace.turns + trace.entities else "segment"
    return Contribution(node_id, kind, node_id, amount)  # type: ignore[arg-type]
