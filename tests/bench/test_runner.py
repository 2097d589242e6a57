"""The bench runner: all cells are worked, none twice; what one does never touches another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from motet.agent.react import React
from motet.baselines.noop import Noop
from motet.bench.plan import Plan, label_systems, open_benchmark, pick
from motet.bench.report import make_report, same_results
from motet.bench.runner import Done, read_plan, resume_bench, run_bench
from motet.errors import InputError
from motet.models.scripted import ScriptedModel
from motet.runs.budget import Budget
from motet.runs.commit import commit
from motet.runs.run import Run
from motet.settings import Provider, Settings
from motet.store.check import check
from motet.store.store import Store
from motet.system import System
from motet.task import Result, Task
from motet.testing import Faults, ModelServer
from motet.tools.function import FunctionTool
from motet.worlds import Write
from tests.bench.toys import Buggy, reckoner

SUMS = "tests.bench.toys:Sums"


def plan_of(*systems: System, size: int = 6, epochs: int = 1, total: Budget | None = None) -> Plan:
    """A bench of sums."""
    options = {"size": size}
    benchmark = open_benchmark(SUMS, options)
    return Plan(
        benchmark=SUMS,
        options=options,
        benchmark_version=benchmark.version,
        systems=label_systems(systems),
        tasks=pick([task.id for task in benchmark.tasks()]),
        epochs=epochs,
        total=total or Budget(),
    )


def desk(server: ModelServer) -> Settings:
    """Settings in which ``desk:reckoner`` is asked at ``server``."""
    return Settings(providers={"desk": Provider(base_url=server.base_url)})


@pytest.fixture
def store(home: Path) -> Store:
    """The test's own store."""
    return Store.open(f"sqlite:///{home / 'runs.db'}")


@pytest.mark.anyio
async def test_every_cell_is_worked_once_and_scored(store: Store) -> None:
    """Two systems, two epochs: the report counts each cell, its scores, its calls."""
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        plan = plan_of(React(model="desk:reckoner"), Noop(), epochs=2)
        heard: list[Done] = []
        bench = await run_bench(plan, store=store, settings=desk(server), tell=heard.append)
        assert len(server.served) == 12
    report = make_report(store, bench, plan)
    assert (report.status, report.ended, report.cells) == ("completed", 24, 24)
    assert len(heard) == 24
    react, noop = report.systems
    # 0+1 … 5+6 are 1 3 5 7 9 11, of which one is a multiple of five.
    assert react.scores["correct"].value == pytest.approx(10 / 12)
    assert react.scores["correct"].clusters == 3
    assert (react.total.calls, noop.total.calls) == (12, 0)
    assert noop.difference is not None
    assert noop.difference.value == pytest.approx(-10 / 12)
    assert check(store).ok
    store.close()


@pytest.mark.anyio
async def test_a_bench_that_was_cut_short_goes_on_and_repeats_nothing(store: Store) -> None:
    """Cells that ended are kept, the others are worked; the results are those of an uninterrupted bench."""
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        plan = plan_of(React(model="desk:reckoner"), size=8)
        ids: list[str] = []
        ended = 0

        def stop_early(done: Done) -> None:
            nonlocal ended
            ended += 1
            if ended == 3:
                worker.cancel()

        worker = asyncio.ensure_future(
            run_bench(plan, store=store, settings=desk(server), parallel=2, tell=stop_early, started=ids.append)
        )
        with pytest.raises(asyncio.CancelledError):
            await worker
        cut = make_report(store, ids[0], plan)
        assert cut.status == "interrupted"
        assert 3 <= cut.ended < 8
        before = len(server.served)
        await resume_bench(ids[0], store=store, settings=desk(server))
        assert len(server.served) - before <= 8 - cut.ended
        calm = await run_bench(plan, store=store, settings=desk(server))
    whole = make_report(store, ids[0], plan)
    assert whole.status == "completed"
    assert same_results(whole) == same_results(make_report(store, calm, plan))
    store.close()


@pytest.mark.anyio
async def test_faults_of_the_model_lose_no_cell(store: Store) -> None:
    """With a fifth of the requests failing, the results are those of a server that never fails."""
    plan = plan_of(React(model="desk:reckoner"), size=12)
    results = []
    for rate in (0.0, 0.2):
        faults = Faults.mixed(rate, seed=3)
        async with ModelServer(ScriptedModel("reckoner", reckoner), faults=faults) as server:
            results.append(await run_bench(plan, store=store, settings=desk(server)))
    calm, rough = (same_results(make_report(store, bench, plan)) for bench in results)
    assert rough == calm
    store.close()


