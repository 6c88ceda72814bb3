"""The benchmark: questions, metrics, baselines and the paper's tables; imported by the command line only."""
