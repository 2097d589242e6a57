"""A team for tests: a scripted model that answers as the node it speaks for, in real runs on a real store."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from motet.agent.react import React
from motet.inherit import Node, Workflow
from motet.inherit.engine import Worker, execute, react_worker
from motet.inherit.execution import Execution
from motet.inherit.records import Records
from motet.models.model import Request, Sampling
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.store.queries import event_list
from motet.store.store import Store
from motet.task import Result, Task
from motet.tools.tool import Tool
from motet.worlds.world import World
from tests.inherit.graphs import GENERAL, node
from tests.runs.desk import TASK, Answer, Says, done, go, new_run, work_once

Say = Callable[[str, Request], "Answer | Awaitable[Answer]"]


def thinkers() -> Workflow:
    """Two workers, a critic of the first, and an integrator; nobody holds a tool."""
    return Workflow(
        nodes=(
            node("mail"),
            node("dates"),
            node("doubt", "critic", "mail"),
            node("plan", "integrator", "dates", "doubt"),
        )
    )


def changed(workflow: Workflow, id_: str, **fields: Any) -> Workflow:
    """``workflow`` with other ``fields`` in one node."""
    nodes = tuple(
        Node.model_validate({**old.model_dump(), **fields}) if old.id == id_ else old for old in workflow.nodes
    )
    return Workflow(nodes=nodes)


def speaker(request: Request) -> str:
    """The node that asks, if its prompt begins with ``Be ID.``; else nothing."""
    texts = [message.content for message in request.messages if message.role == "system"]
    found = re.search(r"Be (\w+)\.", " ".join(texts))
    return found[1] if found else ""


def told(id_: str, request: Request) -> str:
    """An answer that depends on all that the node was told."""
    return f"{id_} of {request.digest[:8]}"


class Team:
    """Executes workflows in runs of their own, with records of its own. ``asked`` says for which nodes the model was asked, in order."""

    def __init__(self, store: Store, namespace: str, say: Say = told, **config: Any) -> None:
        self.store = store
        self.records = Records(store, namespace)
        self.model = Says(lambda request: say(speaker(request), request), name=config.pop("name", "says"))
        self.config = React(model=self.model, **{"sampling": Sampling(temperature=0), **config})
        self.run_id = ""
        self.result = Result(status="completed")

    @property
    def asked(self) -> list[str]:
        """Speakers of all requests so far, and forget them."""
        found = [speaker(request) for request in self.model.requests]
        self.model.requests.clear()
        return found

    def work(
        self,
        workflow: Workflow,
        into: list[Execution],
        *,
        task: Task = TASK,
        tools: Sequence[Tool] = (),
        world: World | None = None,
        worker: Worker | None = None,
        parent: Execution | None = None,
        refresh: Collection[str] = (),
        budget: Budget | None = None,
    ) -> Callable[[Task, Run], Awaitable[Result]]:
        """One candidate, as the work of a run; the execution is added to ``into``."""

        async def solve(_task: Task, run: Run) -> Result:
            execution = await execute(
                workflow,
                task,
                run=run.child("candidate", tools=tools, world=world),
                worker=worker or react_worker(self.config),
                roles=GENERAL,
                records=self.records,
                parent=parent,
                refresh=refresh,
                budget=budget,
            )
            into.append(execution)
            return done(execution.output or "nothing")

        return solve

    def execute(self, workflow: Workflow, **options: Any) -> Execution:
        """One candidate in a new run."""
        into: list[Execution] = []

        async def main() -> None:
            self.run_id = await new_run(self.store)
            self.result = await work_once(self.store, self.run_id, self.work(workflow, into, **options))

        go(main())
        return into[0]

    def events(self, kind: str) -> list[tuple[str, Any]]:
        """Node and payload of the last run's events of one kind."""
        return [
            (event.scope.rsplit("/", 1)[-1], event.payload)
            for event in event_list(self.store, self.run_id)
            if event.kind == kind
        ]


def ran(execution: Execution) -> set[str]:
    """The nodes that were done live."""
    return {id_ for id_, outcome in execution.outcomes.items() if outcome.how == "ran"}
