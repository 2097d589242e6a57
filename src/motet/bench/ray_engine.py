"""The Ray engine: a bench's cells over the processes of one machine, or of a Ray cluster.

Ray starts the workers, carries the calls and restarts what it lost; Motet's part is small. Each worker is an actor with a Desk and an event loop of its own, working
several cells at a time. Results do not travel: they are in the shared store, as with one process. When a worker is lost, Ray starts it anew and calls it again,
and the cells it had in hand go on from their own journals, since each is a run with a lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import logging
import os
import socket
from collections import Counter
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

from motet.bench.plan import Cell, Plan
from motet.bench.runner import Assume, Desk, Done, plan_prices
from motet.errors import InputError, RunError
from motet.runs.workplace import open_workplace
from motet.settings import Settings

_PLACES = ("MOTET_HOME", "MOTET_DATA_DIR")
_PATIENCE = 5.0  # seconds for a cluster to accept a connection
_CLOSING = 30.0  # seconds for the workers to close their stores


class Worker:
    """What runs in a Ray worker process: a Desk that is opened at the first cell and serves them all."""

    def __init__(
        self,
        store: str,
        settings: dict[str, Any],
        plan: dict[str, Any],
        bench_id: str,
        assume: Assume | None,
        cwd: str,
    ) -> None:
        # Relative paths of the plan (a corpus, a data file) mean what they mean where the bench was begun.
        os.chdir(cwd)
        self._store = store
        self._settings = Settings.model_validate(settings)
        self._plan = Plan.model_validate(plan)
        self._bench_id = bench_id
        self._assume: Assume | None = assume
        self._desk: Desk | None = None
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def work(self, cell: tuple[int, str, int, str]) -> tuple[str, str | None]:
        """Work one cell; its status and, if it failed, the kind of its error."""
        desk = await self._open()
        ended = await desk.work(Cell(*cell))
        return ended.status, ended.error

    async def pid(self) -> int:
        """The worker's process."""
        return os.getpid()

    async def close(self) -> None:
        """Close the store and the connections."""
        await self._stack.aclose()
        self._desk = None

    async def _open(self) -> Desk:
        async with self._opening:
            if self._desk is None:
                prices = plan_prices(self._plan)
                place = await self._stack.enter_async_context(
                    open_workplace(
                        self._store,
                        settings=self._settings,
                        prices=prices,
                        allow_weak_sandbox=self._plan.allow_weak_sandbox,
                    )
                )
                self._desk = Desk(place, self._plan, self._bench_id, assume=self._assume)
            return self._desk


class RayEngine:
    """Spreads cells over ``workers`` actors with ``per_worker`` cells each. ``address`` is a Ray cluster's; without one, Ray is started on this
    machine and stopped at the end. Raises InputError when Ray is not installed, when no cluster answers there, and for systems that cannot be written down.
    """

    def __init__(self, desk: Desk, *, workers: int, per_worker: int, address: str | None = None) -> None:
        if importlib.util.find_spec("ray") is None:
            raise InputError("--engine ray needs Ray: pip install 'motet[ray]'")
        if any(entry.config is None for entry in desk.plan.systems):
            raise InputError("--engine ray needs systems that can be written down; these hold Python objects")
        if address is not None:
            _look_for(address)
        self._desk = desk
        self._workers = workers
        self._per_worker = per_worker
        self._address = address
        self._actors: list[Any] = []
        self._busy: Counter[int] = Counter()
        self._started = False

    @property
    def places(self) -> int:
        """All workers' places together."""
        return self._workers * self._per_worker

    async def work(self, cell: Cell) -> Done:
        """Hand ``cell`` to the worker with the least in hand."""
        index = min(range(len(self._actors)), key=lambda number: self._busy[number])
        self._busy[index] += 1
        try:
            status, error = await self._actors[index].work.remote(tuple(cell))
        except _ray_error() as failure:
            raise RunError(f"Ray worker {index + 1} cannot work: {_last_line(failure)}") from failure
        finally:
            self._busy[index] -= 1
        return Done(cell, status, error)

    async def connect(self) -> None:
        """Reach the cluster, or start Ray on this machine. Raises InputError for a cluster that does not let us in."""
        import ray

        if ray.is_initialized():
            return
        # Ray's own processes must not inherit a proxy or phone home; its dashboard is not ours to start.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        logging.getLogger("ray").setLevel(logging.ERROR)
        # In a thread: it takes seconds, and there Ray leaves the process's signal handlers alone.
        options: dict[str, Any] = {"address": self._address} if self._address else {"num_cpus": self._workers}
        try:
            await asyncio.to_thread(
                ray.init, **options, include_dashboard=False, log_to_driver=False, configure_logging=False
            )
        except (ConnectionError, _ray_error()) as error:
            where = self._address or "this machine"
            raise InputError(
                f"Ray at {where} cannot be used: {_last_line(error)}; a cluster that asks for a token needs RAY_AUTH_MODE=token here"
            ) from None
        self._started = True

    async def __aenter__(self) -> RayEngine:
        import ray

        kind = ray.remote(Worker).options(
            num_cpus=1,
            max_restarts=-1,
            max_task_retries=-1,
            max_concurrency=self._per_worker + 2,
            runtime_env=self._environment(),
        )
        store = self._desk.place.store.url.render_as_string(hide_password=False)
        arguments = (
            store,
            self._desk.place.settings.model_dump(mode="json"),
            self._desk.plan.model_dump(mode="json"),
            self._desk.bench_id,
            self._desk.assume,
            os.getcwd(),
        )
        self._actors = [kind.remote(*arguments) for _ in range(self._workers)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import ray

        if error is None:
            # A worker that is lost now has nothing left to lose.
            with contextlib.suppress(_ray_error(), TimeoutError):
                async with asyncio.timeout(_CLOSING):
                    await asyncio.gather(*(actor.close.remote() for actor in self._actors))
        for actor in self._actors:
            ray.kill(actor)
        if self._started:
            await asyncio.to_thread(ray.shutdown)

    def _environment(self) -> dict[str, Any] | None:
        """A cluster that was started elsewhere knows neither our home nor our data. Keys stay out of this: Ray would store them."""
        if self._address is None:
            return None
        return {"env_vars": {name: os.environ[name] for name in _PLACES if name in os.environ}}

    async def pids(self) -> list[int]:
        """The workers' processes."""
        return list(await asyncio.gather(*(actor.pid.remote() for actor in self._actors)))


def _look_for(address: str) -> None:
    """Ray itself would wait for minutes. Raises InputError when nothing answers at ``address``."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise InputError(f"--ray-address {address!r} is not HOST:PORT, such as 10.0.0.5:6379")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster answers at {address}: {error}; start one with: ray start --head") from None


def _ray_error() -> type[Exception]:
    from ray.exceptions import RayError

    found: type[Exception] = RayError
    return found


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
