"""What a bench will cost, before it is begun: from what the same system has cost on the same benchmark, else from its limits."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from motet.agent.react import React
from motet.bench.benchmark import Benchmark
from motet.bench.plan import Plan
from motet.bench.runner import JUDGE
from motet.models.model import Message, Price, Request, estimate_tokens
from motet.runs.workplace import names_of, needs_of
from motet.store.schema import calls, runs
from motet.store.store import Store
from motet.system import System
from motet.task import Task
from motet.tools.tool import spec
from motet.usage import Usage
from motet.value import Value


class Forecast(Value):
    """What one system's cells will cost together, judging apart. ``basis`` says how it is known: ``history`` of ``seen`` cells, or ``limits``: as many steps
    and as long replies as its configuration and the budget of a task allow, without its instructions and what tools return. Money is ``None`` without a price.
    """

    label: str
    cells: int
    basis: str
    seen: int
    calls: int | None
    tokens: int | None
    money: float | None


def forecast(
    store: Store,
    plan: Plan,
    systems: Mapping[str, System],
    benchmark: Benchmark,
    tasks: Mapping[str, Task],
    price: Mapping[str, Price | None],
) -> list[Forecast]:
    """A forecast for each system. ``price`` is by system label."""
    cells = plan.epochs * len(plan.tasks)
    found = []
    for label, system in systems.items():
        seen, per_cell = _history(store, plan.benchmark, label, names_of(needs_of(system)))
        if seen:
            usage = Usage(prompt=round(per_cell[1] * cells), completion=round(per_cell[2] * cells))
            count: int | None = round(per_cell[0] * cells)
            basis = "history"
        else:
            count, usage = _limits(system, benchmark, tasks, plan)
            basis = "limits"
        known = price.get(label)
        money = 0.0 if count == 0 else known.of(usage) if known is not None else None
        found.append(
            Forecast(label=label, cells=cells, basis=basis, seen=seen, calls=count, tokens=usage.tokens, money=money)
        )
    return found


def _history(store: Store, benchmark: str, system: str, model: str) -> tuple[int, tuple[float, float, float]]:
    """How many cells of this benchmark, system and model have ended, and their mean calls, prompt and completion tokens."""
    parent = runs.alias()
    cells = (
        sa.select(runs.c.id)
        .join(parent, parent.c.id == runs.c.parent)
        .where(
            parent.c.title.startswith(f"{benchmark}:", autoescape=True),
            runs.c.system == system,
            runs.c.model == model,
            runs.c.status == "completed",
        )
    )
    sums = sa.select(
        sa.func.count(),
        sa.func.coalesce(sa.func.sum(calls.c.prompt), 0),
        sa.func.coalesce(sa.func.sum(calls.c.completion), 0),
    ).where(calls.c.run_id.in_(cells), calls.c.kind == "model", ~calls.c.scope.contains(f"/{JUDGE}"))

    def query(connection: sa.Connection) -> tuple[int, tuple[float, float, float]]:
        seen = connection.execute(sa.select(sa.func.count()).select_from(cells.subquery())).scalar_one()
        count, prompt, completion = connection.execute(sums).one()
        return seen, (count / seen, prompt / seen, completion / seen) if seen else (0.0, 0.0, 0.0)

    return store.read_now(query)


def _limits(system: System, benchmark: Benchmark, tasks: Mapping[str, Task], plan: Plan) -> tuple[int | None, Usage]:
    """What a single agent spends if it uses its limits up; unknown for teams and for systems of one's own."""
    if not needs_of(system).models:
        return 0, Usage(prompt=0, completion=0)
    if not isinstance(system, React):
        return None, Usage()
    steps, reply = min(system.max_steps, plan.budget.calls or system.max_steps), system.max_tokens
    prompt = completion = 0
    for task in tasks.values():
        world = benchmark.setting(task).world
        tools = tuple(spec(tool) for tool in world.tools()) if world is not None else ()
        question = (Message(role="user", content=task.question),)
        first = estimate_tokens(Request(messages=question, tools=tools, max_tokens=1))
        # Each step is shown the replies of those before it.
        own = Usage(prompt=steps * first + reply * steps * (steps - 1) // 2, completion=steps * reply)
        assert own.prompt is not None
        assert own.completion is not None
        allowed = plan.budget.tokens
        share = min(1.0, allowed / (own.prompt + own.completion)) if allowed is not None else 1.0
        prompt += round(own.prompt * share)
        completion += round(own.completion * share)
    return steps * len(tasks) * plan.epochs, Usage(prompt=prompt * plan.epochs, completion=completion * plan.epochs)
