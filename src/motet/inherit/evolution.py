"""The evolution: design, try, judge, then round by round drop what is blamed, make one edit, and try again. Source: Inherit-MAS, "The method".

A round in which the meta-model gives nothing usable is spent; what was tried before stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pydantic import Field

from motet.errors import BudgetExceeded, ModelDenied, ModelError, ModelThrottled, ModelUnavailable
from motet.inherit.candidate import Candidate, Spent
from motet.inherit.differences import diff
from motet.inherit.edits import Edit, apply, drop
from motet.inherit.history import History, history, round_name
from motet.inherit.meta import MetaModel
from motet.inherit.selection import choose, rounds_without_gain, stagnates
from motet.inherit.trial import Proposal, Trials, result_of
from motet.inherit.workflow import Workflow
from motet.runs.run import Run
from motet.task import Failure, Result
from motet.value import Value

# Failures of a model that was asked several times already, as long as makes sense.
_OUT_OF_REACH = (ModelUnavailable, ModelThrottled)


class Course(Value):
    """How an evolution goes on.

    ``candidates``: rounds, the first design among them. ``edits``: edits a round. ``select``: whether nodes may be dropped before the edit. ``refine``: edit the newest candidate, or
    ``redesign`` in every round. ``restart``: design anew in the ``last`` round, or after ``patience`` rounds without better quality, or ``never``; in the last round only where
    the best quality is within ``margin`` points of the first candidate's.
    """

    candidates: int = Field(default=5, ge=1)
    edits: int = Field(default=1, ge=1)
    select: bool = True
    refine: Literal["edit", "redesign"] = "edit"
    restart: Literal["last", "patience", "never"] = "last"
    patience: int = Field(default=2, ge=1)
    margin: float = Field(default=1.0, ge=0)


class Evolution:
    """One evolution in progress, in the scope ``run`` of a task. ``start`` is the first team, where it need not be designed."""

    def __init__(
        self, course: Course, *, meta: MetaModel, trials: Trials, run: Run, start: Workflow | None = None
    ) -> None:
        self.course = course
        self.meta = meta
        self.trials = trials
        self.run = run
        self.start = start
        self.candidates: list[Candidate] = []
        self.spent: list[Spent] = []
        self._tried: list[tuple[str, Edit]] = []
        self._trying: Literal["design", "select", "edit", "restart"] = "design"
        self._restarted = 0

    async def work(self) -> Result:
        """All rounds, then the best candidate's result, its writes done. A budget that is used up ends the rounds, and the best so far is the result.

        So does a model that is denied, the meta-model's or a node's. Raises ModelError where no round gave a candidate.
        """
        stopped: BudgetExceeded | None = None
        lost: ModelError | None = None
        try:
            for index in range(self.course.candidates):
                lost = await self._round(index) or lost
                if self._is_hopeless(lost):
                    break
        except BudgetExceeded as error:
            if not self.candidates:
                raise
            stopped = error
        if not self.candidates:
            assert lost is not None
            told = "; ".join(f"round {item.index}: {item.trying}: {item.why}" for item in self.spent)
            raise type(lost)(f"no team could be tried: {told}") from lost
        return await conclude(self.candidates, self.spent, trials=self.trials, run=self.run, stopped=stopped)

    def _is_hopeless(self, lost: ModelError | None) -> bool:
        """Whether the next round would only meet the same failure: a model is denied, or the meta-model was out of reach before any team was tried."""
        if isinstance(lost, ModelDenied) or (not self.candidates and isinstance(lost, _OUT_OF_REACH)):
            return True
        failures = [outcome.failure for outcome in self.candidates[-1].execution.errors] if self.candidates else []
        return any(failure is not None and failure.kind == ModelDenied.__name__ for failure in failures)

    async def _round(self, index: int) -> ModelError | None:
        """One round; the failure on which it was spent, if it was."""
        scope = self.run.child(round_name(index))
        try:
            proposal = await self._propose(index, scope)
        except ModelError as error:
            self.spent.append(Spent(index=index, trying=self._trying, why=str(error)))
            scope.emit("inherit.spent", round=index, trying=self._trying, why=str(error))
            return error
        tell(proposal, index=index, scope=scope)
        candidate = await self.trials.attempt(proposal, index=index, scope=scope)
        self.candidates.append(candidate)
        keep_best(self.candidates, run=self.run)
        return None

    async def _propose(self, index: int, scope: Run) -> Proposal:
        """The next team to be tried. Raises ModelError."""
        known = {candidate.workflow.hash for candidate in self.candidates}
        if not self.candidates:
            self._trying = "design"
            if self.start is not None:
                return Proposal("initial", self.start)
            return Proposal("initial", await self.meta.design(run=scope.child("design")))
        if self._is_restart(index):
            self._trying, self._restarted = "restart", index
            best = choose(self.candidates)
            return Proposal("restart", await self.meta.redesign(best, run=scope.child("restart"), avoid=known), best)
        parent = self.candidates[-1]
        dropped: tuple[str, ...] = ()
        if self.course.select:
            self._trying = "select"
            dropped = await self.meta.select(parent, run=scope.child("select"))
        self._trying = "edit"
        workflow = drop(parent.workflow, dropped)
        edits: list[Edit] = []
        for number in range(self.course.edits):
            name = "edit" if number == 0 else f"edit-{number + 1}"
            edit = await self.meta.edit(workflow, parent, tried=self._tried, run=scope.child(name))
            self._tried.append((workflow.hash, edit))
            edits.append(edit)
            workflow = apply(workflow, edit)
        return Proposal("edit", workflow, parent, dropped, tuple(edits))

    def _is_restart(self, index: int) -> bool:
        course = self.course
        if course.refine == "redesign":
            return True
        if course.restart == "last":
            return index == course.candidates - 1 and stagnates(self.candidates, margin=course.margin)
        since = [candidate for candidate in self.candidates if candidate.index >= self._restarted]
        return course.restart == "patience" and bool(since) and rounds_without_gain(since) >= course.patience


async def conclude(
    candidates: list[Candidate],
    spent: list[Spent],
    *,
    trials: Trials,
    run: Run,
    stopped: BudgetExceeded | None = None,
    choice: Callable[[list[Candidate]], Candidate] = choose,
) -> Result:
    """The result of the best of ``candidates``, of which there must be one, with its writes done and the history in its details.

    Raises Cancelled where its writes are not approved.
    """
    chosen = choice(candidates)
    if trials.unrefreshed:
        run.emit("inherit.unrefreshed", nodes=[*trials.unrefreshed])
    told = history(candidates, spent, ledger=run.ledger, scope=run.scope, choice=choice)
    run.emit("inherit.chosen", round=chosen.index, quality=chosen.quality, writes=len(chosen.plan))
    result = result_of(chosen)
    failure = await trials.settle(chosen)
    details = {"evolution": told.model_dump(mode="json", exclude_defaults=True)}
    if failure is not None:
        return result.model_copy(update={"status": "failed", "error": failure, "details": details})
    if stopped is not None:
        error = Failure.of(stopped, scope=run.scope)
        return result.model_copy(update={"status": "budget", "error": error, "details": details})
    return result.model_copy(update={"details": details})


def read_history(result: Result) -> History | None:
    """The history in a result's details; ``None`` for a result of another kind of system."""
    told = result.details.get("evolution")
    return History.model_validate(told) if isinstance(told, dict) else None


def keep_best(
    candidates: list[Candidate], *, run: Run, choice: Callable[[list[Candidate]], Candidate] = choose
) -> None:
    """Keep the best output so far, for runs that are stopped."""
    best = result_of(choice(candidates))
    if best.answer is not None:
        run.keep(best.answer, sources=best.sources)


def tell(proposal: Proposal, *, index: int, scope: Run) -> None:
    """Tell of a team that is about to be tried: its graph, and what was changed."""
    workflow, parent = proposal.workflow, proposal.parent
    scope.emit(
        "inherit.round",
        round=index,
        origin=proposal.origin,
        parent=None if parent is None else parent.index,
        dropped=[*proposal.dropped],
        edits=[edit.kind for edit in proposal.edits],
        change=diff(parent.workflow, workflow).words() if parent is not None else "",
        hash=workflow.hash,
        nodes=[{"id": node.id, "role": node.role, "inputs": [*node.inputs]} for node in workflow.nodes],
    )
