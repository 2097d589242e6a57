"""Kill an execution at each boundary; the resumed run ends in the same state, and no node that was finished is paid again."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import anyio
import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from motet.inherit.records import Records
from motet.models.model import Request
from motet.store.final import canonical_export
from motet.store.schema import records
from motet.store.store import Store
from motet.task import Result
from motet.testing import ModelServer
from tests.inherit.team import speaker, told
from tests.inherit.worker import NAMESPACE, POINTS
from tests.runs.desk import Says, rows
from tests.runs.test_kill import ROOT

# What the first candidate asks, then what the edit of ``dates`` reaches.
REPLIES = ["dates", "dates", "doubt", "mail", "plan", "plan"]
KILLS = 25


class Done(NamedTuple):
    """A worker's end: exit code, the run's id, and the result if it lived to tell."""

    code: int
    run: str
    result: Result | None


async def work(started: Callable[[int], None] | None = None, *, seconds: float | None = None, **job: Any) -> Done:
    """Run the worker to its end, or kill it after ``seconds``; ``started`` is told its process id."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.inherit.worker", json.dumps(job), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    if started is not None:
        started(process.pid)
    talk = asyncio.ensure_future(process.communicate())
    if not (await asyncio.wait([talk], timeout=seconds))[0]:
        process.kill()
    out, _ = await talk
    assert process.returncode is not None
    # A run that was finished when its process died is not begun again, and has the result alone.
    told = out.decode().split()
    result = Result.model_validate_json(out.decode().splitlines()[-1]) if told and told[-1].endswith("}") else None
    return Done(process.returncode, result.run_id if result and result.run_id else "".join(told[:1]), result)


