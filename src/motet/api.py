"""The front door for Python and for the command: solve a task, resume a run.

Bad input raises InputError before a run exists; from then on everything that happens ends in a Result, and in the store.
"""

from __future__ import annotations

import asyncio
import contextlib
import platform
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import JsonValue

from motet.errors import InputError, MotetError
from motet.models.model import Model, Price
from motet.models.providers import Models
from motet.runs import sitting as sittings
from motet.runs.budget import Budget
from motet.runs.events import Watcher
from motet.runs.run import ReadDeltas
from motet.settings import Settings, load_settings
from motet.store.store import Store
from motet.system import Configured, Needs, System
from motet.systems import build, describe
from motet.task import Failure, Result, Task
from motet.tools.load import load_tools
from motet.tools.python import PythonTool
from motet.tools.sandbox.probe import require
from motet.tools.tool import Tool
from motet.version import __version__

FORMAT = 1  # of a run's stored config


async def solve(
    task: str | Task,
    *,
    system: str | System = "react",
    budget: Budget | None = None,
    store: str | Store | None = None,
    settings: Settings | None = None,
    price: Price | None = None,
    allow_weak_sandbox: bool = False,
    watchers: Sequence[Watcher] = (),
    read_deltas: ReadDeltas | None = None,
    **config: Any,
) -> Result:
    """Solve ``task`` with ``system`` and return the Result; the whole run is kept in the store.

    ``system`` is a System, or the name of one with its configuration as further keywords (``model="embedded"``, ``tools=["python"]``). ``price`` is for
    models that no price is known for. ``watchers`` hear every event, ``read_deltas`` every piece of text that models stream.

    Raises InputError for bad input, before anything is written; bugs raise too. Models, tools and budgets that fail end in a Result that says so.
    """
    if isinstance(system, str):
        system = build(system, config)
    elif config:
        raise InputError(
            f"{', '.join(sorted(config))}: configuration goes into the system when it is given as an object"
        )
    if isinstance(task, str):
        if not task.strip():
            raise InputError("the task is empty")
        task = Task(question=task)
    async with _house(system, settings, price, allow_weak_sandbox, store) as house:
        needs = await house.preflight(budget)
        written: dict[str, JsonValue] = {
            "format": FORMAT,
            "system": describe(system),
            "budget": (budget or Budget()).model_dump(mode="json", exclude_none=True),
            "price": price.model_dump(mode="json") if price else None,
            "allow_weak_sandbox": allow_weak_sandbox,
            "motet": __version__,
        }
        run_id = await sittings.create(
            house.store,
            kind="solve",
            system=system.name,
            model=", ".join(dict.fromkeys(house.name(model) for model in needs.models)),
            title=task.question,
            config=written,
            tasks=[task],
        )
        return await house.sit(run_id, task, budget=budget, watchers=watchers, read_deltas=read_deltas, assume=None)


async def resume(
    run_id: str,
    *,
    system: System | None = None,
    budget: Budget | None = None,
    assume: Literal["done", "redo"] | None = None,
    store: str | Store | None = None,
    settings: Settings | None = None,
    watchers: Sequence[Watcher] = (),
    read_deltas: ReadDeltas | None = None,
) -> Result:
    """Go on with a run from where it stood; a run that was completed gives its Result again.

    ``budget`` replaces the limits given at the start (what was spent stays spent). ``system`` is needed when the run was given one that cannot be
    built from its stored configuration. ``assume`` says what became of a write that nobody can confirm.

    Raises RunBusy while another process works on the run, and InputError when there is no such run.
    """
    with contextlib.ExitStack() as stack:
        opened = store if isinstance(store, Store) else stack.enter_context(Store.open(store))
        config, tasks = await sittings.read_config(opened, run_id)
        if not isinstance(config, dict) or config.get("format") != FORMAT or len(tasks) != 1:
            raise InputError(f"run {run_id} cannot be resumed by this version of Motet ({__version__})")
        finished = await _finished(opened, run_id)
        if finished is not None:
            return finished
        system = system or _rebuild(run_id, config["system"])
        limits = budget or Budget.model_validate(config["budget"])
        price = Price.model_validate(config["price"]) if config["price"] else None
        async with _house(system, settings, price, bool(config["allow_weak_sandbox"]), opened) as house:
            await house.preflight(limits)
            return await house.sit(
                run_id, tasks[0], budget=limits, watchers=watchers, read_deltas=read_deltas, assume=assume
            )


