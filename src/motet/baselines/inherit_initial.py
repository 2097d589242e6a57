"""``inherit-initial``: the first team of ``inherit`` and nothing after it, so that what the evolution adds can be told from what a designed team gives."""

from __future__ import annotations

from motet.inherit.evolution import Course, Evolution
from motet.inherit.system import Inherit
from motet.inherit.validity import require
from motet.runs.run import Run
from motet.system import Needs
from motet.task import Result, Task


class InheritInitial(Inherit):
    """The first candidate of an ``inherit`` with the same configuration; what that says of later rounds has no effect.

    With one candidate there is nothing to choose, so no judge is asked and none is paid.
    """

    @property
    def name(self) -> str:
        """``inherit-initial``."""
        return "inherit-initial"

    def needs(self) -> Needs:
        """The models of meta-model and workers, and the tools."""
        models = (self.worker_model, self.meta_model)
        return Needs(tuple(dict.fromkeys(model or self.model for model in models)), self.tools)

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Design a team for ``task``, or take ``start``, and let it work once. Raises ModelError where none could be designed, and InputError for a
        ``start`` that is not valid here.
        """
        desk = self.open(task, run=run, refresh=self.refresh, judged=False)
        if self.start is not None:
            require(self.start, desk.brief.roles, desk.brief.effects)
        return await Evolution(
            Course(candidates=1), meta=desk.meta, trials=desk.trials, run=run, start=self.start
        ).work()
