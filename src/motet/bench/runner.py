"""The bench runner: works through the cells of a plan, some at a time, and resumes what an earlier sitting left.

The bench's own run holds the lease and the plan; every cell is a run below it with its own journal, so a cell that was cut short goes on where it stood, and
one that is done is never done again. One cell's failure is data: it never touches another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, TypeAlias

import sqlalchemy as sa

from motet.bench.benchmark import CANDIDATE, JUDGE_FAILED, Benchmark
from motet.bench.plan import Cell, Plan, build_systems, open_benchmark
from motet.errors import BudgetExceeded, Cancelled, InputError, LeaseLost, MotetError, RunBusy
from motet.inherit.records import bench_namespace
from motet.models.model import Price
from motet.runs import lease
from motet.runs import sitting as sittings
from motet.runs.budget import Budget
from motet.runs.run import SHARED, Offer, Run
from motet.runs.sitting import Sitting
from motet.runs.workplace import Workplace, names_of, needs_of, open_workplace
from motet.settings import Settings
from motet.store.schema import calls, runs, scores
from motet.store.store import Store
from motet.system import Needs, System
from motet.task import Failure, Result, Score, Status, Task

Assume: TypeAlias = Literal["done", "redo"]

# The scope in which a cell is judged: what it costs is not the system's. No system may name a scope of its own so.
JUDGE = "bench:judge"

# A cell with one of these statuses is done for good; any other is taken up again on resume.
_DONE = ("completed", "budget")


class Done(NamedTuple):
    """A cell that has ended. ``old`` says that an earlier sitting had ended it."""

    cell: Cell
    status: str
    error: str | None
    old: bool = False


Tell = Callable[[Done], None]


class Engine(Protocol):
    """Works cells. An engine is connected and opened once for a sitting, and asked for one cell after another, up to ``places`` at a time."""

    @property
    def places(self) -> int:
        """How many cells it can work at a time."""
        ...

    async def connect(self) -> None:
        """Reach what it works with. Raises InputError; nothing is written before this went well."""
        ...

    async def work(self, cell: Cell) -> Done:
        """Work ``cell`` to its end."""
        ...

    async def __aenter__(self) -> Engine: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


OpenEngine = Callable[["Desk"], Engine]


class Desk:
    """What is needed to work any cell of one bench in one process.

    ``assume`` says what became of writes that earlier sittings sent and nobody can confirm. Raises InputError for a plan that cannot be worked here.
    """

    def __init__(
        self,
        place: Workplace,
        plan: Plan,
        bench_id: str,
        *,
        given: Sequence[System] = (),
        assume: Assume | None = None,
    ) -> None:
        self.place = place
        self.plan = plan
        self.bench_id = bench_id
        self.assume = assume
        self.benchmark = open_benchmark(plan.benchmark, plan.options)
        if self.benchmark.version != plan.benchmark_version:
            raise InputError(
                f"{plan.benchmark} is now {self.benchmark.version}, and the bench began with {plan.benchmark_version}: its results "
                "could not be compared; begin a new bench"
            )
        self.tasks = chosen_tasks(self.benchmark, plan.tasks)
        self.systems = build_systems(plan, given)

    async def work(self, cell: Cell) -> Done:
        """Work ``cell`` in this process: begin or resume its run, and judge what comes out. Only cancellation passes."""
        system = self.systems[cell.label]
        task = self.tasks[cell.task_id]
        run_id = cell.run_id(self.bench_id)
        try:
            await sittings.create(
                self.place.store,
                run_id=run_id,
                parent=self.bench_id,
                kind="cell",
                system=cell.label,
                model=names_of(needs_of(system)),
                title=f"{task.id} (epoch {cell.epoch})" if self.plan.epochs > 1 else task.id,
                config={"format": 1, "bench": self.bench_id, "cell": list(cell)},
                tasks=[task],
            )
            result = await self._sit(cell, system, task)
            return Done(cell, result.status, result.error.kind if result.error else None)
        except Exception as error:  # noqa: BLE001 - recorded in the cell's own run; its siblings go on
            return Done(cell, "failed", Failure.of(error).kind)

    async def _sit(self, cell: Cell, system: System, task: Task) -> Result:
        setting = self.benchmark.setting(task)
        own = bench_namespace(self.bench_id, system=cell.label, epoch=cell.epoch)

        async def judge(result: Result, scope: Run) -> tuple[Score, ...]:
            judging = scope.aside(JUDGE)
            verdicts = await self.benchmark.score(task, result, run=judging)
            candidates = [await self._candidate(task, offer, judging) for offer in scope.offers]
            return (*verdicts, *candidates)

        patience = time.monotonic() + 2 * lease.EXPIRES
        while True:
            try:
                return await self.place.sit(
                    cell.run_id(self.bench_id),
                    system,
                    task,
                    budget=self.plan.budget,
                    world=setting.world,
                    tools=setting.tools,
                    judge=judge,
                    assume=self.assume,
                    namespace=SHARED if self.plan.warm else own,
                    # A system that plans its writes does in a bench what one that writes at once does.
                    approve=True,
                )
            except RunBusy:
                # Its worker was lost on another machine; its lease runs out by itself.
                if time.monotonic() > patience:
                    raise
                await asyncio.sleep(lease.HEARTBEAT)

    async def _candidate(self, task: Task, offer: Offer, judging: Run) -> Score:
        """The headline score of a candidate that was offered beside the result. A judge that fails loses no cell: it is judged again on resume."""
        scorer, headline = f"{CANDIDATE}{offer.label}", self.benchmark.headline
        run = judging.child(scorer, world=offer.world)
        try:
            verdicts = await self.benchmark.score(task, offer.result, run=run)
        except (Cancelled, LeaseLost):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the cell's own result is judged
            return Score(scorer=scorer, value=0.0, details={JUDGE_FAILED: Failure.of(error).message})
        verdict = next((score for score in verdicts if score.scorer == headline), Score(scorer=headline, value=0.0))
        failed = {name: why for name, why in verdict.details.items() if name == JUDGE_FAILED}
        return Score(scorer=scorer, value=verdict.value, correct=verdict.correct, details=failed)


class LocalEngine:
    """Works cells in this process, side by side in its event loop."""

    def __init__(self, desk: Desk, *, places: int) -> None:
        self._desk = desk
        self._places = places

    @property
    def places(self) -> int:
        """As many as asked for."""
        return self._places

    async def connect(self) -> None:
        """It is here."""

    async def work(self, cell: Cell) -> Done:
        """Work ``cell`` here."""
        return await self._desk.work(cell)

    async def __aenter__(self) -> LocalEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


async def run_bench(
    plan: Plan,
    *,
    store: str | Store | None = None,
    settings: Settings | None = None,
    parallel: int = 8,
    engine: OpenEngine | None = None,
    systems: Sequence[System] = (),
    tell: Tell | None = None,
    started: Callable[[str], None] | None = None,
) -> str:
    """Run a new bench and return its id. ``systems`` are those of the plan that only Python can give, by position.

    ``tell`` hears of every cell that ends, ``started`` the bench's id. Raises InputError before anything is written.
    """
    async with open_workplace(
        store, settings=settings, prices=plan_prices(plan, systems), allow_weak_sandbox=plan.allow_weak_sandbox
    ) as place:
        desk = Desk(place, plan, "", given=systems)
        working = engine(desk) if engine else LocalEngine(desk, places=parallel)
        await _preflight(desk)
        await working.connect()
        desk.bench_id = await sittings.create(
            place.store,
            kind="bench",
            system=", ".join(entry.label for entry in plan.systems),
            model=names_of(_needs(desk.systems)),
            title=f"{plan.benchmark}: {len(plan.tasks)} tasks",
            config=plan.model_dump(mode="json"),
            tasks=[],
        )
        if started is not None:
            started(desk.bench_id)
        await _sit_down(desk, working, tell=tell)
        return desk.bench_id


async def resume_bench(
    bench_id: str,
    *,
    store: str | Store | None = None,
    settings: Settings | None = None,
    parallel: int = 8,
    engine: OpenEngine | None = None,
    systems: Sequence[System] = (),
    tell: Tell | None = None,
    total: Budget | None = None,
    price: Price | None = None,
    assume: Assume | None = None,
) -> Plan:
    """Go on with a bench: cells that ended stay as they are, those that were cut short or failed are taken up. Returns its plan.

    ``total`` replaces those limits of the whole bench that it sets, ``price`` the plan's price. A bench of which nothing is left to do is not touched.
    """
    opened = store if isinstance(store, Store) else Store.open(store)
    try:
        plan = await read_plan(opened, bench_id)
        if await opened.read(lambda connection: _is_over(connection, bench_id, plan)):
            return plan
        limits = total.model_dump(exclude_none=True) if total else {}
        changes = {"total": plan.total.model_copy(update=limits), "price": price or plan.price}
        plan = plan.model_copy(update=changes)
        async with open_workplace(
            opened, settings=settings, prices=plan_prices(plan, systems), allow_weak_sandbox=plan.allow_weak_sandbox
        ) as place:
            desk = Desk(place, plan, bench_id, given=systems, assume=assume)
            working = engine(desk) if engine else LocalEngine(desk, places=parallel)
            await _preflight(desk)
            await working.connect()
            await _sit_down(desk, working, tell=tell)
        return plan
    finally:
        if opened is not store:
            opened.close()


async def read_plan(store: Store, bench_id: str) -> Plan:
    """The plan of a bench. Raises InputError for a run that is no bench of this version."""
    config, _ = await sittings.read_config(store, bench_id)
    if not isinstance(config, dict) or "benchmark" not in config or config.get("format") != 1:
        raise InputError(f"run {bench_id} is no bench, or one of another version of Motet")
    return Plan.model_validate(config)


def chosen_tasks(benchmark: Benchmark, ids: Sequence[str]) -> Mapping[str, Task]:
    """The benchmark's tasks named by ``ids``. Raises InputError when one is not there."""
    known = {task.id: task for task in benchmark.tasks()}
    missing = [name for name in ids if name not in known]
    if missing:
        raise InputError(f"{benchmark.name} has no task {missing[0]!r}; its data may have changed")
    return {name: known[name] for name in ids}


