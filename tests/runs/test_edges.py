"""The edges of a run: work that ends in odd ways, outlives its run, or takes too long."""

from __future__ import annotations

import asyncio

import pytest

from motet.errors import BudgetExceeded, RunError
from motet.models.model import Model
from motet.runs.budget import Budget
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Task
from motet.tools.function import FunctionTool
from tests.runs.desk import TASK, Does, Says, ask, done, echo, go, new_run, rows, sit, work_once


async def cancelled_inside() -> str:
    """Wait for something that was cancelled."""
    inner = asyncio.ensure_future(asyncio.sleep(60))
    inner.cancel()
    await inner
    return "never"


def test_a_tool_that_lets_a_cancellation_out_has_failed(store: Store) -> None:
    """Nobody cancelled the agent, so it goes on with an observation that says what happened."""

    async def leaky() -> str:
        """Wait in vain."""
        return await cancelled_inside()

    async def work(_task: Task, run: Run) -> Result:
        seen = await run.tool(FunctionTool(leaky, version="1"), {})
        return done(f"{seen.error} {seen.text}")

    async def main() -> Result:
        return await work_once(store, await new_run(store, TASK), work)

    result = go(main())
    assert result.status == "completed"
    assert result.answer is not None
    assert result.answer.startswith("True leaky failed")


def test_a_system_that_lets_a_cancellation_out_is_a_bug_and_no_interruption(store: Store) -> None:
    """It raises as what it is, and the run is recorded as failed."""

    async def work(_task: Task, _run: Run) -> Result:
        return done(await cancelled_inside())

    async def main() -> str:
        run_id = await new_run(store, TASK)
        with pytest.raises(RuntimeError, match="nobody had asked for"):
            await work_once(store, run_id, work)
        return run_id

    go(main())


def test_work_that_outlives_its_run_spends_nothing(store: Store) -> None:
    """After the run has ended its scopes take no further answers, and its ledger stays what it says."""
    model = Says(echo)
    kept: list[Model] = []

    async def work(_task: Task, run: Run) -> Result:
        kept.append(run.model(model, role="late"))
        await kept[0].reply(ask("in time"))
        return done("that was it")

    async def main() -> None:
        run_id = await new_run(store, TASK)
        async with sit(store, run_id) as sitting:
            await sitting.finish(await sitting.execute(Does(work), TASK))
        with pytest.raises(RunError, match="has ended"):
            await kept[0].reply(ask("too late"))
        assert len(rows(store, run_id)) == len(model.requests) == 1

    go(main())


def test_the_time_of_a_part_of_a_run_is_a_budget_too(store: Store) -> None:
    """Once it is used up, no further call is made there; the rest of the run goes on."""
    model = Says(echo)

    async def work(_task: Task, run: Run) -> Result:
        part = run.child("part", budget=Budget(seconds=0.05))
        asked = part.model(model, role="part")
        await asked.reply(ask("first"))
        await asyncio.sleep(0.06)
        with pytest.raises(BudgetExceeded, match="time budget of task/part"):
            await asked.reply(ask("second"))
        return done((await run.model(model, role="rest").reply(ask("on"))).text)

    async def main() -> Result:
        return await work_once(store, await new_run(store, TASK), work)

    assert go(main()).answer == "echo on"
    assert len(model.requests) == 2
