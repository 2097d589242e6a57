"""A sitting: one process's stretch of work on a run, from taking the lease to giving it back.

A run is created once and may take several sittings; ``begin`` starts one, on a new run or on one that was interrupted. While it lasts, a heartbeat renews
the lease, records the working time, and looks for a request to stop. However it ends, by an answer, a budget, an error, Ctrl-C or
``kill -9``, the next sitting goes on from the journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import sqlalchemy as sa
from pydantic import JsonValue

from motet.errors import (
    BudgetExceeded,
    Cancelled,
    InputError,
    LeaseLost,
    MotetError,
    StoreError,
    UnconfirmedWrite,
    leading,
)
from motet.runs import lease
from motet.runs.budget import Account, Budget
from motet.runs.events import Events, Watcher
from motet.runs.journal import Journal
from motet.runs.run import SHARED, Approve, Core, LoadTools, ReadDeltas, Resolve, Run, spent_under
from motet.store import schema
from motet.store.rows import insert_run
from motet.store.store import Fence, Row, Store, as_blob, read_blob
from motet.system import System
from motet.task import Failure, Result, Score, Status, Task
from motet.tools.tool import Tool
from motet.worlds.world import World

T = TypeVar("T")

# Judges a result; the scope it is given holds the world as the system left it, and journals what a judge model says.
Judge: TypeAlias = Callable[[Result, Run], Awaitable[tuple[Score, ...]]]


async def create(
    store: Store,
    *,
    kind: str,
    system: str,
    model: str,
    title: str,
    config: JsonValue,
    tasks: Sequence[Task],
    run_id: str | None = None,
    parent: str | None = None,
) -> str:
    """Write a new run with its ``tasks`` and return its id. ``config`` is what is needed to run it again.

    A run of the given ``run_id`` that is there already is left as it is, so that several processes may try. ``parent`` is the run this is a part of.
    """
    store.forget_blobs()
    named = run_id is not None
    run_id = run_id or time.strftime("%y%m%d-", time.gmtime()) + secrets.token_hex(4)
    now = time.time()
    name, body = as_blob(config)
    blobs = {name: body}
    rows = [
        Row(
            schema.runs,
            {
                "id": run_id,
                "kind": kind,
                "title": title,
                "system": system,
                "model": model,
                "config": name,
                "status": "running",
                "created": now,
                "updated": now,
                "elapsed": 0.0,
                "heartbeat": 0.0,
                "fence": 0,
                "cancel": False,
                "parent": parent,
            },
        )
    ]
    for position, task in enumerate(tasks):
        task_name, task_body = as_blob(task.model_dump(mode="json"))
        blobs[task_name] = task_body
        rows.append(
            Row(
                schema.tasks,
                {
                    "run_id": run_id,
                    "task_id": task.id,
                    "position": position,
                    "cluster": task.cluster,
                    "body": task_name,
                    "status": "pending",
                },
            )
        )
    if named:
        await store.write(blobs=blobs, then=lambda connection: insert_run(connection, rows[0], rows[1:]))
    else:
        await store.write(rows, blobs=blobs)
    return run_id


async def read_config(store: Store, run_id: str) -> tuple[JsonValue, list[Task]]:
    """A run's config and tasks, as ``create`` wrote them. Raises InputError when there is no such run."""

    def query(connection: sa.Connection) -> tuple[JsonValue, list[Task]]:
        row = connection.execute(sa.select(schema.runs.c.config).where(schema.runs.c.id == run_id)).first()
        if row is None:
            raise InputError(f"run {run_id} is not in the store")
        bodies = connection.execute(
            sa.select(schema.tasks.c.body).where(schema.tasks.c.run_id == run_id).order_by(schema.tasks.c.position)
        ).scalars()
        tasks = [Task.model_validate_json(read_blob(connection, name)) for name in bodies.all()]
        return json.loads(read_blob(connection, row.config)), tasks

    return await store.read(query)


