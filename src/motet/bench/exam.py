"""What benchmarks of short exact answers have in common: BrowseComp and Humanity's Last Exam differ only in their files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, Self

from pydantic import model_validator

from motet.bench.benchmark import Setting
from motet.bench.scoring.exam import exam_task, score_exam
from motet.errors import InputError
from motet.settings import nearest
from motet.system import Needs
from motet.task import Result, Score, Task
from motet.value import Value

if TYPE_CHECKING:
    from motet.runs.run import Run


class ExamQuestion(Protocol):
    """One question with its right answer; with ``option`` that is a letter."""

    @property
    def question(self) -> str: ...

    @property
    def answer(self) -> str: ...

    @property
    def option(self) -> bool: ...


class Exam(Value):
    """The base of such a benchmark. ``path`` is its file or the folder of it; ``judge`` and ``second_judge`` are models by name, and with two of them both must accept an answer."""

    # What is said before the id of a task that is none of the benchmark's.
    lacks: ClassVar[str]

    path: Path | None = None
    judge: str | None = None
    second_judge: str | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.second_judge is not None and self.judge is None:
            raise ValueError("second_judge is asked beside a first one; add judge=MODEL")
        return self

    @abstractmethod
    def questions(self) -> Mapping[str, ExamQuestion]:
        """The questions by id, in the file's order. Raises InputError that says what is missing and how to get it."""

    @property
    def headline(self) -> str:
        """``judge``, or ``em`` without one."""
        return "judge" if self.judge else "em"

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges that there are."""
        return tuple(judge for judge in (self.judge, self.second_judge) if judge is not None)

    def needs(self) -> Needs:
        """The judges."""
        return Needs(models=self.judges)

    def tasks(self) -> Sequence[Task]:
        """All questions, in the file's order. Raises InputError that says what is missing and how to get it."""
        return [Task(id=name, question=exam_task(item.question)) for name, item in self.questions().items()]

    def setting(self, task: Task) -> Setting:
        """Nothing: whatever tools the bench is given."""
        return Setting()

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Judge ``result``. Raises InputError for a task that is none of this benchmark's, or an unknown judge."""
        items = self.questions()
        if task.id not in items:
            raise InputError(f"{self.lacks} {task.id!r}{nearest(task.id, items)}")
        item = items[task.id]
        return await score_exam(
            self.judges, question=item.question, right=item.answer, result=result, run=run, option=item.option
        )