async def _preflight(desk: Desk) -> None:
    place, plan = desk.place, desk.plan
    extra = desk.benchmark.setting(next(iter(desk.tasks.values()))).tools
    needs = _needs(desk.systems)
    await place.preflight(desk.benchmark.needs(), budget=None)
    budget = plan.budget if plan.budget.money is not None else plan.total
    await place.preflight(Needs(needs.models, (*extra, *needs.tools)), budget=budget)


async def _sit_down(desk: Desk, engine: Engine, *, tell: Tell | None) -> None:
    """One sitting on a bench."""
    place, plan = desk.place, desk.plan
    async with sittings.begin(
        place.store, desk.bench_id, resolve=place.models.get, load_tools=place.load_tools, budget=plan.total
    ) as sitting:
        status: Status = "completed"
        failure: Failure | None = None
        try:
            async with engine as working:
                await sitting.guard(_work_all(place.store, plan, sitting, working, tell))
        except BudgetExceeded as error:
            status, failure = "budget", Failure.of(error)
        except Cancelled as error:
            status, failure = "cancelled", Failure.of(error)
        except MotetError as error:
            status, failure = "failed", Failure.of(error)
        await sitting.finish(Result(status=status, error=failure, run_id=desk.bench_id))


async def _work_all(store: Store, plan: Plan, sitting: Sitting, engine: Engine, tell: Tell | None) -> None:
    """Work every cell that is not done. Raises BudgetExceeded when the bench's own budget does not allow another."""
    done = await store.read(lambda connection: _done(connection, sitting.run_id))
    places = asyncio.Semaphore(engine.places)
    stopped: list[BudgetExceeded] = []

    async def one(cell: Cell) -> None:
        try:
            if not stopped:
                ended = await engine.work(cell)
                sitting.root.emit("bench.cell", cell=cell.number, status=ended.status, error=ended.error)
                if tell is not None:
                    tell(ended)
        finally:
            places.release()

    async with asyncio.TaskGroup() as group:
        for cell in plan.cells():
            if cell.number in done:
                if tell is not None:
                    tell(Done(cell, done[cell.number], None, old=True))
                continue
            await places.acquire()
            try:
                await _check_total(store, plan.total, sitting.run_id)
            except BudgetExceeded as error:
                # Cells at work are let finish; none is begun.
                stopped.append(error)
                places.release()
                break
            group.create_task(one(cell))
    if stopped:
        raise stopped[0]


