"""Answer extraction and scorers, shared by the benchmarks."""
