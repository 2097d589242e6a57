"""The lease: one process at a time works on a run, and one that lost it writes nothing more."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from motet.errors import InputError, LeaseLost, RunBusy
from motet.runs import lease
from motet.runs.run import Run
from motet.store.queries import resolve_run
from motet.store.schema import runs
from motet.store.store import Store
from motet.task import Result, Task
from tests.runs.desk import Does, Says, ask, done, echo, go, interrupted, new_run, rows, sit, work_once

ROOT = Path(__file__).resolve().parents[2]
NOW = 1_000_000.0


def owner(**changes: Any) -> str:
    """This process as an owner, with some of its marks changed."""
    return json.dumps({**json.loads(lease.me()), **changes})


@pytest.mark.parametrize(
    ("held_by", "age", "live"),
    [
        (None, 0, False),
        (owner(), 0, True),
        (owner(), lease.EXPIRES - 1, True),
        (owner(), lease.EXPIRES + 1, False),
        (owner(started="another moment"), 0, False),  # a later process with the same number
        (owner(pid=2**22 + 5), 0, False),  # gone
        (owner(host="elsewhere", pid=2**22 + 5), 0, True),  # who can tell?
        (owner(host="elsewhere"), lease.EXPIRES + 1, False),
        (owner(boot="before", pid=2**22 + 5), 0, True),
        (owner(space="pid:[1]", pid=2**22 + 5), 0, True),
        (owner(), -3600, True),  # a clock that was set back
    ],
    ids=lambda value: "owner" if value is None or isinstance(value, str) else str(value),
)
def test_an_owner_is_live_while_its_heart_beats_and_its_process_can_be_working(
    held_by: str | None, age: float, live: bool
) -> None:
    """A process that is gone from this very machine is known to be gone at once; one elsewhere, when its heartbeats have stopped."""
    assert lease.is_live(held_by, NOW - age, now=NOW) is live


def test_a_process_that_ended_but_was_not_waited_for_works_no_more() -> None:
    """A killed owner is gone at once, also while its parent has not looked."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    marks = lease._identity(process.pid)
    held_by = owner(pid=process.pid, started=marks["started"])
    try:
        assert lease.is_live(held_by, NOW, now=NOW)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and still in the process table
        assert not lease.is_live(held_by, NOW, now=NOW)
    finally:
        process.kill()
        process.communicate()


def test_a_run_is_shown_as_interrupted_only_while_nobody_works_on_it() -> None:
    """What the row says, unless it says running and nobody is."""
    now = time.time()
    assert lease.shown_status("running", lease.me(), now) == "running"
    assert lease.shown_status("running", None, now) == "interrupted"
    assert lease.shown_status("running", owner(started="x"), now) == "interrupted"
    assert lease.shown_status("budget", None, 0) == "budget"


def test_a_run_that_is_worked_on_is_refused_to_others_and_named(store: Store) -> None:
    """A second sitting is told who works on it; after the first has ended it may sit down."""

    async def main() -> None:
        run_id = await new_run(store)
        async with sit(store, run_id):
            with pytest.raises(
                RunBusy, match=f"run {run_id} is being worked on by process {os.getpid()} on "
            ) as caught:
                await lease.take(store, run_id)
            assert caught.value.owner.startswith(f"process {os.getpid()} on ")
        async with sit(store, run_id) as sitting:
            assert sitting.fence.number == 2

    go(main())


def test_of_many_that_want_a_run_at_once_one_gets_it(store: Store) -> None:
    """Whatever the order in which their writes arrive."""

    async def main() -> list[object]:
        run_id = await new_run(store)
        return await asyncio.gather(*(lease.take(store, run_id) for _ in range(8)), return_exceptions=True)

    got = go(main())
    assert sum(isinstance(item, RunBusy) for item in got) == 7


def test_two_processes_resume_one_run_and_one_is_refused(store: Store) -> None:
    """The one that came second hears the first one's number; after ``kill -9`` of the first the run shows as interrupted at once, and can be taken."""
    run_id = go(new_run(store))
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, store.url.render_as_string(), run_id],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "holding\n"
        with pytest.raises(RunBusy, match=f"process {holder.pid} on "):
            go(lease.take(store, run_id))
        row = resolve_run(store, run_id)
        assert lease.shown_status(row.status, row.owner, row.heartbeat) == "running"
        holder.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
        row = resolve_run(store, run_id)
        assert lease.shown_status(row.status, row.owner, row.heartbeat) == "interrupted"
        assert go(lease.take(store, run_id)).number == 2
    finally:
        holder.kill()
        holder.communicate()