class Desk:
    """The team's model, with the nodes that asked it, in the order in which their requests came to the server."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.model = Says(self._say, name="team")

    def _say(self, request: Request) -> str:
        self.asked.append(speaker(request))
        return told(speaker(request), request)


def paid(store: str, run: str) -> list[str]:
    """The nodes whose model calls are committed, without their candidates."""
    with Store.open(store) as opened:
        return sorted(
            row.scope.rsplit("/", 1)[-1] for row in rows(opened, run) if row.kind == "model" and row.state == "done"
        )


def recorded(store: str) -> list[str]:
    """The keys of all records; every one can be read."""
    with Store.open(store) as opened:
        keys = opened.read_now(lambda connection: connection.execute(sa.select(records.c.key)).scalars().all())
        for key in keys:
            found = anyio.run(Records(opened, NAMESPACE).get, key)
            assert found.record is not None, found.damage
            assert found.record.determinants.key == key
        return sorted(keys)


def final_state(store: str, run: str) -> JsonValue:
    """The final state of ``run``."""
    with Store.open(store) as opened:
        return canonical_export(opened, run)


@functools.cache
def calm() -> tuple[JsonValue, list[str]]:
    """Final state and records of a run that nothing interrupts."""

    async def run(folder: str) -> tuple[str, str]:
        store, desk = f"sqlite:///{folder}/runs.db", Desk()
        async with ModelServer(desk.model) as models:
            done = await work(store=store, model=models.base_url)
        assert done.code == 0
        assert sorted(desk.asked) == REPLIES
        return store, done.run

    with TemporaryDirectory() as folder:
        store, run_id = anyio.run(run, folder)
        return final_state(store, run_id), recorded(store)


def check_end(store: str, done: Done) -> None:
    """The state, the ledger and the records are those of a calm run."""
    assert done.code == 0
    assert done.result is not None
    assert done.result.status == "completed"
    usage = done.result.usage + done.result.earlier
    assert usage.calls - usage.failed == len(REPLIES)
    assert (final_state(store, done.run), recorded(store)) == calm()


@pytest.mark.parametrize(
    ("point", "at"),
    [
        ("before send", 1),
        ("before send", 6),
        ("after reply", 3),
        ("before commit", 1),
        ("before commit", 5),
        ("after commit", 3),
        ("after commit", 6),
        ("before decision", 5),
        ("after decision", 5),
        ("after decision", 8),
        ("before record", 3),
        ("after record", 3),
        ("within record", 1),
        ("within record", 5),
        ("after transaction", 6),
        ("before flush", 1),
        ("after flush", 2),
        ("after result", 1),
    ],
)
def test_an_execution_killed_at_any_boundary_resumes_to_the_same_state(home: Path, point: str, at: int) -> None:
    """Exactly the calls that were not committed are made, and every record can be read at any time."""
    store, desk = f"sqlite:///{home / 'runs.db'}", Desk()

    async def main() -> Done:
        async with ModelServer(desk.model) as models:
            place: dict[str, Any] = {"store": store, "model": models.base_url}
            killed = await work(**place, kill=point, at=at)
            assert killed.code == -signal.SIGKILL
            await anyio.to_thread.run_sync(recorded, store)
            before = await anyio.to_thread.run_sync(paid, store, killed.run)
            desk.asked.clear()
            done = await work(**place, run=killed.run)
            assert sorted([*desk.asked, *before]) == REPLIES
            return done

    check_end(store, anyio.run(main))


@pytest.mark.parametrize("moment", ["request", "reply"])
def test_a_call_in_flight_is_the_only_one_sent_again(home: Path, moment: str) -> None:
    """The process dies when the third request has come to the server, or when its reply has left it."""
    store, desk = f"sqlite:///{home / 'runs.db'}", Desk()
    victim: list[int] = []

    def strike(number: int) -> None:
        if number == 3 and victim:
            os.kill(victim.pop(), signal.SIGKILL)

    hooks: dict[str, Any] = {"on_request": strike} if moment == "request" else {"after_reply": strike}

    async def main() -> Done:
        async with ModelServer(desk.model, **hooks) as models:
            place: dict[str, Any] = {"store": store, "model": models.base_url}
            killed = await work(victim.append, **place)
            assert killed.code == -signal.SIGKILL
            before = await anyio.to_thread.run_sync(paid, store, killed.run)
            first = len(desk.asked)
            done = await work(**place, run=killed.run)
            assert sorted([*desk.asked[first:], *before]) == REPLIES
            # By then two nodes at most were at work: those that nobody waits for.
            assert len(desk.asked) <= len(REPLIES) + 2
            return done

    check_end(store, anyio.run(main))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_executions_killed_at_random_end_in_the_same_state(home: Path, seed: int) -> None:
    """However often and wherever they are killed, also at moments that are no boundary: what was committed is not asked again."""
    rng = random.Random(seed)
    killed = runs = 0
    while killed < KILLS:
        runs += 1
        store, desk = f"sqlite:///{home / f'runs-{runs}.db'}", Desk()

        async def main(store: str = store, desk: Desk = desk) -> tuple[int, Done]:
            deaths = 0
            async with ModelServer(desk.model) as models:
                job: dict[str, Any] = {"store": store, "model": models.base_url}
                while True:
                    run = job.get("run", "")
                    before = await anyio.to_thread.run_sync(paid, store, run) if run else []
                    desk.asked.clear()
                    end = await _one_sitting(rng, job)
                    assert Counter(desk.asked) <= Counter(REPLIES) - Counter(before)
                    await anyio.to_thread.run_sync(recorded, store)
                    if end.code == 0:
                        return deaths, end
                    assert end.code == -signal.SIGKILL
                    deaths += 1
                    if end.run:
                        job["run"] = end.run

        deaths, done = anyio.run(main)
        killed += deaths
        check_end(store, done)


async def _one_sitting(rng: random.Random, job: dict[str, Any]) -> Done:
    """One process that is killed at a point, or after a time, if it gets there."""
    if rng.random() < 0.5:
        return await work(**job, kill=rng.choice([*POINTS]), at=rng.randint(1, 8))
    return await work(seconds=rng.uniform(0.5, 3.0), **job)