def _done(connection: sa.Connection, bench_id: str) -> dict[int, str]:
    """The numbers and statuses of the cells that are done: ended for good, and judged."""
    verdicts = sa.select(scores.c.run_id).where(scores.c.run_id == runs.c.id)
    judged = sa.exists(verdicts) & ~sa.exists(verdicts.where(scores.c.details.contains(f'"{JUDGE_FAILED}":')))
    rows = connection.execute(
        sa.select(runs.c.id, runs.c.status).where(runs.c.parent == bench_id, runs.c.status.in_(_DONE), judged)
    )
    return {int(run_id.rpartition(".")[2]): status for run_id, status in rows}


def _is_over(connection: sa.Connection, bench_id: str, plan: Plan) -> bool:
    status = connection.execute(sa.select(runs.c.status).where(runs.c.id == bench_id)).scalar_one()
    return status == "completed" and len(_done(connection, bench_id)) == plan.size


async def _check_total(store: Store, limits: Budget, bench_id: str) -> None:
    """Raises BudgetExceeded when the bench has used up its own budget; looks nothing up where there is none."""
    if limits.tokens is None and limits.money is None and limits.calls is None:
        return
    below = sa.select(runs.c.id).where(runs.c.parent == bench_id)
    query = sa.select(
        sa.func.coalesce(sa.func.sum(calls.c.charged), 0),
        sa.func.coalesce(sa.func.sum(calls.c.charged_money), 0.0),
        sa.func.count(),
    ).where(calls.c.run_id.in_(below), calls.c.kind == "model")
    row = await store.read(lambda connection: connection.execute(query).one())
    for limit, allowed, spent in zip(
        ("tokens", "money", "calls"), (limits.tokens, limits.money, limits.calls), row, strict=True
    ):
        if allowed is not None and spent >= allowed:
            raise BudgetExceeded(f"the {limit} budget of the bench is used up: {spent:,} of {allowed:,}", limit=limit)


def _needs(systems: Mapping[str, System]) -> Needs:
    needs = [needs_of(system) for system in systems.values()]
    return Needs(
        models=tuple(model for need in needs for model in need.models),
        tools=tuple(dict.fromkeys(tool for need in needs for tool in need.tools if isinstance(tool, str))),
    )


def plan_prices(plan: Plan, given: Sequence[System] = ()) -> dict[str, Price]:
    """The plan's price for every model that its systems name."""
    if plan.price is None:
        return {}
    models = _needs(build_systems(plan, given)).models
    return {model: plan.price for model in models if isinstance(model, str)}
