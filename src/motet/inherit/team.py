"""Teams: what all systems have in common that try workflows, so that only how they search differs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field, InstanceOf, PlainSerializer

from motet.agent.react import React
from motet.inherit.asking import Brief, Voice
from motet.inherit.engine import Worker, react_worker
from motet.inherit.judge import Judge, ModelJudge
from motet.inherit.meta import MetaModel
from motet.inherit.records import Records
from motet.inherit.roles import roles_for
from motet.inherit.trial import Trials, shared_world
from motet.inherit.views import Compact, Naive
from motet.inherit.workflow import Node
from motet.models.model import Sampling
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.system import Configured, ModelRef, Needs, System, ToolRef
from motet.task import Result, Task


def _none_given(value: Mapping[str, object]) -> dict[str, object]:
    if value:
        raise ValueError("systems given from Python have no name to be stored")
    return {}


# Systems that work in place of agents, by the role of the nodes. Only Python can give them.
Workers: TypeAlias = Annotated[dict[str, InstanceOf[System]], PlainSerializer(_none_given)]


class Team(Configured):
    """What any team may use and spend.

    ``model`` is for all; ``meta_model``, ``judge_model`` and ``worker_model`` for one kind of role. ``roles`` is a role set by name or file; without it the world's, else ``general``.
    ``max_steps`` counts a worker's model calls and ``max_tokens`` bounds each of its replies; ``control_tokens`` bounds those of meta-model and judge. ``node_budget`` is for each node
    of each candidate. ``workers`` puts systems in the place of agents, by role. ``inherit``: whether results are taken from records. ``control``: how meta-model and judge are
    shown things, see ``views``; ``replies``: whether they write graphs (``free``) or choose among valid ones (``guided``), by default what the model can do.
    """

    model: ModelRef = "embedded"
    meta_model: ModelRef | None = None
    judge_model: ModelRef | None = None
    worker_model: ModelRef | None = None
    tools: tuple[ToolRef, ...] = ()
    roles: str | None = None
    max_steps: int = Field(default=8, gt=0)
    max_tokens: int = Field(default=1024, gt=0)
    max_calls: int = Field(default=8, gt=0)
    control_tokens: int = Field(default=3000, gt=0)
    sampling: Sampling = Sampling(temperature=0.0)
    control_sampling: Sampling = Sampling(temperature=0.0)
    node_budget: Budget | None = None
    workers: Workers = Field(default_factory=dict)
    inherit: bool = True
    control: Literal["compact", "naive"] = "compact"
    replies: Literal["auto", "free", "guided"] = "auto"

    def needs(self) -> Needs:
        """The models of all roles, and the tools."""
        models = (self.worker_model, self.meta_model, self.judge_model)
        return Needs(tuple(dict.fromkeys(model or self.model for model in models)), self.tools)

    def open(self, task: Task, *, run: Run, refresh: tuple[str, ...] = (), judged: bool = True) -> Desk:
        """Everything that is needed to evolve a team for ``task`` in the scope ``run``. Raises InputError."""
        roles = roles_for(run.world, given=self.roles)
        shared = shared_world(run, self.tools)
        brief = Brief(task, roles=roles, tools=shared.tools(), view=Naive() if self.control == "naive" else Compact())
        meta, judge = self.meta_model or self.model, self.judge_model or self.model
        desk_judge = ModelJudge(self._voice(judge), small=self._small(judge, run=run)) if judged else None
        return Desk(
            brief=brief,
            meta=MetaModel(self._voice(meta), brief, small=self._small(meta, run=run)),
            judge=desk_judge,
            trials=Trials(
                brief,
                run=run,
                shared=shared,
                worker=self._worker(),
                judge=desk_judge,
                specs=self.tools,
                records=Records(run.store, run.namespace) if self.inherit else None,
                node_budget=self.node_budget,
                refresh=refresh,
            ),
        )

    def _voice(self, model: ModelRef) -> Voice:
        return Voice(model=model, sampling=self.control_sampling, max_tokens=self.control_tokens)

    def _small(self, model: ModelRef, *, run: Run) -> bool:
        if self.replies != "auto":
            return self.replies == "guided"
        return run.model(model, role="meta").info.reply_limit is not None

    def _worker(self) -> Worker:
        agents = react_worker(
            React(
                model=self.worker_model or self.model,
                max_steps=self.max_steps,
                max_tokens=self.max_tokens,
                max_calls=self.max_calls,
                sampling=self.sampling,
            )
        )

        def make(node: Node, instructions: str) -> System:
            given = self.workers.get(node.role)
            return agents(node, instructions) if given is None else Told(system=given, instructions=instructions)

        return make


class Desk(NamedTuple):
    """What one task's evolution works with. Without a judge candidates have no verdict."""

    brief: Brief
    meta: MetaModel
    judge: Judge | None
    trials: Trials


class Told(Configured):
    """A system that works as a node: it is told how to work before what to do."""

    system: InstanceOf[System]
    instructions: str

    @property
    def name(self) -> str:
        """The system's own."""
        return self.system.name

    def needs(self) -> Needs:
        """Those of the system."""
        return self.system.needs() if isinstance(self.system, Configured) else Needs()

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Put ``task`` to the system, after the instructions."""
        return await self.system.solve(
            Task(question=f"{self.instructions}\n\n{task.question}", context=task.context), run=run
        )
