"""Every tunable of memorai, its default, and its place in the paper."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class Settings(BaseModel):
    """What can be tuned; the defaults were tuned on development data only, and `paper()` is the paper's own reading."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    # Writing, §3.1-3.2
    segmentation: Literal["topical", "session", "turn"] = "topical"
    """Where segments are cut: at topics, or, for comparison, a segment a session or a segment a turn."""
    gate: bool = True
    """False keeps every turn."""
    sentence_layer: bool = True
    """Whether each sentence of a kept turn becomes the description of extractive triplets."""
    prompting: Literal["paper", "fused"] = "fused"
    """With a chat model: one call a step as in appendix C, or gate, summary, triplets and entities in one call."""

    max_concurrency: Annotated[int, Field(ge=1)] = 16
    """How many sessions `aindex` analyses side by side."""

    # Reading, §3.3.1
    aspect_k: Annotated[int, Field(ge=1)] = 20
    """How many seeds each aspect gives: the paper's top-k."""
    fanout: Annotated[int, Field(ge=1)] | None = 50
    """How many neighbours a seed brings at most; None for all, as in the paper."""
    turn_aspect: bool = True
    """Whether turns seed G_q by their own text (ours)."""
    subgraph: bool = True
    """False ranks over the whole graph, for comparison."""

    # Reading, §3.3.2
    weights: Literal["dynamic", "uniform"] = "dynamic"
    """Eq. 1, or 1 on every edge, for comparison."""
    sharpness: Annotated[float, Field(gt=0, le=64)] = 7.0
    """In seeds, sim(q, x) = max(0, cos(q, x)) ** sharpness; 1 in the paper."""
    weight_sharpness: Annotated[float, Field(gt=0, le=64)] = 2.0
    """The same in edge weights; 1 in the paper."""
    damping: Annotated[float, Field(ge=0, lt=1)] = 0.7
    """d of Eq. 2."""
    lexical: Annotated[float, Field(ge=0)] = 1.2
    """Weight of a turn's BM25 score in its seed (ours); 0 leaves words out."""
    adjacency: Annotated[float, Field(ge=0)] = 1.2
    """What a turn sends to the next turn of its session, as a multiple of all it sends elsewhere, and a quarter of it to the one
    before (ours)."""
    dropped_weight: Share = 0.1
    """Factor on the seed of a turn that the memory gate dropped, and on what its neighbours send it (ours)."""
    tolerance: Annotated[float, Field(gt=0)] = 1e-6
    """PageRank stops when the scores' change falls below this share of the seeds' sum."""

    @classmethod
    def paper(cls, **changes: object) -> Self:
        """The paper's own choices where it makes them: bare cosine, no words, no adjacency, all neighbours."""
        chosen: dict[str, object] = {
            "sentence_layer": False, "prompting": "paper", "fanout": None, "turn_aspect": False, "sharpness": 1.0,
            "weight_sharpness": 1.0, "lexical": 0.0, "adjacency": 0.0, "dropped_weight": 0.0, "tolerance": 1e-12, **changes,
        }  # fmt: skip
        return cls.model_validate(chosen)
