"""Names that options take; importing this loads nothing else."""

from typing import Literal, get_args

DatasetName = Literal["locomo", "longmemeval"]
DATASETS: tuple[DatasetName, ...] = get_args(DatasetName)

AnalyzerName = Literal["extractive", "annotations", "prompted"]
ANALYZERS: tuple[AnalyzerName, ...] = get_args(AnalyzerName)

SYSTEMS = (
    "memorai", "paper", "full-history", "bm25", "dense", "bm25+dense", "segments", "summaries", "ppr", "raptor", "memtree",
)  # fmt: skip
"""Those that `--systems` may name; a flat one also as in bm25@session, which ranks all units by sessions' scores."""
