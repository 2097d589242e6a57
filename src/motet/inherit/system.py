"""``inherit``: a team that is designed for the task, judged, and improved by one edit a round, where nothing is computed twice that provably need not be.

Source: Inherit-MAS.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from motet.errors import InputError
from motet.inherit.evolution import Course, Evolution
from motet.inherit.team import Team
from motet.inherit.validity import require
from motet.inherit.workflow import Workflow, load_workflow
from motet.runs.run import Run
from motet.task import Result, Task


def _from_file(value: object) -> object:
    """The workflow in the file ``value``, where that is a path; a run keeps the document and needs the file no more."""
    if not isinstance(value, str):
        return value
    try:
        return load_workflow(Path(value))
    except InputError as error:
        raise PydanticCustomError("workflow", "{why}", {"why": str(error)}) from None


# A workflow as a value, as a mapping, or as the path of a file.
WorkflowRef: TypeAlias = Annotated[Workflow, BeforeValidator(_from_file)]


class Inherit(Team, Course):
    """The system. ``refresh`` names nodes that are to be done live when they are first tried. ``start`` is the first team; without one the meta-model designs it."""

    refresh: tuple[str, ...] = ()
    start: WorkflowRef | None = None

    @property
    def name(self) -> str:
        """``inherit``."""
        return "inherit"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Evolve a team for ``task``, and give the best candidate's result. Raises ModelError where no team could be designed, and InputError for a ``start`` that is not valid here."""
        desk = self.open(task, run=run, refresh=self.refresh)
        if self.start is not None:
            require(self.start, desk.brief.roles, desk.brief.effects)
        return await Evolution(self, meta=desk.meta, trials=desk.trials, run=run, start=self.start).work()
