"""WorkBench as a benchmark: its tasks, its floors, its right answers, and runs that were cut short."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from motet.agent.react import React
from motet.baselines.noop import Noop
from motet.bench.plan import Plan, label_systems, open_benchmark
from motet.bench.report import make_report, same_results
from motet.bench.runner import resume_bench, run_bench
from motet.bench.workbench import WorkBench
from motet.errors import InputError
from motet.models.model import Request, ToolCall
from motet.models.scripted import ScriptedModel, Turn
from motet.settings import Provider, Settings
from motet.store.store import Store
from motet.system import System
from motet.testing import ModelServer
from motet.worlds.workbench import WorkBenchWorld
from motet.worlds.workbench.actions import read_action
from motet.worlds.workbench.tables import Dialect
from tests.worlds.workbench.office import needs_files, tool_of


def score(benchmark: WorkBench, task_id: str, world: WorkBenchWorld) -> dict[str, float]:
    """The scores of what was done in ``world``."""
    expected: JsonValue = {
        "actions": list(benchmark.question(task_id).actions),
        "plot_end_date": benchmark.plot_end_date,
    }
    return {score.scorer: score.value for score in world.score(expected)}


@needs_files
def test_there_are_690_tasks_from_69_templates_and_130_of_the_paper() -> None:
    """Ids are domain and row; a question says what day it is; near-copies share a cluster; no right answer is in a task."""
    tasks = WorkBench().tasks()
    assert (len(tasks), len({task.id for task in tasks}), len({task.cluster for task in tasks})) == (690, 690, 69)
    assert tasks[0].id == "analytics#0000"
    assert tasks[0].question.startswith("Today's date is Thursday, 2023-11-30 and the current time is 00:00:00.")
    assert not any(".func(" in task.model_dump_json() for task in tasks)
    paper = WorkBench(subset="paper130").tasks()
    assert (len(paper), len({task.cluster for task in paper})) == (130, 13)
    assert {task.id for task in paper} < {task.id for task in tasks}


@needs_files
def test_doing_nothing_solves_124_of_690_and_25_of_130() -> None:
    """18.0 % and 19.2 %. In 122 tasks (17.7 %) nothing is to be done; in two more the right call writes what is there already, and the benchmark's own verdicts
    count a recorded run without any call as correct there.
    """
    for benchmark, solved, idle in (
        (WorkBench(), 124, 122),
        (WorkBench(dialect="2026"), 124, 122),
        (WorkBench(subset="paper130"), 25, 25),
    ):
        world = WorkBenchWorld(dialect=benchmark.dialect)
        tasks = benchmark.tasks()
        right = {task.id for task in tasks if score(benchmark, task.id, world)["correct"]}
        asked_nothing = {task.id for task in tasks if not benchmark.question(task.id).actions}
        assert (len(right), len(asked_nothing)) == (solved, idle)
        assert right - asked_nothing <= {"customer_relationship_manager#0031", "customer_relationship_manager#0032"}


@needs_files
@pytest.mark.parametrize("dialect", ["2024", "2026"])
def test_doing_what_is_right_solves_every_task(dialect: Dialect) -> None:
    """Through the live tools, in both dialects; and the calls run again lead to the state that was left."""
    benchmark = WorkBench(dialect=dialect)
    pristine = WorkBenchWorld(dialect=dialect)
    for task in benchmark.tasks():
        world = pristine.fork()
        for action in benchmark.question(task.id).actions:
            call = read_action(action)
            assert not tool_of(world, call.tool.removesuffix(".func")).call(call.named).error
        assert score(benchmark, task.id, world) == {"correct": 1, "no_side_effects": 1, "exact_match": 1}, task.id


def test_the_papers_tasks_are_scored_in_its_dialect_unless_told_otherwise() -> None:
    """Options that do not fit together are refused; published figures belong to the tasks and the dialect."""
    assert WorkBench(subset="paper130").dialect == "2026"
    assert WorkBench(subset="paper130", dialect="2024").dialect == "2024"
    assert WorkBench().dialect == "2024"
    assert WorkBench(subset="paper130").paper["inherit"]["correct"] == 0.554
    assert "react" not in WorkBench().paper
    with pytest.raises(ValidationError, match="dialect=2026"):
        WorkBench(plot_end_date=True)
    versions = {WorkBench(), WorkBench(dialect="2026"), WorkBench(dialect="2026", plot_end_date=True)}
    assert len({benchmark.version for benchmark in versions}) == 3


def test_missing_and_changed_files_are_named_with_the_way_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No variable, no folder, no file, another file: one line each."""
    monkeypatch.delenv("MOTET_DATA_DIR", raising=False)
    with pytest.raises(InputError, match=r"MOTET_DATA_DIR is not set; get them with `git clone"):
        WorkBench().tasks()
    monkeypatch.setenv("MOTET_DATA_DIR", str(tmp_path))
    with pytest.raises(InputError, match=r"workbench is not there; get them with"):
        WorkBench().tasks()
    folder = tmp_path / "workbench" / "processed" / "queries_and_answers"
    folder.mkdir(parents=True)
    with pytest.raises(InputError, match=r"analytics_queries_and_answers.csv cannot be read .*under data/ of https"):
        WorkBench().tasks()
    (folder / "analytics_queries_and_answers.csv").write_text("task,outcome\n")
    with pytest.raises(InputError, match=r"is not the published file: its SHA-256 begins with"):
        WorkBench().tasks()


