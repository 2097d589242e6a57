"""The front door for Python and for the command: solve a task, resume a run.

Bad input raises InputError before a run exists; from then on everything that happens ends in a Result, and in the store.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import sqlalchemy as sa
from pydantic import JsonValue

from motet.canonical import clean_text
from motet.errors import InputError
from motet.models.model import Price
from motet.runs import sitting as sittings
from motet.runs.budget import Budget
from motet.runs.events import Watcher
from motet.runs.run import Approve, ReadDeltas
from motet.runs.workplace import names_of, needs_of, open_workplace
from motet.settings import Settings
from motet.store.schema import runs
from motet.store.store import Store, read_blob
from motet.system import System
from motet.systems import build, describe
from motet.task import Result, Task
from motet.version import __version__
from motet.worlds.load import open_world
from motet.worlds.world import World

FORMAT = 1  # of a run's stored config


async def solve(
    task: str | Task,
    *,
    system: str | System = "react",
    world: str | World | None = None,
    budget: Budget | None = None,
    store: str | Store | None = None,
    settings: Settings | None = None,
    price: Price | None = None,
    allow_weak_sandbox: bool = False,
    watchers: Sequence[Watcher] = (),
    read_deltas: ReadDeltas | None = None,
    approve: Approve = None,
    kind: str = "solve",
    **config: Any,
) -> Result:
    """Solve ``task`` with ``system`` and return the Result; the whole run is kept in the store.

    ``system`` is a System, or the name of one with its configuration as further keywords (``model="embedded"``, ``tools=["python"]``). ``world`` is the World
    that it works in, or a ``module:Class`` that makes one. ``kind`` is what the run is listed as. ``price`` is for models that no price is known for. ``watchers`` hear every event, ``read_deltas`` every piece of text that models stream.
    ``approve`` says whether a team's plan of writes that act outside may be carried out: ``True``, ``False``, or a function of the plan; without it none is, and the run is left to be resumed.

    Raises InputError for bad input, before anything is written; bugs raise too. Models, tools and budgets that fail end in a Result that says so.
    """
    if isinstance(system, str):
        system = build(system, config)
    elif config:
        raise InputError(
            f"{', '.join(sorted(config))}: configuration goes into the system when it is given as an object"
        )
    _check_system(system)
    if not isinstance(task, str | Task):
        raise InputError(f"a task is a text or a motet.Task, not {type(task).__name__}")
    if budget is not None and not isinstance(budget, Budget):
        raise InputError(
            f"a budget is a motet.Budget, such as motet.Budget(tokens=50_000), not {type(budget).__name__}"
        )
    _check_approve(approve)
    if isinstance(task, str):
        if not task.strip():
            raise InputError("the task is empty")
        task = Task(question=clean_text(task))
    needs = needs_of(system)
    given = open_world(world)
    async with open_workplace(
        store, settings=settings, prices=_prices(system, price), allow_weak_sandbox=allow_weak_sandbox
    ) as place:
        await place.preflight(needs, budget=budget)
        written: dict[str, JsonValue] = {
            "format": FORMAT,
            "system": describe(system),
            "world": {"name": world if isinstance(world, str) else None, "given": world is not None},
            "budget": (budget or Budget()).model_dump(mode="json", exclude_none=True),
            "price": price.model_dump(mode="json") if price else None,
            "allow_weak_sandbox": allow_weak_sandbox,
            "motet": __version__,
        }
        run_id = await sittings.create(
            place.store,
            kind=kind,
            system=system.name,
            model=names_of(needs),
            title=task.question,
            config=written,
            tasks=[task],
        )
        return await place.sit(
            run_id,
            system,
            task,
            world=given,
            budget=budget,
            watchers=watchers,
            read_deltas=read_deltas,
            approve=approve,
        )


async def resume(
    run_id: str,
    *,
    system: System | None = None,
    world: World | None = None,
    budget: Budget | None = None,
    price: Price | None = None,
    assume: Literal["done", "redo"] | None = None,
    store: str | Store | None = None,
    settings: Settings | None = None,
    watchers: Sequence[Watcher] = (),
    read_deltas: ReadDeltas | None = None,
    approve: Approve = None,
) -> Result:
    """Go on with a run from where it stood; a run that was completed gives its Result again.

    ``budget`` replaces the limits given at the start (what was spent stays spent). ``system`` and ``world`` are needed when the run was given
    objects that cannot be made again from its stored configuration. ``price`` replaces the one given at the start. ``assume`` says what became of a write that nobody can confirm, ``approve`` as in ``solve`` whether
    a plan of writes may be carried out.

    Raises RunBusy while another process works on the run, and InputError when there is no such run, or no time left in its budget.
    """
    _check_approve(approve)
    with contextlib.ExitStack() as stack:
        opened = store if isinstance(store, Store) else stack.enter_context(Store.open(store))
        config, tasks = await sittings.read_config(opened, run_id)
        if not isinstance(config, dict) or config.get("format") != FORMAT or len(tasks) != 1:
            raise InputError(f"run {run_id} cannot be resumed by this version of Motet ({__version__})")
        finished = await finished_result(opened, run_id)
        if finished is not None:
            return finished
        system = system or _rebuild(run_id, config["system"])
        world = world or _world_again(run_id, config["world"])
        _check_system(system)
        limits = budget or Budget.model_validate(config["budget"])
        await _check_time(opened, run_id, limits)
        if price is None and config["price"]:
            price = Price.model_validate(config["price"])
        async with open_workplace(
            opened,
            settings=settings,
            prices=_prices(system, price),
            allow_weak_sandbox=bool(config["allow_weak_sandbox"]),
        ) as place:
            await place.preflight(needs_of(system), budget=limits)
            return await place.sit(
                run_id,
                system,
                tasks[0],
                world=world,
                budget=limits,
                watchers=watchers,
                read_deltas=read_deltas,
                assume=assume,
                approve=approve,
            )


def run(task: str | Task, **options: Any) -> Result:
    """``solve`` for code without an event loop; takes the same options. Raises InputError where a loop is running."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise InputError(
            "motet.run cannot be called while an event loop runs, as in a notebook: await motet.solve(…) instead"
        )
    return asyncio.run(solve(task, **options))


