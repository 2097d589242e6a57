"""The Benchmark protocol: tasks, the world of each, and how a result is judged.

A benchmark is a frozen value (its options are its fields), and what it knows of right answers stays inside it: a Task carries none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from motet.system import Needs
from motet.task import Result, Score, Task
from motet.tools.tool import Tool

if TYPE_CHECKING:
    from motet.runs.run import Run
    from motet.worlds.world import World

# In the details of a score that a judge could not give: such a cell is judged again on resume.
JUDGE_FAILED = "judge_failed"

# Before the label of a candidate that a system offered beside its result: the scorer of what would have been scored, had that been its result.
CANDIDATE = "candidate:"


class Setting(NamedTuple):
    """What a system is given for one task: the world, made anew, and further tools by name or as objects."""

    world: World | None = None
    tools: tuple[str | Tool, ...] = ()


@runtime_checkable
class Benchmark(Protocol):
    """A set of tasks with a way to judge results.

    ``version`` changes whenever the same results may be judged otherwise. ``paper`` holds published figures beside which ours are printed:
    system → scorer → value in 0..1. ``headline`` names the scorer whose mean is the benchmark's score.
    """

    @property
    def name(self) -> str:
        """The name on the command line."""
        ...

    @property
    def version(self) -> str:
        """Of the data and the scorer together."""
        ...

    @property
    def headline(self) -> str:
        """The scorer that counts."""
        ...

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """Published figures."""
        ...

    def needs(self) -> Needs:
        """The models that judge, to be checked before a bench begins."""
        ...

    def tasks(self) -> Sequence[Task]:
        """All tasks, in their order. Raises InputError that says exactly what is missing and how to get it."""
        ...

    def setting(self, task: Task) -> Setting:
        """What a system is given for ``task``."""
        ...

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Judge ``result``; the state that it left is ``run.world``. A judge model is asked through ``run``.

        Garbage scores 0; nothing that a system answers makes this raise.
        """
        ...


@runtime_checkable
class HasNotes(Protocol):
    """A benchmark of which a reader must know something before comparing its figures."""

    @property
    def notes(self) -> Sequence[str]:
        """What to know, a line each."""
        ...