class Sitting:
    """A sitting in progress. ``root`` is the run's outermost scope."""

    def __init__(self, *, store: Store, fence: Fence, core: Core, root: Run, budget: Budget, earlier: float) -> None:
        self.store = store
        self.fence = fence
        self.root = root
        self._core = core
        self._budget = budget
        self._earlier = earlier
        self._start = time.monotonic()
        self._stop: BaseException | None = None
        self._workers: set[asyncio.Task[Any]] = set()

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.fence.run_id

    @property
    def elapsed(self) -> float:
        """Seconds of work, earlier sittings included."""
        return self._earlier + time.monotonic() - self._start

    async def execute(
        self,
        system: System,
        task: Task,
        *,
        budget: Budget | None = None,
        world: World | None = None,
        tools: Sequence[str | Tool] = (),
        judge: Judge | None = None,
    ) -> Result:
        """Solve ``task`` with ``system`` in a scope of its own, and commit the result with the judge's scores.

        The system works in ``world``, if there is one, and is given ``tools`` beside its own.

        Models, tools and budgets that fail give a Result that says so, with the best answer so far. Bad input and bugs raise, after they are recorded.
        """
        scope = self.root.child(task.id, budget=budget, world=world, tools=tools).separate_task()
        scope.emit("task.started", question=task.question, system=system.name)
        status: Status = "completed"
        failure: Failure | None = None
        found = Result(status="completed")
        bug: Exception | None = None
        try:
            given: object = await self.guard(system.solve(task, run=scope), budget=budget)
            if not isinstance(given, Result):
                raise TypeError(f"system {system.name}: solve must return a Result, and gave {type(given).__name__}")
            found = given
            status, failure = found.status, found.error
        except BudgetExceeded as error:
            status, failure = "budget", Failure.of(error, scope=scope.scope)
        except Cancelled as error:
            status, failure = "cancelled", Failure.of(error, scope=scope.scope)
        except LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001 - recorded for what it is; bugs are raised again below
            status, failure = "failed", Failure.of(error, scope=scope.scope)
            if not isinstance(error, MotetError) or isinstance(error, InputError):
                bug = error
        update: dict[str, Any] = {
            "status": status,
            "error": failure,
            "run_id": self.run_id,
            "usage": self._core.ledger.total("paid", under=scope.scope),
            "earlier": self._core.ledger.total("earlier", under=scope.scope),
            "inherited": self._core.ledger.total("inherited", under=scope.scope),
        }
        if found.answer is None and scope.best.answer is not None:
            update |= {"answer": scope.best.answer, "sources": scope.best.sources}
        result = found.model_copy(update=update)
        verdicts = await judge(result, scope) if judge is not None and bug is None else ()
        if status == "completed":
            followed = {name: counter.next for name, counter in self._core.counters.items()}
            await self._core.journal.close(scope.scope, followed=followed)
        await self._record(task, result, verdicts)
        scope.emit("task.finished", status=status, answer=result.answer, error=failure.message if failure else None)
        if bug is not None:
            raise bug
        return result

    async def guard(self, work: Awaitable[T], *, budget: Budget | None = None) -> T:
        """Await ``work`` within the time that is left, and stop it when the sitting is told to stop.

        Raises BudgetExceeded when the time is up, and Cancelled or LeaseLost when the sitting was stopped.
        """
        if self._stop is not None:
            if isinstance(work, Coroutine):
                work.close()
            raise self._stop
        worker = asyncio.ensure_future(work)
        self._workers.add(worker)
        limits = [self._budget.seconds - self.elapsed] if self._budget.seconds is not None else []
        if budget is not None and budget.seconds is not None:
            limits.append(budget.seconds)
        try:
            async with asyncio.timeout(max(min(limits), 0) if limits else None) as clock:
                return await worker
        except TimeoutError:
            if not clock.expired():
                raise
            seconds = self._budget.seconds if budget is None or budget.seconds is None else budget.seconds
            raise BudgetExceeded(f"the time budget of {seconds:g} seconds is used up", limit="seconds") from None
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            if self._stop is not None:
                raise self._stop from None
            # Nobody cancelled it: something inside awaited work that had been cancelled, and let that out.
            raise RuntimeError("the system let a cancellation out that nobody had asked for") from None
        except ExceptionGroup as group:
            raise leading(group) from group
        finally:
            self._workers.discard(worker)
            if not worker.done():
                worker.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await worker

    async def _record(self, task: Task, result: Result, verdicts: Sequence[Score]) -> None:
        name, body = as_blob(result.model_dump(mode="json"))
        place = {"run_id": self.run_id, "task_id": task.id}
        rows = [
            {
                **place,
                "scorer": score.scorer,
                "value": score.value,
                "correct": score.correct,
                "details": json.dumps(score.details),
            }
            for score in verdicts
        ]

        def finish(connection: sa.Connection) -> None:
            connection.execute(
                schema.tasks.update()
                .where(schema.tasks.c.run_id == self.run_id, schema.tasks.c.task_id == task.id)
                .values(status=result.status, result=name)
            )
            connection.execute(
                schema.scores.delete().where(schema.scores.c.run_id == self.run_id, schema.scores.c.task_id == task.id)
            )
            if rows:
                connection.execute(schema.scores.insert(), rows)

        await self.store.write(blobs={name: body}, then=finish, fence=self.fence)

    async def finish(self, result: Result) -> None:
        """Record the run's own ``result`` and give the lease back."""
        self._core.journal.end()
        name, body = as_blob(result.model_dump(mode="json"))
        unconfirmed = result.error is not None and result.error.kind == UnconfirmedWrite.__name__
        self.root.emit("run.finished", status=result.status)
        await self.store.write(blobs={name: body}, fence=self.fence)
        await lease.release(
            self.store,
            self.fence,
            status="unconfirmed" if unconfirmed else result.status,
            result=name,
            error=result.error.message if result.error else None,
            elapsed=self.elapsed,
        )

    def stop(self, reason: BaseException) -> None:
        """Stop all work of this sitting; what is being solved ends with ``reason``."""
        self._stop = reason
        for worker in self._workers:
            worker.cancel()

    async def heartbeat(self) -> None:
        """Renew the lease until cancelled; stop the work when the lease is lost or someone asked the run to stop.

        A store that cannot be written for a moment (a database that restarts) is tried again for as long as the lease lasts.
        """
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(lease.HEARTBEAT)
            try:
                asked = await lease.beat(self.store, self.fence, elapsed=self.elapsed)
                renewed = time.monotonic()
            except MotetError as error:
                if isinstance(error, StoreError) and time.monotonic() - renewed < lease.EXPIRES / 2:
                    continue
                self.stop(error)
                return
            if asked:
                self.stop(Cancelled("the run was asked to stop"))
                return


