"""Scores a result by a benchmark as a bench does, with judges that a test scripts."""

from __future__ import annotations

import asyncio

from motet.bench.benchmark import Benchmark
from motet.errors import InputError
from motet.models.model import Model
from motet.runs import sitting as sittings
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Score, Task
from motet.tools.load import load_tools
from tests.runs.desk import Does, done, new_run

Scored = dict[str, Score]


def scored(
    store: Store, benchmark: Benchmark, result: Result, *, task_id: str, judges: tuple[Model, ...] = ()
) -> Scored:
    """The scores of ``result`` by scorer, in a real run. ``judges`` are known by their own names."""
    task = next(task for task in benchmark.tasks() if task.id == task_id)
    found: list[Score] = []

    async def work(task: Task, run: Run) -> Result:
        found.extend(await benchmark.score(task, result, run=run.child("judge")))
        return done("x")

    async def main() -> None:
        run_id = await new_run(store, task)
        async with sittings.begin(store, run_id, resolve=_Known(judges), load_tools=load_tools) as sitting:
            await sitting.finish(await sitting.execute(Does(work), task))

    asyncio.run(main())
    return {score.scorer: score for score in found}


class _Known:
    """Finds a judge by its name."""

    def __init__(self, judges: tuple[Model, ...]) -> None:
        self._judges = {judge.info.name: judge for judge in judges}

    def __call__(self, name: str) -> Model:
        if name not in self._judges:
            raise InputError(f"unknown model {name!r}")
        return self._judges[name]