_HOLDER = """
import asyncio, sys
from motet.runs import lease
from motet.store.store import Store

async def main():
    with Store.open(sys.argv[1]) as store:
        await lease.take(store, sys.argv[2])
        print("holding", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def test_an_owner_that_was_only_slow_writes_nothing_more(store: Store) -> None:
    """Once another has the run, its replies, tools and results are refused, and its failure to write is told as what it is."""
    model = Says(echo)

    async def main() -> tuple[str, list[str]]:
        run_id = await new_run(store)

        async def work(_task: Task, run: Run) -> Result:
            asked = run.model(model, role="r")
            await asked.reply(ask("mine"))
            await store.write(then=_expire(run_id))
            await lease.take(store, run_id)
            await asked.reply(ask("no longer mine"))
            raise AssertionError

        with pytest.raises(LeaseLost, match=f"run {run_id} has been taken over"):
            await work_once(store, run_id, work)
        return run_id, [row.state for row in rows(store, run_id)]

    run_id, states = go(main())
    assert states == ["done"]
    row = resolve_run(store, run_id)
    assert (row.status, row.fence, row.result) == ("running", 2, None)
    assert row.owner is not None  # the new owner's lease was not given back by the old one


def test_a_lost_lease_stops_the_work_at_the_next_heartbeat(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a system that never writes and would never notice."""
    monkeypatch.setattr(lease, "HEARTBEAT", 0.01)

    async def waits(_task: Task, run: Run) -> Result:
        await store.write(then=_expire(run.id))
        await lease.take(store, run.id)
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> None:
        with pytest.raises(LeaseLost):
            await work_once(store, await new_run(store), waits)

    go(main())


def test_a_request_to_stop_is_heard_within_a_heartbeat_and_the_run_can_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends as cancelled with its best answer so far; asked to go on, it pays for nothing twice."""
    monkeypatch.setattr(lease, "HEARTBEAT", 0.01)
    model, sittings = Says(echo), [0]

    async def work(_task: Task, run: Run) -> Result:
        sittings[0] += 1
        run.keep((await run.model(model, role="r").reply(ask("one"))).text)
        if sittings[0] == 1:
            assert await lease.request_cancel(store, run.id)
            await asyncio.Event().wait()
        return done("finished")

    async def main() -> tuple[Result, str, Result]:
        run_id = await new_run(store)
        stopped = await work_once(store, run_id, work)
        status = resolve_run(store, run_id).status
        assert not await lease.request_cancel(store, run_id)  # nobody works on it any more
        return stopped, status, await work_once(store, run_id, work)

    stopped, status, result = go(main())
    assert (stopped.status, stopped.answer, status) == ("cancelled", "echo one", "cancelled")
    assert (result.status, result.answer) == ("completed", "finished")
    assert len(model.requests) == 1


def test_a_sitting_that_was_stopped_starts_nothing_more(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many tasks in one sitting, those not yet begun are not begun."""
    monkeypatch.setattr(lease, "HEARTBEAT", 0.01)
    begun: list[str] = []

    async def work(task: Task, run: Run) -> Result:
        begun.append(task.id)
        await lease.request_cancel(store, run.id)
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> list[str]:
        tasks = [Task(question="q", id=f"t{n}") for n in range(3)]
        async with sit(store, await new_run(store, *tasks)) as sitting:
            return [(await sitting.execute(Does(work), task)).status for task in tasks]

    assert go(main()) == ["cancelled"] * 3
    assert begun == ["t0"]


def test_a_broken_off_sitting_gives_its_lease_back_and_keeps_its_time(store: Store) -> None:
    """After Ctrl-C the run is interrupted, not running, and the work it did counts."""

    async def work(_task: Task, run: Run) -> Result:
        await asyncio.sleep(0.02)
        raise asyncio.CancelledError

    async def main() -> str:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        return run_id

    row = resolve_run(store, go(main()))
    assert (row.status, row.owner) == ("running", None)
    assert lease.shown_status(row.status, row.owner, row.heartbeat) == "interrupted"
    assert row.elapsed >= 0.02


def test_time_worked_adds_up_over_sittings(store: Store) -> None:
    """A resumed run goes on counting where it stood."""

    async def work(_task: Task, run: Run) -> Result:
        await asyncio.sleep(0.02)
        raise asyncio.CancelledError

    async def main() -> list[float]:
        run_id = await new_run(store)
        worked = []
        for _ in range(3):
            await interrupted(store, run_id, work)
            worked.append(resolve_run(store, run_id).elapsed)
        return worked

    worked = go(main())
    assert all(after >= before + 0.02 for before, after in zip([0.0, *worked], worked, strict=False))


def test_a_run_that_is_not_there_is_bad_input(store: Store) -> None:
    """Said of any run that is asked for."""
    for asked in (lease.take(store, "nothing"), lease.request_cancel(store, "nothing")):
        with pytest.raises(InputError, match="run nothing is not in the store"):
            go(asked)


def _expire(run_id: str) -> Any:
    def expire(connection: sa.Connection) -> None:
        connection.execute(runs.update().where(runs.c.id == run_id).values(heartbeat=0.0))

    return expire