@pytest.mark.anyio
async def test_a_bug_in_one_cell_leaves_the_others_alone(store: Store) -> None:
    """The cell is recorded as failed, counts as wrong, and is taken up again on resume."""
    plan = plan_of(Buggy())
    bench = await run_bench(plan, store=store, systems=[Buggy()])
    report = make_report(store, bench, plan)
    assert report.systems[0].failures == {"ZeroDivisionError": 1}
    assert report.systems[0].scores["correct"].n == 6
    heard: list[Done] = []
    await resume_bench(bench, store=store, tell=heard.append)
    assert [done.cell.task_id for done in heard if not done.old] == ["sum#2"]
    store.close()


@pytest.mark.anyio
async def test_a_bench_stops_on_its_own_budget_and_says_so(store: Store) -> None:
    """No cell is begun beyond it, and the finished ones are in the report."""
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        plan = plan_of(React(model="desk:reckoner"), total=Budget(calls=2))
        bench = await run_bench(plan, store=store, settings=desk(server), parallel=1)
        assert len(server.served) == 2
    report = make_report(store, bench, plan)
    assert (report.status, report.ended) == ("budget", 2)
    store.close()


@pytest.mark.anyio
async def test_data_that_changed_cannot_be_mixed_with_old_results(store: Store) -> None:
    """A bench is not resumed over another version of its data."""
    plan = plan_of(Noop())
    bench = await run_bench(plan, store=store)
    assert await read_plan(store, bench) == plan
    changed = plan.model_copy(update={"options": {"edition": "2"}})
    with pytest.raises(InputError, match="begin a new bench"):
        await run_bench(changed, store=store)
    store.close()


@pytest.mark.anyio
@pytest.mark.parametrize("warm", [False, True])
async def test_a_bench_has_records_of_its_own_unless_it_is_warm(store: Store, warm: bool) -> None:
    """Each system has its own in each epoch of each bench; a warm one shares those of the whole store, also when it is resumed."""
    seen: list[str] = []

    class Seer:
        def __init__(self, name: str) -> None:
            self.name = name

        async def solve(self, task: Task, *, run: Run) -> Result:
            seen.append(run.namespace)
            if len(seen) == 1:
                raise ZeroDivisionError("the first cell is taken up again")
            return Result(status="completed", answer="")

    seers = [Seer("one"), Seer("two")]
    plan = plan_of(*seers, size=1, epochs=2).model_copy(update={"warm": warm})
    bench = await run_bench(plan, store=store, systems=seers, parallel=1)
    await resume_bench(bench, store=store, systems=seers, parallel=1)
    own = [f"bench/{bench}/{name}/{epoch}" for epoch in (1, 2) for name in ("one", "two")]
    assert seen == (["solve"] * 5 if warm else [*own, own[0]])


@pytest.mark.anyio
async def test_a_bench_asks_nobody_about_plans(store: Store) -> None:
    """A system that plans its writes has them carried out, as one that writes at once has."""
    posted: list[str] = []

    def post(text: str) -> str:
        """Post a note."""
        posted.append(text)
        return "posted"

    class Plans:
        name = "plans"

        async def solve(self, task: Task, *, run: Run) -> Result:
            real = run.child("real", tools=[FunctionTool(post, effect="write", version="1")])
            plan = [Write(tool="post", arguments={"text": task.id})]
            await real.approve(plan)
            await commit(real, plan)
            return Result(status="completed", answer="")

    await run_bench(plan_of(Plans(), size=2), store=store, systems=[Plans()], parallel=1)
    assert posted == ["sum#0", "sum#1"]


def test_a_sample_is_seeded_and_keeps_the_order() -> None:
    """The same seed picks the same tasks, another seed others."""
    ids = [f"t{n}" for n in range(100)]
    picked = pick(ids, sample=10, seed=1)
    assert picked == pick(ids, sample=10, seed=1) != pick(ids, sample=10, seed=2)
    assert list(picked) == sorted(picked, key=ids.index)
    assert pick(ids, limit=3) == ("t0", "t1", "t2")
    with pytest.raises(InputError):
        pick(ids, limit=0)
