"""The report: every cell counts, on the tasks that are shared, with its evidence beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.agent.react import React
from motet.baselines.noop import Noop
from motet.bench.benchmark import Setting
from motet.bench.plan import draw_up
from motet.bench.report import as_json, make_report
from motet.bench.runner import Done, resume_bench, run_bench
from motet.bench.scoring.statistics import estimate, paired_difference
from motet.errors import InputError
from motet.models.model import Message, Request
from motet.models.scripted import ScriptedModel
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.store.store import Store
from motet.system import Needs
from motet.task import Result, Score, Task
from motet.testing import Faults, ModelServer
from tests.bench.test_runner import SUMS, desk, plan_of
from tests.bench.toys import Buggy, Sums, reckoner


class Judged(Sums):
    """Sums that a model judges."""

    def needs(self) -> Needs:
        """The judge."""
        return Needs(models=("desk:reckoner",))

    def setting(self, task: Task) -> Setting:
        """Nothing but the question."""
        return Setting()

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Ask another model for the sum."""
        model = run.model("desk:reckoner", role="judge")
        reply = await model.reply(Request(messages=(Message(role="user", content=task.question),), max_tokens=20))
        return (Score(scorer="correct", value=float(reply.text == result.answer)),)


@pytest.fixture
def store(home: Path) -> Store:
    """The test's own store."""
    return Store.open(f"sqlite:///{home / 'runs.db'}")


@pytest.mark.anyio
async def test_figures_are_those_of_the_rows(store: Store) -> None:
    """Scores, differences, tokens and counts are what anybody computes from the report's own rows, clusters and epochs respected."""
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        plan = plan_of(React(model="desk:reckoner"), Noop(), size=10, epochs=2)
        bench = await run_bench(plan, store=store, settings=desk(server))
    report = make_report(store, bench, plan)
    react, noop = ([row for row in report.rows if row.label == label] for label in ("react", "noop"))
    for system, rows in zip(report.systems, (react, noop), strict=True):
        values = [row.scores["correct"] for row in rows]
        assert system.scores["correct"] == estimate(values, clusters=[row.cluster for row in rows])
        assert system.scores["correct"].method in ("cluster bootstrap", "wilson over clusters")
        assert system.total.tokens == sum(row.tokens for row in rows)
        assert system.ended == len(rows) == 20
    ours, theirs = ({(row.task_id, row.epoch): row for row in rows} for rows in (react, noop))
    pairs = sorted(ours, key=lambda pair: f"{pair[0]}/{pair[1]}")
    assert report.systems[1].difference == paired_difference(
        [ours[pair].scores["correct"] for pair in pairs],
        [theirs[pair].scores["correct"] for pair in pairs],
        clusters=[ours[pair].cluster for pair in pairs],
    )
    assert report.systems[0].difference is None
    assert report.published == {"react": {"correct": 0.5}}
    assert report.notes == ()
    body = json.loads(json.dumps(as_json(report)))
    assert body["systems"][0]["scores"]["correct"]["clusters"] == 5
    assert body["plan"]["tasks"] == list(plan.tasks)
    assert len(body["rows"]) == 40
    store.close()


@pytest.mark.anyio
async def test_a_failed_cell_counts_as_wrong_and_is_named(store: Store) -> None:
    """It lowers the score, is in n and in the difference, and the report says so."""
    plan = plan_of(Noop(), Buggy())
    bench = await run_bench(plan, store=store, systems=[Noop(), Buggy()])
    report = make_report(store, bench, plan)
    buggy = report.systems[1]
    assert buggy.statuses == {"completed": 5, "failed": 1}
    assert buggy.scores["correct"].n == 6
    assert buggy.difference is not None
    assert buggy.difference.n == 6
    assert any("buggy: 1 of 6 cells failed" in note for note in report.notes)
    store.close()


