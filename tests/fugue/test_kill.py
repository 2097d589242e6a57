"""Kill a team at each boundary; what was committed is there once, and no call of it is sent again."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from motet.store.store import Store
from motet.task import Result
from motet.testing import ModelServer
from tests.fugue.crew import noted, speaker, story
from tests.fugue.test_resume import asking, check_whole
from tests.fugue.worker import POINTS
from tests.runs.desk import Says, rows
from tests.runs.test_kill import ROOT

KILLS = 20


class Done(NamedTuple):
    """A worker's end: exit code, the run's id, and the result if it lived to tell."""

    code: int
    run: str
    result: Result | None


async def work(*, seconds: float | None = None, **job: Any) -> Done:
    """Run the worker to its end, or kill it after ``seconds``."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.fugue.worker", json.dumps(job), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    talk = asyncio.ensure_future(process.communicate())
    if not (await asyncio.wait([talk], timeout=seconds))[0]:
        process.kill()
    out, _ = await talk
    lines = out.decode().splitlines()
    assert process.returncode is not None
    result = Result.model_validate_json(lines[-1]) if lines and lines[-1].startswith("{") else None
    return Done(process.returncode, result.run_id if result and result.run_id else "".join(lines[:1]), result)


def team() -> Says:
    """All roles of a team: two peers that read and ask, the writer of notes, the reader of raw steps."""

    def say(request: Any) -> Any:
        match speaker(request):
            case "write":
                return noted(request)
            case "read":
                return "They say so."
            case name:
                return asking(name, request)

    return Says(say, name="team")


def committed(store: str, run: str) -> int:
    """How many model calls are in the journal with their replies."""
    with Store.open(store) as opened:
        return sum(row.kind == "model" and row.state == "done" for row in rows(opened, run))


def check_end(store: str, done: Done) -> None:
    """Both have answered; every place of the journal holds one answer, every episode has one note, and nothing was told twice."""
    assert done.code == 0
    assert done.result is not None
    assert (done.result.status, done.result.answer) == ("completed", "forty-two")
    told = story(done.result)
    assert all(peer.notes == peer.closes > 0 for peer in told.peers)
    with Store.open(store) as opened:
        check_whole(opened, done.run)


SLOW = pytest.mark.slow  # each is two processes


@pytest.mark.parametrize(
    ("point", "at"),
    [
        pytest.param("before send", 5, marks=SLOW),
        pytest.param("after reply", 7, marks=SLOW),
        ("before commit", 9),
        ("after commit", 12),
        pytest.param("before input", 1, marks=SLOW),
        ("before input", 14),
        pytest.param("after input", 9, marks=SLOW),
        ("after input", 20),
        pytest.param("before observation", 6, marks=SLOW),
        pytest.param("after observation", 11, marks=SLOW),
        pytest.param("before transaction", 25, marks=SLOW),
        ("after transaction", 30),
        pytest.param("before result", 1, marks=SLOW),
        pytest.param("after result", 1, marks=SLOW),
    ],
)
def test_a_team_killed_at_any_boundary_goes_on_as_if_it_had_not_been(home: Path, point: str, at: int) -> None:
    """Only calls that were in flight are sent again."""
    store = f"sqlite:///{home / 'runs.db'}"

    async def main() -> Done:
        async with ModelServer(team()) as models:
            place: dict[str, Any] = {"store": store, "model": models.base_url}
            killed = await work(**place, kill=point, at=at)
            assert killed.code == -signal.SIGKILL
            in_flight = len(models.served) - await anyio.to_thread.run_sync(committed, store, killed.run)
            done = await work(**place, run=killed.run)
            assert len(models.served) - await anyio.to_thread.run_sync(committed, store, done.run) == in_flight
            return done

    check_end(store, anyio.run(main))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_teams_killed_at_random_lose_and_double_nothing(home: Path, seed: int) -> None:
    """However often and wherever they are killed, also at moments that are no boundary."""
    rng = random.Random(seed)
    killed = runs = 0
    while killed < KILLS:
        runs += 1
        store = f"sqlite:///{home / f'runs-{runs}.db'}"

        async def main(store: str = store) -> tuple[int, Done]:
            deaths = 0
            async with ModelServer(team()) as models:
                job: dict[str, Any] = {"store": store, "model": models.base_url}
                while True:
                    run = job.get("run", "")
                    served = len(models.served)
                    before = await anyio.to_thread.run_sync(committed, store, run) if run else 0
                    if rng.random() < 0.5:
                        end = await work(**job, kill=rng.choice([*POINTS]), at=rng.randint(1, 30))
                    else:
                        end = await work(**job, seconds=rng.uniform(0.5, 3.0))
                    after = await anyio.to_thread.run_sync(committed, store, end.run) if end.run else 0
                    # Two peers, their writes and a read: so many may be in flight at once.
                    assert len(models.served) - served - (after - before) <= 8
                    if end.code == 0:
                        return deaths, end
                    assert end.code == -signal.SIGKILL
                    deaths += 1
                    if end.run:
                        job["run"] = end.run

        deaths, done = anyio.run(main)
        killed += deaths
        check_end(store, done)
