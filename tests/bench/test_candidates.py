"""Every candidate that a system offers is judged beside its result, at the judge's cost and apart from the scorers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from motet.bench.benchmark import JUDGE_FAILED, Setting
from motet.bench.plan import Plan, label_systems, open_benchmark
from motet.bench.report import make_report, same_results
from motet.bench.runner import resume_bench, run_bench
from motet.errors import ModelUnavailable
from motet.models.model import Message, Request
from motet.runs.run import Run
from motet.store.schema import calls, scores
from motet.store.store import Store
from motet.system import System
from motet.task import Result, Score, Task
from tests.bench.toys import Sums, add
from tests.runs.desk import Says, ask, done
from tests.worlds.test_shared import MAIL, mail_tool
from tests.worlds.workbench.office import small_office

OFFICE = "tests.bench.test_candidates:Office"
ASKED = "tests.bench.test_candidates:Asked"


class Office(Sums):
    """Right is what was done in a world with exactly two mails sent, by a system that completed."""

    def setting(self, task: Task) -> Setting:
        """A pristine office."""
        return Setting(world=small_office())

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """Look at the world, and at the answer."""
        sent = len(getattr(run.world, "writes", ()))
        right = result.status == "completed" and sent == 2
        other = Score(scorer="sent", value=float(sent), details={"answer": result.answer})
        return (other, Score(scorer="correct", value=float(right), correct=right, details={"why": "it was counted"}))


class Asked(Sums):
    """A judge model is asked, which ``JUDGES`` hands out; what it says is the score."""

    async def score(self, task: Task, result: Result, *, run: Run) -> tuple[Score, ...]:
        """What the judge says, as a number."""
        reply = await run.model(JUDGES[-1], role="judge").reply(ask(f"how good is {result.answer}?"))
        return (Score(scorer="correct", value=float(reply.text)),)


JUDGES: list[Says] = []


class Offers:
    """Offers a candidate with each number of mails in ``counts``, each in a copy of the office, and sends none itself."""

    name = "offers"

    def __init__(self, *counts: int) -> None:
        self.counts = counts

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Make them."""
        for index, count in enumerate(self.counts):
            assert run.world is not None
            world = run.world.fork()
            scope = run.child(f"candidate-{index}", world=world)
            (mail,) = [tool for tool in scope.tools(()) if tool.name == mail_tool(world)]
            for _ in range(count):
                await scope.tool(mail, MAIL)
            status: Any = "completed" if count != 9 else "failed"
            run.offer(str(index), Result(status=status, answer=str(count)), world)
        return done("none")


class Answers:
    """Offers each of ``answers`` and returns the last."""

    name = "answers"

    def __init__(self, *answers: str) -> None:
        self.answers = answers

    async def solve(self, task: Task, *, run: Run) -> Result:
        """Offer them."""
        for index, answer in enumerate(self.answers):
            run.offer(str(index), done(answer))
        return done(self.answers[-1])


@pytest.fixture
def store(home: Path) -> Store:
    """The test's own store."""
    return Store.open(f"sqlite:///{home / 'runs.db'}")


def plan_of(benchmark: str, *systems: System) -> Plan:
    """One task."""
    opened = open_benchmark(benchmark, {"size": 1})
    return Plan(
        benchmark=benchmark,
        options={"size": 1},
        benchmark_version=opened.version,
        systems=label_systems(systems),
        tasks=tuple(task.id for task in opened.tasks()),
    )


def verdicts(store: Store) -> dict[str, tuple[float, bool | None, Any]]:
    """All scores in the store."""
    rows = store.read_now(lambda connection: list(connection.execute(sa.select(scores)).all()))
    return {row.scorer: (row.value, row.correct, json.loads(row.details)) for row in rows}


@pytest.mark.anyio
async def test_each_candidate_is_judged_in_its_own_world(store: Store) -> None:
    """The one that does what is right is right, whatever the result's own verdict; a candidate that failed is judged as one that failed."""
    systems = [Offers(0, 2, 9)]
    plan = plan_of(OFFICE, *systems)
    bench = await run_bench(plan, store=store, systems=systems)
    assert verdicts(store) == {
        "sent": (0.0, None, {"answer": "none"}),
        "correct": (0.0, False, {"why": "it was counted"}),
        "candidate:0": (0.0, False, {}),
        "candidate:1": (1.0, True, {}),
        "candidate:2": (0.0, False, {}),
    }
    report = make_report(store, bench, plan)
    assert set(report.systems[0].scores) == {"correct", "sent"}
    assert report.rows[0].scores["candidate:1"] == 1.0
    assert same_results(report)


@pytest.mark.anyio
async def test_judging_candidates_costs_the_judge_and_not_the_system(store: Store) -> None:
    """Their calls are in the ledger of judging, one for the result and one for each candidate."""
    JUDGES.append(Says(lambda request: "0.5"))
    systems = [Answers("a", "b")]
    plan = plan_of(ASKED, *systems)
    bench = await run_bench(plan, store=store, systems=systems)
    (row,) = make_report(store, bench, plan).systems
    assert row.total.calls == 0
    assert row.judging["judge"].calls == 3
    scopes = store.read_now(lambda connection: connection.execute(sa.select(calls.c.scope)).scalars().all())
    assert sorted(scope.partition("/")[2] for scope in scopes) == [
        "bench:judge",
        "bench:judge/candidate:0",
        "bench:judge/candidate:1",
    ]


@pytest.mark.anyio
async def test_a_judge_that_fails_on_a_candidate_loses_no_cell(store: Store) -> None:
    """The result's verdict and the other candidates' stand; a resume judges the one that is missing, and asks for no other again."""
    broken: list[str] = ["how good is b?"]

    def judge(request: Request) -> str | Exception:
        asked: Sequence[Message] = request.messages
        if asked[-1].content in broken:
            return ModelUnavailable("the judge is out")
        return "0.5"

    JUDGES.append(Says(judge))
    systems = [Answers("a", "b", "c")]
    plan = plan_of(ASKED, *systems)
    bench = await run_bench(plan, store=store, systems=systems)
    found = verdicts(store)
    assert found["candidate:1"] == (0.0, None, {JUDGE_FAILED: "the judge is out"})
    assert [found[name][0] for name in ("correct", "candidate:0", "candidate:2")] == [0.5] * 3
    assert make_report(store, bench, plan).rows[0].status == "completed"
    broken.clear()
    JUDGES[-1].requests.clear()
    await resume_bench(bench, store=store, systems=systems)
    assert verdicts(store)["candidate:1"] == (0.5, None, {})
    assert [request.messages[-1].content for request in JUDGES[-1].requests] == ["how good is b?"]


@pytest.mark.anyio
async def test_a_system_that_offers_nothing_has_no_candidates(store: Store) -> None:
    """Its scores are the benchmark's alone."""

    class Adds:
        name = "adds"

        async def solve(self, task: Task, *, run: Run) -> Result:
            return done(str(add(task.question)))

    systems = [Adds()]
    await run_bench(plan_of("tests.bench.toys:Sums", *systems), store=store, systems=systems)
    assert verdicts(store) == {"correct": (1.0, True, {})}