@needs_files
def test_a_task_that_does_not_exist_is_named_with_the_nearest() -> None:
    """As for any other name."""
    with pytest.raises(InputError, match=r"no task 'email#090'; did you mean 'email#0"):
        WorkBench().question("email#090")


# Whole benches


def plan_of(*systems: System, tasks: list[str], **options: JsonValue) -> Plan:
    """A bench on ``tasks``."""
    benchmark = open_benchmark("workbench", options)
    return Plan(
        benchmark="workbench",
        options=options,
        benchmark_version=benchmark.version,
        systems=label_systems(systems),
        tasks=tuple(tasks),
    )


def desk(server: ModelServer) -> Settings:
    """Settings in which ``desk:clerk`` is asked at ``server``."""
    return Settings(providers={"desk": Provider(base_url=server.base_url)})


def clerk(request: Request) -> Turn | str:
    """Do what is right, a call a turn, by what was asked; then say so."""
    benchmark = WorkBench()
    asked = request.messages[1].content
    (question,) = [one for one in map(benchmark.question, WORK) if one.query in asked]
    done = sum(message.role == "tool" for message in request.messages)
    if done == len(question.actions):
        return "It is done."
    call = read_action(question.actions[done])
    name = call.tool.removesuffix(".func").replace(".", "_")
    return Turn(tool_calls=(ToolCall(id=f"c{done}", name=name, arguments=json.dumps(call.named)),))


# With 1, 2, 6, 0, 1, 2 and 3 writes.
WORK = [
    "email#0000",
    "calendar#0012",
    "multi_domain#0201",
    "analytics#0100",
    "customer_relationship_manager#0000",
    "email#0085",
    "project_management#0055",
]


@pytest.fixture
def store(home: Path) -> Store:
    """The test's own store."""
    return Store.open(f"sqlite:///{home / 'runs.db'}")


@needs_files
@pytest.mark.anyio
async def test_a_bench_of_the_papers_tasks_prints_the_floor(store: Store) -> None:
    """The system that does nothing, through the whole path: 25 of 130, in 13 clusters."""
    tasks = [task.id for task in WorkBench(subset="paper130").tasks()]
    plan = plan_of(Noop(), tasks=tasks, subset="paper130")
    report = make_report(store, await run_bench(plan, store=store), plan)
    scores = report.systems[0].scores
    assert scores["correct"].value == pytest.approx(25 / 130)
    assert (scores["correct"].n, scores["correct"].clusters) == (130, 13)
    assert scores["no_side_effects"].value == 1
    store.close()


@needs_files
@pytest.mark.anyio
async def test_an_agent_that_does_what_is_right_is_right_also_when_it_is_cut_short(store: Store) -> None:
    """Stopped between the writes of a task and resumed, it ends in the same state; the writes are done again, the replies are not paid again."""
    stop_at = [9]
    served = 0

    def watched(request: Request) -> Turn | str:
        nonlocal served
        served += 1
        if served in stop_at:
            worker.cancel()
        return clerk(request)

    async with ModelServer(ScriptedModel("clerk", watched)) as server:
        plan = plan_of(React(model="desk:clerk"), tasks=WORK)
        ids: list[str] = []
        worker = asyncio.ensure_future(
            run_bench(plan, store=store, settings=desk(server), parallel=1, started=ids.append)
        )
        with pytest.raises(asyncio.CancelledError):
            await worker
        assert 0 < make_report(store, ids[0], plan).ended < len(WORK)
        await resume_bench(ids[0], store=store, settings=desk(server))
        whole = make_report(store, ids[0], plan)
        replies = served  # at most one, which was on its way at the stop, is asked for again
        calm = make_report(store, await run_bench(plan, store=store, settings=desk(server)), plan)
    assert {name: estimate.value for name, estimate in whole.systems[0].scores.items()} == {
        "correct": 1,
        "no_side_effects": 1,
        "exact_match": 1,
    }
    assert same_results(whole) == same_results(calm)
    assert replies <= served - replies + 1
    store.close()
