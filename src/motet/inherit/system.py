"""``inherit``: a team that is designed for the task, judged, and improved by one edit a round, where nothing is computed twice that provably need not be.

Source: Inherit-MAS.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from motet.inherit.evolution import Course, Evolution
from motet.inherit.team import Team
from motet.runs.run import Run
from motet.task import Result, Task


class Inherit(Team):
    """The system. ``candidates`` to ``margin`` say how the evolution goes on: see ``Course``. ``refresh`` names nodes that are to be done live when they are first tried."""

    candidates: int = Field(default=5, ge=1)
    edits: int = Field(default=1, ge=1)
    select: bool = True
    refine: Literal["edit", "redesign"] = "edit"
    restart: Literal["last", "patience", "never"] = "last"
    patience: int = Field(default=2, ge=1)
    margin: float = Field(default=1.0, ge=0)
    refresh: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """``inherit``."""
        return "inherit"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Evolve a team for ``task``, and give the best candidate's result. Raises ModelError where no team could be designed."""
        desk = self.open(task, run=run, refresh=self.refresh)
        course = Course.model_validate({name: getattr(self, name) for name in Course.model_fields})
        return await Evolution(course, meta=desk.meta, trials=desk.trials, run=run).work()
