"""A small benchmark of sums, for the tests of the runner: ``tests.bench.toys:Sums``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from motet.bench.benchmark import Setting
from motet.models.model import Request
from motet.runs.run import Run
from motet.system import Configured, Needs
from motet.task import Result, Score, Task


class Sums(Configured):
    """``size`` sums; every two of them are one cluster. A right answer names the sum."""

    size: int = 6
    edition: str = "1"

    @property
    def name(self) -> str:
        """Of the benchmark."""
        return "sums"

    @property
    def version(self) -> str:
        """Of data and scorer."""
        return f"sums-{self.edition}"

    @property
    def headline(self) -> str:
        """The scorer that counts."""
        return "correct"

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """Nobody published any."""
        return {"react": {"correct": 0.5}}

    def needs(self) -> Needs:
        """No judge."""
        return Needs()

    def tasks(self) -> Sequence[Task]:
        """1 + 2, 2 + 3, …"""
        return [
            Task(id=f"sum#{n}", question=f"What is {n} + {n + 1}?", cluster=f"pair {n // 2}") for n in range(self.size)
        ]

    def setting(self, task: Task) -> Setting:
        """Nothing but the question."""
        return Setting()

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Right if the number is the sum."""
        right = result.status == "completed" and result.answer == str(add(task.question))
        return (Score(scorer="correct", value=float(right), correct=right),)


class Buggy(Configured):
    """A system with a bug that shows on one task."""

    @property
    def name(self) -> str:
        """In tables."""
        return "buggy"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Fail on the third task, and answer nothing on the others."""
        if task.id == "sum#2":
            raise ZeroDivisionError("of all things")
        return Result(status="completed", answer="")


def add(text: str) -> int:
    """The sum of the two numbers in ``text``."""
    first, second = re.findall(r"\d+", text)[:2]
    return int(first) + int(second)


def reckoner(request: Request) -> str:
    """Add up, and err on every fifth sum."""
    total = add(request.messages[-1].content)
    return str(total + (total % 5 == 0))
