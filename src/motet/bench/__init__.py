"""Benchmarks: every system on the same tasks, with the same models, tools and budgets."""
