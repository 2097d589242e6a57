"""The System protocol: a way of solving a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from motet.task import Result, Task

if TYPE_CHECKING:
    from motet.run import Run


@runtime_checkable
class System(Protocol):
    """A way of solving a task. Motet's own systems are frozen Pydantic models: their fields are their configuration, under
    the same names in Python, in YAML and on the command line.

    ``solve`` asks models through ``run.model`` and tools through ``run.tool`` and nothing else, so that every answer from
    outside is journaled and a resumed run replays it. It lets run and model errors pass: whoever started the run turns
    them into a Result.
    """

    @property
    def name(self) -> str:
        """The name in tables and reports."""
        ...

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Solve ``task`` within ``run``."""
        ...
