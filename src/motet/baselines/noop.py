"""Doing nothing: the floor that every score is to be read against."""

from __future__ import annotations

from motet.runs.run import Run
from motet.system import Configured
from motet.task import Result, Task


class Noop(Configured):
    """Asks no model, calls no tool, and answers with nothing."""

    @property
    def name(self) -> str:
        """``noop``."""
        return "noop"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Return at once."""
        return Result(status="completed", answer="")
