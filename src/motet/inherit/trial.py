"""Trials: teams are tried on a task, each in a copy of the world or with its writes staged, audited and judged; the chosen one's writes are then done once.

What evolves the teams is not known here, so that every method tries them in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from motet.errors import ModelError
from motet.inherit.asking import Brief
from motet.inherit.audit import audit
from motet.inherit.candidate import Candidate, Origin, Verdict
from motet.inherit.edits import Edit
from motet.inherit.engine import Worker, execute
from motet.inherit.execution import Execution
from motet.inherit.judge import Judge
from motet.inherit.records import Records
from motet.inherit.workflow import Workflow
from motet.runs.budget import Budget
from motet.runs.commit import Committed, commit
from motet.runs.run import Run
from motet.system import ToolRef
from motet.task import Failure, Result, Source
from motet.worlds.shared import Shared
from motet.worlds.staging import Staged, stage
from motet.worlds.world import World

_SOURCES = 5

# What a round's journal calls the team that is tried in it.
TEAM = "team"


class Proposal(NamedTuple):
    """A team to be tried: how it came about, from which candidate, and by which changes."""

    origin: Origin
    workflow: Workflow
    parent: Candidate | None = None
    dropped: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()

    def document(self) -> dict[str, JsonValue]:
        """The whole of it as JSON."""
        return {
            "origin": self.origin,
            "parent": None if self.parent is None else self.parent.index,
            "dropped": [*self.dropped],
            "edits": [edit.kind for edit in self.edits],
            "workflow": self.workflow.model_dump(mode="json"),
        }


class Trials:
    """The trials of one task. ``shared`` is all that a team may use, ``specs`` what of it is neither the world's nor given with the task. ``records`` is ``None`` where nothing may be inherited, from earlier candidates neither.

    ``refresh`` names nodes that are to be done live when they are first tried. Raises InputError for a world in which writes can be neither copied nor staged, if any could be
    made.
    """

    def __init__(
        self,
        brief: Brief,
        *,
        run: Run,
        shared: Shared,
        worker: Worker,
        judge: Judge | None,
        specs: Sequence[ToolRef] = (),
        records: Records | None = None,
        node_budget: Budget | None = None,
        refresh: Collection[str] = (),
    ) -> None:
        self.brief = brief
        self.run = run
        self._worker = worker
        self._judge = judge
        self._specs = tuple(specs)
        self._records = records
        self._node_budget = node_budget
        self._refresh = set(refresh)
        self._shared = shared
        if self._writes:
            stage(self._shared)

    async def attempt(self, proposal: Proposal, *, index: int, scope: Run) -> Candidate:
        """Try ``proposal`` in the scope ``scope``: carry it out, audit it, have it judged, and offer its result.

        A judge that fails costs the candidate its verdict and nothing else. Raises what ends a run.
        """
        workflow, parent = proposal.workflow, proposal.parent
        # Kept in full, so that a run that is at work, or was stopped, can be looked into.
        await scope.input(TEAM, proposal.document)
        world: World = stage(self._shared) if self._writes else self._shared
        refresh = self._refresh & workflow.by_id.keys()
        self._refresh -= refresh
        execution = await execute(
            workflow,
            self.brief.task,
            run=scope.child("team", world=world, apart=True),
            worker=self._worker,
            roles=self.brief.roles,
            records=self._records,
            parent=parent.execution if parent is not None and self._records is not None else None,
            refresh=refresh,
            budget=self._node_budget,
        )
        plan = tuple(world.plan) if isinstance(world, Staged) else ()
        checked = audit(execution, roles=self.brief.roles, writes=plan)
        scope.emit("inherit.audited", valid=checked.valid, problems=[*checked.problems], writes=len(plan))
        candidate = Candidate(
            index=index,
            origin=proposal.origin,
            execution=execution,
            audit=checked,
            parent=None if parent is None else parent.index,
            dropped=proposal.dropped,
            edits=proposal.edits,
            plan=plan,
        )
        if self._judge is not None:
            verdict = await self._judged(self._judge, candidate, scope=scope)
            candidate = candidate.model_copy(update={"verdict": verdict})
        self.run.offer(str(index), result_of(candidate), world)
        return candidate

    @property
    def unrefreshed(self) -> tuple[str, ...]:
        """The nodes that were to be done live and were in no team so far."""
        return tuple(sorted(self._refresh))

    async def settle(self, chosen: Candidate) -> Failure | None:
        """Do the writes of ``chosen`` in the task's own world, once they are approved; what went wrong, if anything did.

        A team without an output broke off in the middle of its work: what it planned to write outside this process is not done. Raises Cancelled where the writes are not approved.
        """
        if not chosen.plan:
            return None
        scope = self.run.child("chosen", tools=self._specs)
        if chosen.execution.output is None:
            local = {tool.name for tool in scope.tools(()) if tool.delivery == "local"}
            if any(write.tool not in local for write in chosen.plan):
                scope.emit("inherit.withheld", writes=len(chosen.plan))
                return None
        await scope.approve(chosen.plan)
        committed = await commit(scope, chosen.plan)
        return _failure(committed, scope=scope.scope)

    @property
    def _writes(self) -> bool:
        return self.brief.roles.writer is not None and "write" in self.brief.effects.values()

    async def _judged(self, judge: Judge, candidate: Candidate, *, scope: Run) -> Verdict | None:
        try:
            verdict = await judge.judge(
                candidate.execution, candidate.audit, brief=self.brief, run=scope.child("judge")
            )
        except ModelError as error:
            scope.emit("inherit.unjudged", why=str(error))
            return None
        scope.emit(
            "inherit.judged",
            quality=verdict.quality_score,
            completion=verdict.completion_likelihood,
            coverage=verdict.requirement_coverage,
            grounding=verdict.artifact_grounding,
            critique=verdict.critique,
            blamed=[blame.node for blame in verdict.fix],
        )
        return verdict


def shared_world(run: Run, specs: Sequence[ToolRef]) -> Shared:
    """All that a team may use in the scope ``run``: its world, the tools given with the task, and those of ``specs``."""
    ours = {tool.name for tool in run.world.tools()} if run.world is not None else set()
    return Shared(run.world, [tool for tool in run.tools(specs) if tool.name not in ours])


def result_of(candidate: Candidate) -> Result:
    """The candidate's output as a Result; that of one without an output has failed."""
    execution = candidate.execution
    if execution.output is None:
        lost = next(iter(execution.errors), None)
        failure = lost.failure if lost else None
        return Result(status="failed", error=failure or Failure(boundary="model", kind="BadReply", message="no output"))
    return Result(status="completed", answer=execution.output, sources=sources_of(execution))


def sources_of(execution: Execution) -> tuple[Source, ...]:
    """What the team's tools named, those of the nodes nearest to the output first; at most five."""
    nearest_first = [execution.outcomes[id_] for id_ in reversed(execution.workflow.order)]
    found = {source.ref: source for outcome in nearest_first for source in outcome.sources}
    return tuple(found.values())[:_SOURCES]


def _failure(committed: Committed, *, scope: str) -> Failure | None:
    if committed.failed is None:
        return None
    write, text = committed.failed.write, committed.failed.observation.text
    told = f"{write.tool} failed, and the plan was not carried out to its end: {text}"
    told += f"; done before it: {len(committed.done)}, left: {len(committed.left)}"
    return Failure(boundary="tool", kind="ToolError", message=told, scope=scope)