def run(task: str | Task, **options: Any) -> Result:
    """``solve`` for code without an event loop; takes the same options."""
    return asyncio.run(solve(task, **options))


class _House:
    """What one call of ``solve`` or ``resume`` works with: the store, the models, and how tools are loaded."""

    def __init__(self, system: System, store: Store, models: Models, *, allow_weak_sandbox: bool) -> None:
        self.system = system
        self.store = store
        self.models = models
        self._allow_weak_sandbox = allow_weak_sandbox
        # What the run's first event says about this machine.
        self._facts: dict[str, JsonValue] = {
            "motet": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
        }

    def name(self, model: str | Model) -> str:
        """A model's name for people."""
        return model if isinstance(model, str) else model.info.name

    def load_tools(self, specs: Sequence[str | Tool]) -> tuple[Tool, ...]:
        """Fresh tools."""
        return load_tools(specs, allow_weak_sandbox=self._allow_weak_sandbox)

    async def preflight(self, budget: Budget | None) -> Needs:
        """Check models, keys, prices, tools and the sandbox. Raises InputError."""
        needs = _needs(self.system)
        for model in needs.models:
            found = self.models.get(model) if isinstance(model, str) else model
            if budget is not None and budget.money is not None and found.info.price is None:
                raise InputError(
                    f"a money budget needs a price, and none is known for {found.info.name}: give --price IN,OUT in dollars per million tokens"
                )
            if isinstance(model, str):
                await self.models.preflight(model)
        if any(isinstance(tool, PythonTool) for tool in self.load_tools(needs.tools)):
            report = await asyncio.to_thread(require, allow_weak=self._allow_weak_sandbox)
            self._facts["sandbox"] = report.level
        return needs

    async def sit(
        self,
        run_id: str,
        task: Task,
        *,
        budget: Budget | None,
        watchers: Sequence[Watcher],
        read_deltas: ReadDeltas | None,
        assume: Literal["done", "redo"] | None,
    ) -> Result:
        """One sitting on a run of one task."""
        async with sittings.begin(
            self.store,
            run_id,
            resolve=self.models.get,
            load_tools=self.load_tools,
            budget=budget,
            watchers=watchers,
            read_deltas=read_deltas,
            assume=assume,
            facts=self._facts,
        ) as sitting:
            try:
                result = await sitting.execute(self.system, task)
            except Exception as error:
                with contextlib.suppress(MotetError):
                    await sitting.finish(Result(status="failed", error=Failure.of(error), run_id=run_id))
                raise
            await sitting.finish(result)
            return result


@contextlib.asynccontextmanager
async def _house(
    system: System,
    settings: Settings | None,
    price: Price | None,
    allow_weak_sandbox: bool,
    store: str | Store | None,
) -> AsyncIterator[_House]:
    prices = {name: price for name in _needs(system).models if isinstance(name, str) and price is not None}
    models = Models(settings or load_settings(), prices=prices)
    with contextlib.ExitStack() as stack:
        opened = store if isinstance(store, Store) else stack.enter_context(Store.open(store))
        try:
            yield _House(system, opened, models, allow_weak_sandbox=allow_weak_sandbox)
        finally:
            await models.aclose()


def _needs(system: System) -> Needs:
    return system.needs() if isinstance(system, Configured) else Needs()


async def _finished(store: Store, run_id: str) -> Result | None:
    """The Result of a completed run."""
    import sqlalchemy as sa

    from motet.store.schema import runs
    from motet.store.store import read_blob

    def query(connection: sa.Connection) -> Result | None:
        row = connection.execute(sa.select(runs.c.status, runs.c.result).where(runs.c.id == run_id)).one()
        if row.status != "completed" or row.result is None:
            return None
        return Result.model_validate_json(read_blob(connection, row.result))

    return await store.read(query)


def _rebuild(run_id: str, written: JsonValue) -> System:
    assert isinstance(written, dict)
    config: Mapping[str, object] | None = written["config"]  # type: ignore[assignment]
    if config is None:
        raise InputError(
            f"run {run_id} was given its system as a Python object; resume it from Python: motet.resume({run_id!r}, system=…)"
        )
    return build(str(written["name"]), config)
