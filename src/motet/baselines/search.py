"""What the baselines that evolve graphs share with each other: rounds in scopes of their own, the meta-model asked in a baseline's words, the best so far.

Everything else (execution, audit, judge, staged writes, history) is what ``inherit`` uses, so that only the search differs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from motet.errors import BadReply, BudgetExceeded, ModelError
from motet.inherit import guided
from motet.inherit.asking import ask
from motet.inherit.candidate import Attempted, Candidate, Spent
from motet.inherit.choices import Choice
from motet.inherit.edits import Edit
from motet.inherit.edits import check as check_edit
from motet.inherit.evolution import conclude, keep_best, tell
from motet.inherit.history import round_name
from motet.inherit.meta import ROLE, edit_of
from motet.inherit.team import Desk
from motet.inherit.trial import Proposal
from motet.inherit.validity import in_words, validate
from motet.inherit.workflow import Workflow
from motet.models.structured import Written
from motet.prompts import Prompts, load_prompts
from motet.runs.run import Run
from motet.task import Result

A = TypeVar("A", bound=Written)


class Search(ABC):
    """A search in progress, in the scope ``run`` of a task. Subclasses say how teams come about in ``evolve``, and which one is best in ``choose``."""

    def __init__(self, desk: Desk, *, prompts: str, run: Run) -> None:
        self.desk = desk
        self.run = run
        self.prompts: Prompts = load_prompts("motet.baselines", prompts)
        self.candidates: list[Candidate] = []
        self.spent: list[Spent] = []
        self._notes: defaultdict[int, list[str]] = defaultdict(list)
        brief = desk.brief
        self._system = self.prompts("system", roles=brief.roles.outline(), tools=brief.view.tools(brief.tools))
        self._task = self.prompts("task", question=brief.task.question, context=brief.context)

    @abstractmethod
    async def evolve(self) -> None:
        """All rounds."""

    @abstractmethod
    def choose(self, candidates: list[Candidate]) -> Candidate:
        """The best of ``candidates``, of which there must be one."""

    async def work(self) -> Result:
        """All rounds, then the best candidate's result, its writes done. A budget that is used up ends the rounds, and the best so far is the result."""
        stopped: BudgetExceeded | None = None
        try:
            await self.evolve()
        except BudgetExceeded as error:
            if not self.candidates:
                raise
            stopped = error
        noted = [item.model_copy(update={"note": "; ".join(self._notes[item.index])}) for item in self.candidates]
        return await conclude(
            noted, self.spent, trials=self.desk.trials, run=self.run, stopped=stopped, choice=self.choose
        )

    def open_round(self, index: int) -> Run:
        """The scope of a round."""
        return self.run.child(round_name(index))

    async def attempt(self, proposal: Proposal, *, index: int, scope: Run) -> Candidate:
        """Try a team in the round ``index``."""
        tell(proposal, index=index, scope=scope)
        candidate = await self.desk.trials.attempt(proposal, index=index, scope=scope)
        self.candidates.append(candidate)
        keep_best(self.candidates, run=self.run, choice=self.choose)
        return candidate

    def spend(self, index: int, trying: Attempted, error: ModelError, *, scope: Run) -> None:
        """The round ``index`` gives no candidate."""
        self.spent.append(Spent(index=index, trying=trying, why=str(error)))
        scope.emit("inherit.spent", round=index, trying=trying, why=str(error))

    def do_without(self, index: int, trying: Attempted, error: ModelError, *, scope: Run) -> None:
        """The round ``index`` goes on without what was tried."""
        self._notes[index].append(f"without {trying}: {error}")
        scope.emit("inherit.without", round=index, trying=trying, why=str(error))

    async def ask(
        self, name: str, type_: type[A], /, *, run: Run, check: Callable[[Any], str] | None = None, **values: object
    ) -> A:
        """The meta-model's reply to the prompt ``name``. Raises ModelError."""
        return await ask(
            self.desk.meta.voice,
            run=run,
            role=ROLE,
            system=self._system,
            user=(self._task, self.prompts(name, **values)),
            type_=type_,
            check=check,
        )

    async def choose_edit(
        self, name: str, choices: Sequence[Choice], workflow: Workflow, /, *, run: Run, **values: object
    ) -> Edit:
        """One of ``choices`` for ``workflow``, as a small model chooses it. Raises ModelError, also where there are none."""
        if not choices:
            raise BadReply("there is no change left to choose")
        brief = self.desk.brief
        by_number = {choice.number: choice for choice in choices}

        def wrong(answer: Any) -> str:
            found = edit_of(answer, by_number)
            return (
                found if isinstance(found, str) else in_words(check_edit(workflow, found, brief.roles, brief.effects))
            )

        type_ = guided.edit_type(choices, workflow, brief.roles, brief.effects)
        said = await self.ask(name, type_, check=wrong, run=run, menu=brief.view.menu(choices), **values)
        found = edit_of(said, by_number)
        assert not isinstance(found, str)
        return found

    def wrong(self, workflow: Workflow) -> str:
        """What is wrong with ``workflow``, in words; empty where nothing is."""
        return in_words(validate(workflow, self.desk.brief.roles, self.desk.brief.effects))


def quality(candidate: Candidate) -> int:
    """The judge's mark for the whole; less than any mark where it gave none."""
    return -1 if candidate.quality is None else candidate.quality


def rewritten(workflow: Workflow, changes: Mapping[str, Mapping[str, object]]) -> Workflow:
    """``workflow`` with ``changes`` in the nodes of those ids; texts that are blank stay as they are."""
    nodes = []
    for node in workflow.nodes:
        update = {
            name: value
            for name, value in changes.get(node.id, {}).items()
            if not (isinstance(value, str) and not value.strip())
        }
        nodes.append(type(node).model_validate({**node.model_dump(), **update}))
    return workflow.model_copy(update={"nodes": tuple(nodes)})
