"""The engine: carries out a workflow, and takes from records what need not be done again.

Each node works in a scope of its own, as soon as what it reads is there. Whether its result is inherited is decided once, in this order, and journaled:

- the executor, a node that is to be refreshed, and a node whose key is unknown are done live;
- the last candidate had a clean result with this key;
- an equal node of this candidate is asked the same, and equal requests have equal replies: it waits for that one;
- the store has a record with this key.

A node that fails is told as failed, and those that read it are skipped; what failed is never handed on as if it were an answer.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from motet.agent.react import React
from motet.canonical import canonical, clean_text
from motet.errors import BudgetExceeded, ModelError, ToolError, leading
from motet.inherit.differences import diff
from motet.inherit.execution import Execution, Outcome
from motet.inherit.keys import Determinants, determine, environment_of, explain, is_greedy
from motet.inherit.records import NodeRecord, Records
from motet.inherit.roles import Given, RoleSet
from motet.inherit.workflow import Node, Workflow
from motet.runs.budget import Budget
from motet.runs.run import Found, Run
from motet.system import Configured, System
from motet.task import Failure, Result, Task
from motet.words import clipped

_TOLD = 200  # characters of an output that an event holds

# Makes the system that works as a node, given what the node is told about how to work. It may use the node's tools and no others.
Worker: TypeAlias = Callable[[Node, str], System]


def react_worker(config: React) -> Worker:
    """Nodes are ReAct agents of this ``config``, each with its own instructions after those of the config."""

    def make(node: Node, instructions: str) -> System:
        both = f"{config.instructions}\n\n{instructions}".strip()
        return config.model_copy(update={"instructions": both})

    return make


async def execute(
    workflow: Workflow,
    task: Task,
    *,
    run: Run,
    worker: Worker,
    roles: RoleSet,
    records: Records | None = None,
    parent: Execution | None = None,
    refresh: Collection[str] = (),
    budget: Budget | None = None,
) -> Execution:
    """Carry out a valid ``workflow`` on ``task`` in the scope ``run``, with a child of that for each node: a scope for each candidate.

    ``parent`` is the last candidate, from which what an edit did not reach is inherited; ``refresh`` names nodes that are to be done live whatever there is; ``budget``
    is what each node may spend. Passes on what ends a run: its own budget, cancellation, bad input, a store that fails, and bugs.
    """
    return await _Engine(
        workflow,
        task,
        run=run,
        worker=worker,
        roles=roles,
        records=records,
        parent=parent,
        refresh=refresh,
        budget=budget,
    ).work()


class _Engine:
    """One execution in progress."""

    def __init__(
        self,
        workflow: Workflow,
        task: Task,
        *,
        run: Run,
        worker: Worker,
        roles: RoleSet,
        records: Records | None,
        parent: Execution | None,
        refresh: Collection[str],
        budget: Budget | None,
    ) -> None:
        self.workflow = workflow
        self.task = task
        self.run = run
        self.roles = roles
        self.records = records
        self.parent = parent
        self.refresh = frozenset(workflow.node(id_).id for id_ in refresh)
        self.budget = budget
        self.environment = environment_of(run.world)
        self.instructions = {id_: roles.instructions(workflow.by_id[id_]) for id_ in workflow.order}
        self.systems = {id_: worker(workflow.by_id[id_], text) for id_, text in self.instructions.items()}
        self.affected = self._affected()
        self.replicas: dict[str, int] = {}
        self.twins: dict[str, str] = {}
        self._number_equals()
        self._works: dict[str, asyncio.Task[Outcome]] = {}
        self._stored: list[Future[None]] = []

    async def work(self) -> Execution:
        """All nodes, side by side as far as they do not read each other."""
        try:
            async with asyncio.TaskGroup() as group:
                for id_ in self.workflow.order:
                    self._works[id_] = group.create_task(self._node(self.workflow.by_id[id_]))
        except ExceptionGroup as failures:
            raise leading(failures) from None
        if self.records is not None and self._stored:
            await self.records.store.flush()
        for stored in self._stored:
            stored.result()
        return Execution(
            workflow=self.workflow,
            environment=self.environment,
            affected=tuple(sorted(self.affected)),
            replicas=self.replicas,
            outcomes={id_: work.result() for id_, work in self._works.items()},
        )

    def _affected(self) -> frozenset[str]:
        parent = self.parent
        if parent is None or parent.environment != self.environment:
            return frozenset(self.workflow.by_id)
        without = {
            id_ for id_ in self.workflow.by_id if id_ not in parent.outcomes or not parent.outcomes[id_].reusable
        }
        edited = diff(parent.workflow, self.workflow).touched
        return self.workflow.closure({*edited, *self.refresh, *without})

    def _number_equals(self) -> None:
        """Nodes that are asked the same: joined where their replies must be equal, else numbered, those of the last candidate as they were there."""
        equals: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
        for id_ in self.workflow.order:
            node = self.workflow.by_id[id_]
            if node.role != self.roles.writer:
                equals[node.role, node.subtask, node.prompt, node.tools, node.inputs].append(id_)
        for ids in equals.values():
            if all(is_greedy(self.systems[id_]) for id_ in ids):
                joined = [id_ for id_ in ids if id_ not in self.refresh]
                self.twins |= dict.fromkeys(joined[1:], joined[0]) if joined else {}
                continue
            kept = {id_: number for id_ in ids if (number := self._number_before(id_)) is not None}
            free = iter(number for number in range(len(ids) + len(kept)) if number not in kept.values())
            self.replicas |= {id_: kept[id_] if id_ in kept else next(free) for id_ in ids}

    def _number_before(self, id_: str) -> int | None:
        if self.parent is None or id_ not in self.parent.workflow.by_id:
            return None
        before, now = self.parent.workflow.by_id[id_], self.workflow.by_id[id_]
        return self.parent.replicas.get(id_) if before.identity == now.identity else None

    async def _node(self, node: Node) -> Outcome:
        # What it reads comes before it in the order, so its work has begun.
        read = [await self._works[source] for source in node.inputs]
        twin = await self._works[self.twins[node.id]] if node.id in self.twins else None
        writes = node.role == self.roles.writer
        scope = self.run.child(node.id, budget=self.budget, read_only=not writes, only=node.tools, role=node.role)
        scope = scope.separate_task().keep_trace()
        lost = [outcome for outcome in read if outcome.status != "completed"]
        if lost:
            why = f"it reads {' and '.join(f'{outcome.node!r}, which {outcome.ended}' for outcome in lost)}"
            scope.emit("inherit.skipped", why=why)
            return Outcome(
                node=node.id, status="skipped", how="skipped", why=why, scope=scope.scope, run_id=self.run.id
            )
        inputs = [self._given(node, outcome) for outcome in read]
        determinants = self._determine(node, inputs, scope)
        self._tell_surprise(node, determinants, scope)
        base = Outcome(
            node=node.id,
            status="failed",
            how="ran",
            why="",
            read_only=not writes,
            determinants=determinants,
            run_id=self.run.id,
            scope=scope.scope,
        )
        if twin is not None and twin.key == base.key and twin.status == "failed":
            why = f"it is asked the same as {twin.node!r}, which {twin.ended}"
            scope.emit("inherit.failed", why=why)
            return base.model_copy(update={"how": "reused", "why": why, "failure": twin.failure})
        how, why, changed, record = await self._decide(node, determinants, twin, scope)
        base = base.model_copy(update={"how": how, "why": why, "changed": changed})
        if record is not None:
            names = ("output", "trace", "sources", "usage", "model", "run_id", "scope")
            return base.model_copy(update={"status": "completed", **{name: getattr(record, name) for name in names}})
        outcome = await self._solve(node, inputs, base, scope)
        made = outcome.record
        if self.records is not None and made is not None and (stored := self.records.post(made)) is not None:
            # Whoever reads the node need not wait for this: its answers are in the journal, from which a resumed run makes the record anew.
            self._stored.append(stored)
        return outcome

    def _given(self, node: Node, outcome: Outcome) -> Given:
        assert outcome.output is not None
        port = self.roles.port(node.role, self.workflow.by_id[outcome.node].role)
        return Given(port or "input", outcome.node, outcome.output)

    def _determine(self, node: Node, inputs: list[Given], scope: Run) -> Determinants | None:
        system = self.systems[node.id]
        if not isinstance(system, Configured):
            return None
        needs = system.needs()
        return determine(
            node,
            self.task,
            system=system,
            instructions=self.instructions[node.id],
            prompts=self.roles.prompts.version,
            models={name: scope.model(name, role="node").info for name in needs.models if isinstance(name, str)},
            tools=scope.tools(needs.tools),
            environment=self.environment,
            run_id=self.run.id,
            inputs=inputs,
            replica=self.replicas.get(node.id),
        )

    def _before(self, node: Node) -> Outcome | None:
        return self.parent.outcomes.get(node.id) if self.parent else None

    def _tell_surprise(self, node: Node, determinants: Determinants | None, scope: Run) -> None:
        """Tell of a node that should have had its key of the last candidate, by all that is known of what changed, and has another."""
        before = self._before(node)
        if node.id in self.affected or before is None or before.determinants is None:
            return
        changed = (
            ["system: it has no key any more"] if determinants is None else explain(before.determinants, determinants)
        )
        if changed:
            scope.emit("inherit.surprise", changed=[*changed])

    async def _decide(
        self, node: Node, determinants: Determinants | None, twin: Outcome | None, scope: Run
    ) -> _Decided:
        """Whether ``node`` inherits its result; decided once, and told."""
        live = self._must_be_live(node, determinants)
        if live or determinants is None:
            why = live or "its system's configuration has no stable name"
            ran = _Decided("ran", why)
            ran.tell(scope, key=None)
            return ran
        decided: _Decided | None = None

        async def find() -> Found:
            nonlocal decided
            decided = await self._find(node, determinants, twin, scope)
            decided.tell(scope, key=determinants.key)
            return decided.found(key=determinants.key)

        value = await scope.inherit(node.role, find, request={"key": determinants.key})
        if decided is None:
            decided = _Decided.read(value)
            decided.tell(scope, key=determinants.key)
        return decided

    def _must_be_live(self, node: Node, determinants: Determinants | None) -> str:
        """Why no record is even looked for; empty where one is."""
        if node.role == self.roles.writer:
            return "the executor always works live"
        if not isinstance(self.systems[node.id], Configured):
            return "its system does not say how it is configured"
        if self.records is None and self.parent is None and node.id not in self.twins:
            return "there are no records"
        return ""

    async def _find(self, node: Node, determinants: Determinants, twin: Outcome | None, scope: Run) -> _Decided:
        """The result to inherit, or the reason why there is none."""
        before = self._before(node)
        changed = tuple(explain(before.determinants, determinants)) if before and before.determinants else ()
        if node.id in self.refresh:
            return _Decided("ran", "a fresh result was asked for", changed)
        if before is not None and before.key == determinants.key and before.reusable:
            return _Decided("reused", "the last candidate has it", changed, before.record)
        if twin is not None and twin.key == determinants.key and twin.status == "completed":
            return _Decided("reused", f"{twin.node!r} is asked the same", changed, twin.record)
        damage = ""
        if self.records is not None:
            record, damage = await self.records.get(determinants.key)
            if record is not None and record.reusable:
                return _Decided("reused", "the store has a record of it", changed, record)
            if damage:
                scope.emit("inherit.damaged", key=determinants.key, damage=damage)
        if damage:
            return _Decided("ran", f"its record cannot be used: {damage}", changed)
        if changed:
            return _Decided("ran", "what determines it changed", changed)
        if before is not None:
            return _Decided("ran", f"its last result cannot be used again: it {before.ended}", changed)
        return _Decided("ran", "no record has its key", changed)

    async def _solve(self, node: Node, inputs: list[Given], base: Outcome, scope: Run) -> Outcome:
        """Do the work of ``node``; a failure that is its own becomes its outcome."""
        context = canonical(self.task.context).decode() if self.task.context else ""
        asked = self.roles.request(node, question=self.task.question, context=context, inputs=inputs)
        result: Result | None = None
        failure: Failure | None = None
        seconds = self.budget.seconds if self.budget else None
        try:
            async with asyncio.timeout(seconds) as clock:
                result = await _solved(self.systems[node.id], Task(question=asked), scope)
        except (ModelError, ToolError) as error:
            failure = Failure.of(error, scope=scope.scope)
        except BudgetExceeded as error:
            if error.account != scope.scope and not error.account.startswith(f"{scope.scope}/"):
                raise
            failure = Failure.of(error, scope=scope.scope)
        except TimeoutError:
            if not clock.expired():
                raise
            late = BudgetExceeded(f"the time budget of {seconds:g} seconds of {node.id} is used up", limit="seconds")
            failure = Failure.of(late, scope=scope.scope)
        output = clean_text(result.answer or "") if result is not None else ""
        if result is not None and result.status != "completed":
            failure = result.error or _failure(f"{node.id!r} ended as {result.status}", scope)
        elif result is not None and not output.strip():
            failure = _failure(f"{node.id!r} gave no answer", scope)
        usage = scope.ledger.total(under=scope.scope)
        spent = {
            "trace": scope.trace,
            "usage": usage,
            "model": ", ".join(sorted(scope.ledger.by(lambda line: line.model, under=scope.scope))),
        }
        if failure is not None or result is None:
            assert failure is not None
            scope.emit("inherit.failed", why=failure.message)
            return base.model_copy(update={**spent, "failure": failure})
        scope.emit("inherit.done", tokens=usage.tokens, output=clipped(output, width=_TOLD))
        done = {"status": "completed", "output": output, "sources": result.sources}
        return base.model_copy(update={**spent, **done})


class _Decided(NamedTuple):
    """How and why a node comes by its result, what changed since the last candidate, and the record where it is inherited."""

    how: str
    why: str
    changed: tuple[str, ...] = ()
    record: NodeRecord | None = None

    def tell(self, scope: Run, *, key: str | None) -> None:
        """Tell it as an event."""
        scope.emit(f"inherit.{self.how}", key=key, why=self.why, changed=[*self.changed])

    def found(self, *, key: str) -> Found:
        """What is written into the journal."""
        value: dict[str, JsonValue] = {"how": self.how, "why": self.why, "changed": [*self.changed], "key": key}
        if self.record is None:
            return Found(value=value)
        value["record"] = self.record.model_dump(mode="json")
        return Found(value=value, usage=self.record.usage, model=self.record.model)

    @classmethod
    def read(cls, value: JsonValue) -> _Decided:
        """What ``found`` wrote."""
        assert isinstance(value, dict)
        assert isinstance(value["changed"], list)
        record = NodeRecord.model_validate(value["record"]) if "record" in value else None
        return cls(str(value["how"]), str(value["why"]), tuple(map(str, value["changed"])), record)


async def _solved(system: System, task: Task, scope: Run) -> Result:
    """What ``system`` gives; work that it does side by side fails as one of its parts did."""
    try:
        given: object = await system.solve(task, run=scope)
    except ExceptionGroup as group:
        raise leading(group) from group
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise
        # Nobody cancelled it; let out, it would pass for the end of the whole execution.
        raise RuntimeError(
            f"in {scope.scope}, system {system.name} let a cancellation out that nobody had asked for"
        ) from None
    if not isinstance(given, Result):
        raise TypeError(
            f"in {scope.scope}, system {system.name}: solve must return a Result, and gave {type(given).__name__}"
        )
    return given


def _failure(message: str, scope: Run) -> Failure:
    return Failure(boundary="model", kind="BadReply", message=message, scope=scope.scope)
