"""Forecasts: what is known of earlier cells, else what the limits allow, and never a guess that looks like knowledge."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.agent.react import React
from motet.baselines.noop import Noop
from motet.bench.forecast import Forecast, forecast
from motet.bench.plan import Plan, build_systems, open_benchmark
from motet.bench.report import make_report
from motet.bench.runner import chosen_tasks, run_bench
from motet.models.model import Price
from motet.models.scripted import ScriptedModel
from motet.runs.budget import Budget
from motet.store.store import Store
from motet.testing import ModelServer
from tests.bench.test_runner import desk, plan_of
from tests.bench.toys import Buggy, reckoner


@pytest.fixture
def store(home: Path) -> Store:
    """The test's own store."""
    return Store.open(f"sqlite:///{home / 'runs.db'}")


def expected(store: Store, plan: Plan, **prices: Price) -> list[Forecast]:
    """The forecast of ``plan``."""
    benchmark = open_benchmark(plan.benchmark, plan.options)
    return forecast(store, plan, build_systems(plan), benchmark, chosen_tasks(benchmark, plan.tasks), prices)


@pytest.mark.anyio
async def test_the_same_bench_again_costs_what_it_cost(store: Store) -> None:
    """From earlier cells of system, model and benchmark; twice the tasks cost twice as much."""
    plan = plan_of(React(model="desk:reckoner"), Noop())
    async with ModelServer(ScriptedModel("reckoner", reckoner)) as server:
        bench = await run_bench(plan, store=store, settings=desk(server))
    total = make_report(store, bench, plan).systems[0].total
    react, noop = expected(store, plan, react=Price(prompt=1.0, completion=2.0))
    assert (react.basis, react.seen, react.calls, react.tokens) == ("history", 6, total.calls, total.tokens)
    assert react.money == pytest.approx((total.prompt + 2 * total.completion) / 1e6)
    assert (noop.calls, noop.tokens, noop.money) == (0, 0, 0.0)
    assert expected(store, plan.model_copy(update={"epochs": 2}))[0].calls == 2 * total.calls
    # Another model's history says nothing.
    assert expected(store, plan_of(React(model="desk:other")))[0].basis == "limits"
    store.close()


def test_without_history_the_limits_are_the_forecast(store: Store) -> None:
    """Steps and reply lengths bound an agent, and so does the budget of a task; nothing is known of other systems' calls."""
    plan = plan_of(React(model="desk:reckoner", max_steps=4, max_tokens=100))
    (free,) = expected(store, plan)
    assert (free.basis, free.seen, free.calls) == ("limits", 0, 24)
    assert free.tokens is not None
    assert free.tokens > 24 * 100
    (few,) = expected(store, plan.model_copy(update={"budget": Budget(calls=2)}))
    (cheap,) = expected(store, plan.model_copy(update={"budget": Budget(tokens=50)}))
    assert few.calls == 12
    assert cheap.tokens is not None
    assert cheap.tokens <= 6 * 50 + 6
    assert expected(store, plan_of(Buggy()))[0].calls == 0
    store.close()