@pytest.mark.anyio
async def test_what_is_compared_is_shared_and_what_is_not_alike_is_said(store: Store) -> None:
    """Of a bench cut short the difference is over tasks that both ended; other settings for one of the systems are pointed out."""
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        systems = [React(model="desk:reckoner"), React(model="desk:reckoner", max_steps=2)]
        plan = plan_of(*systems, total=Budget(calls=3))
        bench = await run_bench(plan, store=store, settings=desk(server), parallel=1)
    report = make_report(store, bench, plan)
    assert (report.status, [system.ended for system in report.systems]) == ("budget", [2, 1])
    assert report.systems[1].difference is not None
    assert report.systems[1].difference.n == 1
    assert "the systems do not have the same max_steps: react 12, react-2 2" in report.notes
    assert any("react 2, react-2 1" in note for note in report.notes)
    store.close()


@pytest.mark.anyio
async def test_a_bench_goes_on_with_a_higher_total(store: Store) -> None:
    """What stopped it is the bench's own limit; with another it ends, and once it has, resuming changes nothing."""
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        plan = plan_of(React(model="desk:reckoner"), total=Budget(calls=2))
        bench = await run_bench(plan, store=store, settings=desk(server), parallel=1)
        await resume_bench(bench, store=store, settings=desk(server))
        assert (make_report(store, bench, plan).status, len(server.served)) == ("budget", 2)
        await resume_bench(bench, store=store, settings=desk(server), total=Budget(calls=100))
        assert len(server.served) == 6
    report = make_report(store, bench, plan)
    assert report.status == "completed"
    heard: list[Done] = []
    # The model is gone, and nobody asks for it.
    await resume_bench(bench, store=store, tell=heard.append)
    assert heard == []
    assert make_report(store, bench, plan) == report
    store.close()


@pytest.mark.anyio
async def test_judges_are_not_the_systems_cost(store: Store) -> None:
    """What judging costs is told apart: not in the system's tokens, and not against the budget of a task."""
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        plan = draw_up(
            "tests.bench.test_report:Judged", [React(model="desk:reckoner"), Noop()], limit=4, budget=Budget(calls=1)
        )
        bench = await run_bench(plan, store=store, settings=desk(server))
    react, noop = make_report(store, bench, plan).systems
    assert (react.total.calls, list(react.roles)) == (4, ["agent"])
    assert (noop.total.calls, noop.roles) == (0, {})
    assert react.judging["judge"].calls == noop.judging["judge"].calls == 4
    assert react.scores["correct"].value == 1.0
    store.close()


@pytest.mark.anyio
async def test_attempts_that_may_have_been_billed_are_in_the_report(store: Store) -> None:
    """Failed attempts count as failed calls of unknown usage, as in the ledger of each cell; what cost nothing is not counted."""
    async with ModelServer(ScriptedModel("reckoner", reckoner), faults=Faults.mixed(0.4, seed=5)) as server:
        plan = plan_of(React(model="desk:reckoner"), size=8)
        bench = await run_bench(plan, store=store, settings=desk(server))
        failed = len(server.served) - 8
    total = make_report(store, bench, plan).systems[0].total
    assert total.calls - total.failed == 8
    assert 0 < total.failed <= failed
    assert total.unknown == total.failed
    store.close()


@pytest.mark.anyio
async def test_bad_plans_are_refused_before_anything_is_written(store: Store) -> None:
    """A changed benchmark and a money budget without a price leave no run behind."""
    plan = plan_of(Noop())
    with pytest.raises(InputError, match="begin a new bench"):
        await run_bench(plan.model_copy(update={"options": {"edition": "2"}}), store=store)
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        priceless = draw_up(SUMS, [React(model="desk:reckoner")], total=Budget(money=1.0))
        with pytest.raises(InputError, match="needs a price"):
            await run_bench(priceless, store=store, settings=desk(server))
    assert store.read_now(lambda connection: connection.exec_driver_sql("SELECT count(*) FROM runs").scalar()) == 0
    store.close()
