"""Names that options take; importing this loads nothing else."""

from typing import Literal, get_args

DatasetName = Literal["locomo", "longmemeval"]
DATASETS: tuple[DatasetName, ...] = get_args(DatasetName)

AnalyzerName = Literal["extractive", "annotations", "prompted"]
ANALYZERS: tuple[AnalyzerName, ...] = get_args(AnalyzerName)
