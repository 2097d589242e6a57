"""The Ray engine: cells spread over processes, and a lost worker's cells go on elsewhere."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.agent.react import React
from motet.baselines.noop import Noop
from motet.bench.ray_engine import RayEngine
from motet.bench.report import make_report, same_results
from motet.bench.runner import Desk, Done, run_bench
from motet.errors import InputError
from motet.models.scripted import ScriptedModel
from motet.store.check import check
from motet.store.queries import run_list
from motet.store.store import Store
from motet.testing import Faults, ModelServer
from tests.bench.test_runner import desk, plan_of
from tests.bench.toys import reckoner
from tests.store import postgres

pytest.importorskip("ray", reason="the extra 'ray' is not installed")


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty store on either database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'runs.db'}"
        return
    with postgres.server() as server:
        yield postgres.new_database(server, "bench")


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
async def test_a_lost_worker_changes_no_result(home: Path, store_url: str) -> None:
    """Two workers, one of them killed with cells in hand: the table is that of one process, and no answer is paid twice."""
    killed: list[int] = []
    engines: list[RayEngine] = []

    def open_engine(desk: Desk) -> RayEngine:
        engines.append(RayEngine(desk, workers=2, per_worker=3))
        return engines[0]

    def kill_one(done: Done) -> None:
        if not killed:
            killed.append(0)
            waiting.append(asyncio.ensure_future(strike()))

    async def strike() -> None:
        killed[0] = (await engines[0].pids())[0]
        os.kill(killed[0], signal.SIGKILL)

    waiting: list[asyncio.Future[None]] = []
    slow = Faults(latency=0.3)
    model = ScriptedModel("reckoner", reckoner)
    with Store.open(store_url) as store:
        async with ModelServer(model, faults=slow) as server:
            plan = plan_of(React(model="desk:reckoner"), Noop(), size=20)
            bench = await run_bench(plan, store=store, settings=desk(server), engine=open_engine, tell=kill_one)
            await asyncio.gather(*waiting)
            assert killed[0] > 0
            # What was in flight in the killed worker is asked again; nothing else is.
            assert 20 <= len(server.served) <= 20 + 3
            calm = await run_bench(plan, store=store, settings=desk(server))
        report = make_report(store, bench, plan)
        assert (report.status, report.ended) == ("completed", 40)
        assert same_results(report) == same_results(make_report(store, calm, plan))
        assert check(store).ok


@pytest.mark.parametrize(
    ("address", "said"),
    [("nowhere", "is not HOST:PORT"), ("http://h:1", "is not HOST:PORT"), ("127.0.0.1:1", "no Ray cluster answers")],
)
def test_a_cluster_that_is_not_there_is_said_at_once(home: Path, address: str, said: str) -> None:
    """Ray would wait for minutes; here it is one line, and no run is written."""

    async def main() -> None:
        plan = plan_of(Noop())
        with Store.open(f"sqlite:///{home / 'runs.db'}") as store:
            with pytest.raises(InputError, match=said):
                await run_bench(
                    plan, store=store, engine=lambda desk: RayEngine(desk, workers=1, per_worker=1, address=address)
                )
            assert run_list(store) == []

    asyncio.run(main())
