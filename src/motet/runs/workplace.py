"""A workplace: what runs of one process work with. The store, the models behind their gates, and how tools are made."""

from __future__ import annotations

import asyncio
import contextlib
import platform
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

from motet.errors import InputError, MotetError
from motet.models.model import Price
from motet.models.providers import Models
from motet.runs import sitting as sittings
from motet.runs.budget import Budget
from motet.runs.events import Watcher
from motet.runs.run import SHARED, Approve, ReadDeltas
from motet.runs.sitting import Judge
from motet.settings import Settings, load_settings
from motet.store.store import Store
from motet.system import Configured, Needs, System
from motet.task import Failure, Result, Task
from motet.tools.load import load_tools
from motet.tools.python import PythonTool
from motet.tools.sandbox.probe import require
from motet.tools.tool import Tool
from motet.version import __version__
from motet.worlds.world import World


class Workplace:
    """Made by ``open_workplace``. Runs that share one share its gates and connections."""

    def __init__(self, store: Store, models: Models, *, allow_weak_sandbox: bool) -> None:
        self.store = store
        self.models = models
        self.settings = models.settings
        self._allow_weak_sandbox = allow_weak_sandbox
        # What a run's first event says about this machine.
        self._facts: dict[str, JsonValue] = {
            "motet": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
        }

    def load_tools(self, specs: Sequence[str | Tool]) -> tuple[Tool, ...]:
        """Fresh tools. Raises InputError."""
        return load_tools(specs, allow_weak_sandbox=self._allow_weak_sandbox, settings=self.models.settings)

    async def preflight(self, needs: Needs, *, budget: Budget | None) -> None:
        """Check models, keys, prices, tools and the sandbox. Raises InputError."""
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

    async def sit(
        self,
        run_id: str,
        system: System,
        task: Task,
        *,
        budget: Budget | None = None,
        world: World | None = None,
        tools: Sequence[str | Tool] = (),
        judge: Judge | None = None,
        watchers: Sequence[Watcher] = (),
        read_deltas: ReadDeltas | None = None,
        assume: Literal["done", "redo"] | None = None,
        namespace: str = SHARED,
        approve: Approve = None,
    ) -> Result:
        """One sitting on a run of one task, from taking its lease to giving it back."""
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
            namespace=namespace,
            approve=approve,
        ) as sitting:
            try:
                result = await sitting.execute(system, task, world=world, tools=tools, judge=judge)
            except Exception as error:
                with contextlib.suppress(MotetError):
                    await sitting.finish(Result(status="failed", error=Failure.of(error), run_id=run_id))
                raise
            await sitting.finish(result)
            return result


def needs_of(system: System) -> Needs:
    """What ``system`` says it will use; nothing for one that does not say."""
    return system.needs() if isinstance(system, Configured) else Needs()


def names_of(needs: Needs) -> str:
    """The models of ``needs`` for people, each once."""
    names = (model if isinstance(model, str) else model.info.name for model in needs.models)
    return ", ".join(dict.fromkeys(names))


@contextlib.asynccontextmanager
async def open_workplace(
    store: str | Store | None,
    *,
    settings: Settings | None = None,
    prices: Mapping[str, Price] | None = None,
    allow_weak_sandbox: bool = False,
) -> AsyncIterator[Workplace]:
    """Open a workplace; a store that is already open stays open after it. ``prices`` go before those of the settings."""
    models = Models(settings or load_settings(), prices=prices)
    with contextlib.ExitStack() as stack:
        opened = store if isinstance(store, Store) else stack.enter_context(Store.open(store))
        try:
            yield Workplace(opened, models, allow_weak_sandbox=allow_weak_sandbox)
        finally:
            await models.aclose()
