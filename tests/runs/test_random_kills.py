"""Fifty kills at random places, against a server of which a fifth of the answers fail: every run still ends as an undisturbed one does."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from motet.models.scripted import ScriptedModel
from motet.task import Result
from motet.testing import Faults, ModelServer
from tests.runs.service import NoteService
from tests.runs.test_kill import REPLIES, ROOT, calm_state, clerk, final_state
from tests.runs.worker import POINTS

KILLS = 50
# Where a reply that was sent may not have been committed, and is asked for again.
IN_FLIGHT = ("before commit", "request", "reply")


class Assassin:
    """Kills one process when the server has had so many requests more, or sent so many replies."""

    def __init__(self) -> None:
        self.victim: int | None = None
        self.moment = ""
        self.count = 0

    def hear(self, moment: str) -> None:
        """Count a moment, and strike at the last one."""
        if self.victim is None or moment != self.moment:
            return
        self.count -= 1
        if self.count == 0:
            os.kill(self.victim, signal.SIGKILL)
            self.victim = None


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("seed", [1])
async def test_runs_killed_at_random_end_in_the_same_state(home: Path, seed: int) -> None:
    """Nothing that was committed is sent again, the note is posted once, and the ledger holds exactly the replies of an undisturbed run."""
    rng = random.Random(seed)
    expected = await anyio.to_thread.run_sync(calm_state, "keyed")
    killed = runs = 0
    while killed < KILLS:
        runs += 1
        store = f"sqlite:///{home / f'runs-{runs}.db'}"
        assassin = Assassin()
        hooks: dict[str, Any] = {
            "on_request": lambda _number, assassin=assassin: assassin.hear("request"),
            "after_reply": lambda _number, assassin=assassin: assassin.hear("reply"),
        }
        faults = Faults.mixed(0.2, seed=seed * 1000 + runs)
        async with (
            ModelServer(ScriptedModel("clerk", clerk), faults=faults, **hooks) as models,
            NoteService() as service,
        ):
            job: dict[str, Any] = {
                "store": store,
                "model": models.base_url,
                "service": service.url,
                "delivery": "keyed",
            }
            in_flight = 0
            result: Result | None = None
            while result is None:
                place = rng.choice([*POINTS, "request", "reply"])
                at = rng.randint(1, 3)
                code, run, result = await _work_until(job, place, at, assassin)
                if code == -signal.SIGKILL:
                    killed += 1
                    in_flight += place in IN_FLIGHT
                    result = None  # it may have told its result just before
                else:
                    assert code == 0, (place, at)
                if run:
                    job["run"] = run
            assert result.status == "completed"
            assert result.answer == "The note is posted."
            assert len(service.notes) == 1
            assert REPLIES <= sum(served.completed for served in models.served) <= REPLIES + in_flight
            usage = result.usage + result.earlier
            assert usage.calls - usage.failed == REPLIES
        assert final_state(store, job["run"]) == expected, (runs, seed)


async def _work_until(job: dict[str, Any], place: str, at: int, assassin: Assassin) -> tuple[int, str, Result | None]:
    """One process that is killed at the ``at``-th ``place``, if it gets there: exit code, run and result."""
    told = job | ({"kill": place, "at": at} if place in POINTS else {})
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.runs.worker", json.dumps(told), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    if place not in POINTS:
        assassin.victim, assassin.moment, assassin.count = process.pid, place, at
    out, _ = await process.communicate()
    assassin.victim = None
    lines = out.decode().split("\n")
    result = Result.model_validate_json(lines[1]) if len(lines) > 1 and lines[1] else None
    assert process.returncode is not None
    return process.returncode, lines[0], result
