"""WorkBench (Styles et al., arXiv 2405.00823) as a benchmark: office tasks judged by the state they leave.

- A task's question begins with the benchmark's day and office hours; it has no other context. The agent has all 27 tools.
- A run is judged by the calls of writing tools that were carried out in its world, run again from the pristine tables, as the benchmark judges its recorded
  runs. What the agent answers is never looked at. A run that failed is wrong, whatever it did; one that stopped on its budget is judged by what it did.
- Scorers: ``correct`` (the benchmark's accuracy), ``no_side_effects`` (1 less the benchmark's unwanted side effects), and ``exact_match`` (a diagnostic).
- ``dialect="2026"`` is the corrected scorer of WorkBench Revisited (arXiv 2606.13715), which the Inherit-MAS paper uses; its questions here are those of task version v1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pydantic import JsonValue, model_validator

from motet.bench.benchmark import Setting
from motet.bench.workbench_questions import Question, read_questions
from motet.errors import InputError
from motet.prompts import load_prompts
from motet.settings import nearest
from motet.system import Needs
from motet.task import Result, Score, Task
from motet.value import Value
from motet.worlds.workbench.catalogue import tools_version
from motet.worlds.workbench.data import workbench_dir
from motet.worlds.workbench.tables import Dialect
from motet.worlds.workbench.world import WorkBenchWorld, verdict_scores

if TYPE_CHECKING:
    from motet.runs.run import Run

# The Inherit-MAS paper's table, with GPT-4o-mini workers, on its 130 tasks.
_PAPER130 = {
    "react": {"correct": 0.415},
    "evoagent": {"correct": 0.338},
    "evomas": {"correct": 0.308},
    "tacomas": {"correct": 0.346},
    "inherit": {"correct": 0.554},
}
# The benchmark's own recorded runs, as its evaluator counts them.
_RECORDED = {
    "gpt-4 (domain tools)": {"correct": 340 / 690, "no_side_effects": 552 / 690, "exact_match": 318 / 690},
    "claude-2 (all tools)": {"correct": 169 / 690, "no_side_effects": 455 / 690, "exact_match": 175 / 690},
}
_REVISITED = {
    "Claude Opus 4.8": {"correct": 0.89, "no_side_effects": 0.975},
    "Claude Fable 5": {"correct": 0.92, "no_side_effects": 0.981},
}
_REVISITED_PLOTS = {"Claude Fable 5": {"correct": 0.98}}


class WorkBench(Value):
    """The benchmark. ``subset="paper130"`` takes the Inherit-MAS paper's tasks, by default in the 2026 dialect that it uses; ``plot_end_date`` is a later
    rule of the 2026 scorer, under which a plot up to today is one up to yesterday.
    """

    dialect: Dialect = "2024"
    subset: Literal["paper130"] | None = None
    plot_end_date: bool = False

    @model_validator(mode="before")
    @classmethod
    def _subset_dialect(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("subset") == "paper130":
            return {"dialect": "2026", **given}
        return given

    @model_validator(mode="after")
    def _plot_rule_is_of_2026(self) -> WorkBench:
        if self.plot_end_date and self.dialect != "2026":
            raise ValueError("plot_end_date is a rule of the 2026 scorer; add dialect=2026")
        return self

    @property
    def name(self) -> str:
        """``workbench``."""
        return "workbench"

    @property
    def version(self) -> str:
        """The dialect, the plot rule, and a hash of the tools' and the scorer's sources; the data files are fixed by their own hashes."""
        return f"v1-{self.dialect}{'-plot-end-date' if self.plot_end_date else ''}-{tools_version()}"

    @property
    def headline(self) -> str:
        """``correct``."""
        return "correct"

    @property
    def paper(self) -> Mapping[str, Mapping[str, float]]:
        """What was published for these tasks and this dialect."""
        if self.subset == "paper130":
            return _PAPER130 if self.dialect == "2026" and not self.plot_end_date else {}
        if self.dialect == "2024":
            return _RECORDED
        return _REVISITED_PLOTS if self.plot_end_date else _REVISITED

    def needs(self) -> Needs:
        """No judge: what was done is judged by what became of the office."""
        return Needs()

    def tasks(self) -> Sequence[Task]:
        """The tasks, domain by domain. Raises InputError that says what is missing and how to get it."""
        return [
            Task(id=question.id, question=self._asked(question), cluster=question.cluster)
            for question in self._questions.values()
        ]

    def setting(self, task: Task) -> Setting:
        """A pristine office."""
        return Setting(world=WorkBenchWorld(dialect=self.dialect))

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Judge the state of ``run.world``. Raises InputError for a task that is none of this benchmark's."""
        question = self.question(task.id)
        if run.world is None:
            return verdict_scores(None, reason="the run has no world")
        expected: JsonValue = {
            "actions": list(question.actions),
            "error": result.status in ("failed", "cancelled"),
            "plot_end_date": self.plot_end_date,
        }
        return run.world.score(expected) or verdict_scores(
            None, reason=f"the world {run.world.name!r} is not WorkBench's"
        )

    def question(self, task_id: str) -> Question:
        """The question of a task. Raises InputError that names the nearest id."""
        found = self._questions.get(task_id)
        if found is None:
            raise InputError(f"WorkBench has no task {task_id!r}{nearest(task_id, self._questions)}")
        return found

    @cached_property
    def _questions(self) -> dict[str, Question]:
        questions = read_questions(workbench_dir().resolve())
        return {question.id: question for question in questions if self.subset is None or question.in_paper130}

    def _asked(self, question: Question) -> str:
        doing = "answering queries" if self.dialect == "2024" else "completing tasks"
        return load_prompts("motet.bench", "workbench")("question", doing=doing, query=question.query)
