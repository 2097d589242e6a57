"""WorkBench (Styles et al., arXiv 2405.00823): an office of 27 tools over e-mail, calendar, analytics, projects, customers and a directory."""

from motet.worlds.workbench.world import WorkBenchTool, WorkBenchWorld

__all__ = ["WorkBenchTool", "WorkBenchWorld"]