async def finished_result(store: Store, run_id: str) -> Result | None:
    """The Result of a completed run; ``None`` for any other."""

    def query(connection: sa.Connection) -> Result | None:
        row = connection.execute(sa.select(runs.c.status, runs.c.result).where(runs.c.id == run_id)).first()
        if row is None or row.status != "completed" or row.result is None:
            return None
        return Result.model_validate_json(read_blob(connection, row.result))

    return await store.read(query)


def _check_system(system: object) -> None:
    if isinstance(system, type):
        raise InputError(f"the system is the class {system.__name__}; give an instance of it: {system.__name__}(…)")
    if not isinstance(system, System):
        raise InputError(f"{type(system).__name__} is no System: it needs a name and an async solve(task, *, run)")


def _check_approve(approve: object) -> None:
    if approve is not None and not isinstance(approve, bool) and not callable(approve):
        raise InputError(f"approve is True, False or a function of the plan, not {type(approve).__name__}")


async def _check_time(store: Store, run_id: str, limits: Budget) -> None:
    """Refuse a sitting that would be over before it read back what is there already, and lose the best answer so far."""
    worked: float = await store.read(
        lambda connection: connection.execute(sa.select(runs.c.elapsed).where(runs.c.id == run_id)).scalar_one()
    )
    if limits.seconds is not None and worked >= limits.seconds:
        raise InputError(
            f"run {run_id} has worked for {worked:.1f} of its {limits.seconds:g} seconds; resume it with a larger budget of seconds"
        )


def _prices(system: System, price: Price | None) -> dict[str, Price]:
    """``price`` for every model that ``system`` names."""
    return {name: price for name in needs_of(system).models if isinstance(name, str) and price is not None}


def _rebuild(run_id: str, written: JsonValue) -> System:
    assert isinstance(written, dict)
    config: Mapping[str, object] | None = written["config"]  # type: ignore[assignment]
    if config is None:
        raise InputError(
            f"run {run_id} was given its system as a Python object; resume it from Python: motet.resume({run_id!r}, system=…)"
        )
    return build(str(written["name"]), config)


def _world_again(run_id: str, written: JsonValue) -> World | None:
    assert isinstance(written, dict)
    if written["given"] and written["name"] is None:
        raise InputError(
            f"run {run_id} was given its world as a Python object; resume it from Python: motet.resume({run_id!r}, world=…)"
        )
    return open_world(str(written["name"])) if written["given"] else None