@contextlib.asynccontextmanager
async def begin(
    store: Store,
    run_id: str,
    *,
    resolve: Resolve,
    load_tools: LoadTools,
    budget: Budget | None = None,
    watchers: Sequence[Watcher] = (),
    read_deltas: ReadDeltas | None = None,
    assume: Literal["done", "redo"] | None = None,
    facts: Mapping[str, JsonValue] | None = None,
    namespace: str = SHARED,
    approve: Approve = None,
) -> AsyncIterator[Sitting]:
    """Take the run's lease and sit down to it; give the lease back at the end, whatever happens.

    Raises RunBusy while another live process works on it. ``facts`` about this machine go into the first event; ``namespace`` is that of the records that the run shares; ``approve`` is asked
    whether a plan of writes may be carried out.
    """
    fence = await lease.take(store, run_id)
    heartbeat: asyncio.Task[None] | None = None
    sitting: Sitting | None = None
    try:
        journal, ledger, charged = await Journal.load(store, fence, decided=assume is not None)
        last, elapsed = await store.read(lambda connection: _where_it_stands(connection, run_id))
        events = Events(store, fence, last=last)
        for watcher in watchers:
            events.watch(watcher)
        core = Core(
            journal=journal,
            ledger=ledger,
            events=events,
            resolve=resolve,
            load_tools=load_tools,
            assume=assume,
            charged=charged,
            read_deltas=read_deltas,
            namespace=namespace,
            approve=approve,
        )
        limits = budget or Budget()
        account = Account(limits, name="the run", spent=spent_under(charged, ""))
        root = Run(core, scope="", account=account)
        sitting = Sitting(store=store, fence=fence, core=core, root=root, budget=limits, earlier=elapsed)
        first = "run.resumed" if fence.number > 1 else "run.started"
        events.emit(first, scope="", payload={"run": run_id, **(facts or {})})
        heartbeat = asyncio.create_task(sitting.heartbeat())
        yield sitting
    finally:
        if heartbeat is not None:
            heartbeat.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await heartbeat
        # After ``finish`` the lease is free and this changes nothing; otherwise the run stays resumable, and says so at once.
        with contextlib.suppress(MotetError):
            await asyncio.shield(_leave(store, fence, elapsed=None if sitting is None else sitting.elapsed))


async def _leave(store: Store, fence: Fence, *, elapsed: float | None) -> None:
    def leave(connection: sa.Connection) -> None:
        change = schema.runs.update().where(schema.runs.c.id == fence.run_id, schema.runs.c.owner.is_not(None))
        values: dict[str, Any] = {"owner": None, "updated": time.time()}
        connection.execute(change.values(**values) if elapsed is None else change.values(**values, elapsed=elapsed))

    await store.write(then=leave, fence=fence)


def _where_it_stands(connection: sa.Connection, run_id: str) -> tuple[int, float]:
    """The run's last event number and its working time so far."""
    last = connection.execute(
        sa.select(sa.func.max(schema.events.c.seq)).where(schema.events.c.run_id == run_id)
    ).scalar_one()
    elapsed = connection.execute(sa.select(schema.runs.c.elapsed).where(schema.runs.c.id == run_id)).scalar_one()
    return last or 0, elapsed
