"""A crew for tests of the scripted office: real nodes of WorkBench's role set, a real world, a real run on a real store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from motet.agent.react import React
from motet.inherit import Node, Workflow, named_roles
from motet.inherit.engine import execute, react_worker
from motet.inherit.execution import Execution
from motet.models.scripted import Policy, ScriptedModel
from motet.models.scripted_policies.office import trade
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Task
from motet.worlds.workbench.catalogue import catalogue
from motet.worlds.workbench.world import WorkBenchWorld
from tests.runs.desk import done, go, new_run, work_once

ROLES = named_roles("workbench")
PREAMBLE = (
    "Today's date is {day} and the current time is 00:00:00. Remember the current date and time when completing tasks. "
    "Meetings must not start before 9am or end after 6pm.\n\n{query}"
)
TOOLS = [entry.wire for entry in catalogue().values()]


def asked(query: str, *, day: str = "Monday, 2023-11-20") -> str:
    """A question as WorkBench puts it, on a day of the test's own."""
    return PREAMBLE.format(day=day, query=query)


def crew(
    question: str,
    *,
    prompts: Mapping[str, str] | None = None,
    without: Sequence[str] = (),
    last: Literal["integrator", "verifier"] = "integrator",
) -> Workflow:
    """A worker for each domain that the task needs, ``without`` some, an integrator, a verifier if it is ``last``, the executor. ``prompts`` are by role."""
    prompts = prompts or {}
    needed = trade.tools_for(question, TOOLS)

    def node(id_: str, role: str, inputs: Sequence[str] = (), tools: Sequence[str] = ()) -> Node:
        prompt = prompts.get(role, "Work with care.")
        return Node(id=id_, role=role, subtask="Do your part.", prompt=prompt, tools=tuple(tools), inputs=tuple(inputs))

    workers = [
        node(
            domain,
            "worker",
            tools=[name for name in needed if trade.domain_of(name) == domain and not trade.writes(name)],
        )
        for domain in trade.domains(question)
        if domain not in without
    ]
    names = [worker.id for worker in workers]
    nodes = [*workers, node("plan", "integrator", names)]
    if last == "verifier":
        nodes.append(node("check", "verifier", ["plan", *names]))
    writers = [name for name in needed if trade.writes(name)]
    nodes.append(node("act", "executor", ["check" if last == "verifier" else "plan"], writers))
    return Workflow(nodes=tuple(nodes))


def model_of(policy: Policy) -> ScriptedModel:
    """The policy as a model."""
    return ScriptedModel("office", policy)


def work(store: Store, workflow: Workflow, question: str, world: WorkBenchWorld, policy: Policy) -> Execution:
    """Carry ``workflow`` out in ``world``, with the real engine in a run of its own."""
    into: list[Execution] = []
    task = Task(id="task", question=question)
    config = React(model=model_of(policy))

    async def solve(_task: Task, run: Run) -> Result:
        scope = run.child("candidate", world=world)
        into.append(await execute(workflow, task, run=scope, worker=react_worker(config), roles=ROLES))
        return done(into[-1].output or "nothing")

    async def main() -> None:
        await work_once(store, await new_run(store, task), solve, task=task)

    go(main())
    return into[0]


def alone(
    store: Store, question: str, world: WorkBenchWorld, policy: Policy, *, actions: Literal["native", "json"] = "native"
) -> Result:
    """One agent with all 27 tools on the task."""
    task = Task(id="task", question=question)

    async def solve(task: Task, run: Run) -> Result:
        config = React(model=model_of(policy), actions=actions)
        return await config.solve(task, run=run.child("agent", world=world))

    async def main() -> Result:
        return await work_once(store, await new_run(store, task), solve, task=task)

    return go(main())


def writes_of(world: WorkBenchWorld) -> list[tuple[str, dict[str, str]]]:
    """What was written, in order."""
    return [(write.tool, {name: str(value) for name, value in write.arguments.items()}) for write in world.writes]
