"""Whole evolutions that write, killed at random: they end as undisturbed ones do, each write is done once, and no finished node is paid again."""

from __future__ import annotations

import asyncio
import functools
import json
import random
import re
import signal
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import anyio
import pytest
from pydantic import JsonValue

from motet.models.model import Reply, Request, ToolCall
from motet.store.store import Store
from motet.task import Result
from motet.testing import ModelServer
from tests.inherit.evolver import POINTS
from tests.inherit.studio import USAGE, design, marks, member, rewrite
from tests.inherit.team import speaker, told
from tests.inherit.test_kill import final_state
from tests.runs.desk import Says, rows
from tests.runs.service import NoteService
from tests.runs.test_kill import ROOT
from tests.runs.test_random_kills import Assassin

KILLS = 12  # in each world, at least

# How each world's tool that writes is called, and the world's name in the tests.
WRITES = {"forkable": "send", "live": "post"}


class Crew:
    """Meta-model, judge and nodes as one model whose replies depend on the request alone. ``asked`` says who asked, in the order of the requests at the server."""

    def __init__(self, kind: str) -> None:
        self.tool = WRITES[kind]
        self.asked: list[str] = []
        self.model = Says(self._answer, name="crew", usage=USAGE)

    def _answer(self, request: Request) -> str | Reply:
        system, asked = request.messages[0].content, request.messages[-1].content
        if system.startswith("You design and improve"):
            self.asked.append("meta")
            return json.dumps(self._edit(request) if "Choose the one change" in asked else self._design(asked))
        if system.startswith("You judge the work"):
            self.asked.append("judge")
            return json.dumps(marks(40 + int(request.digest[:4], 16) % 50))
        who = speaker(request)
        self.asked.append(who)
        return self._act(request) if who == "act" else told(who, request)

    def _design(self, asked: str) -> JsonValue:
        """First a team with two that look things up; designed anew, with one."""
        found = [member("find"), member("look")] if "Design the team" in asked else [member("find")]
        plan = member("plan", "integrator", *(node["id"] for node in found))
        return design(*found, plan, member("act", "executor", "plan", tools=[self.tool]))

    def _edit(self, request: Request) -> JsonValue:
        number = int(request.digest[:4], 16)
        return rewrite(("find", "plan")[number % 2], f"Version {number}.")(request)

    def _act(self, request: Request) -> Reply:
        """Two notes, one after the other, with what the plan says."""
        done = sum(message.role == "tool" for message in request.messages)
        if done == 2:
            return Reply(text="Both are left.", usage=USAGE)
        question = next(message.content for message in request.messages if message.role == "user")
        plan = question.partition("[plan from plan]\n")[2].splitlines()[0]
        call = ToolCall(id=f"c{done}", name=self.tool, arguments=json.dumps({"text": f"{done + 1} of {plan}"}))
        return Reply(text="", tool_calls=(call,), finish="tool_calls", usage=USAGE)


class End(NamedTuple):
    """A process's end: exit code, the run's id, and what it told if it lived to."""

    code: int
    run: str
    result: Result | None
    notes: list[str]


class Calm(NamedTuple):
    """An undisturbed run: its final state, who was asked, and what was written."""

    state: JsonValue
    asked: Counter[str]
    notes: list[str]


def paid(store: str, run: str) -> Counter[str]:
    """Whose model calls are committed, in the words of ``Crew.asked``."""
    control = dict.fromkeys(("design", "select", "edit", "restart"), "meta")
    with Store.open(store) as opened:
        done = [
            row.scope.rsplit("/", 1)[-1] for row in rows(opened, run) if row.kind == "model" and row.state == "done"
        ]
    return Counter(control.get(name, name) for name in done)


def state_of(store: str, run: str, kind: str) -> JsonValue:
    """The final state of ``run``. A live world's state is unknown, so record keys hold the run's id there: digests are then numbered as they first appear."""
    state = final_state(store, run)
    if kind != "live":
        return state
    numbers: dict[str, str] = {}
    text = re.sub(
        r"\b[0-9a-f]{64}\b", lambda found: numbers.setdefault(found[0], f"digest {len(numbers)}"), json.dumps(state)
    )
    renamed: JsonValue = json.loads(text)
    return renamed


async def sitting(job: dict[str, Any], assassin: Assassin | None = None, *, seconds: float | None = None) -> End:
    """One process, which ``assassin`` may kill, or which is killed after ``seconds``."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.inherit.evolver", json.dumps(job), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    if assassin is not None:
        assassin.victim = process.pid
    talk = asyncio.ensure_future(process.communicate())
    if not (await asyncio.wait([talk], timeout=seconds))[0]:
        process.kill()
    out, _ = await talk
    if assassin is not None:
        assassin.victim = None
    lines = out.decode().split()
    last = out.decode().strip().splitlines()[-1:] or [""]
    told = json.loads(last[0]) if last[0].endswith("}") else {}
    result = Result.model_validate(told["result"]) if told else None
    assert process.returncode is not None
    run = result.run_id if result is not None and result.run_id else "".join(lines[:1])
    return End(process.returncode, run, result, told.get("notes", []))


@functools.cache
def calm(kind: str) -> Calm:
    """A run in a world of ``kind`` that nothing disturbs."""

    async def run(folder: str) -> Calm:
        store, crew = f"sqlite:///{folder}/runs.db", Crew(kind)
        async with ModelServer(crew.model) as models, NoteService() as service:
            job = {"store": store, "model": models.base_url} | ({"service": service.url} if kind == "live" else {})
            end = await sitting(job)
            assert end.code == 0
            state = await anyio.to_thread.run_sync(state_of, store, end.run, kind)
            return Calm(state, Counter(crew.asked), end.notes or [note["text"] for note in service.notes])

    with TemporaryDirectory() as folder:
        return anyio.run(run, folder)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
@pytest.mark.parametrize("kind", [*WRITES])
def test_evolutions_killed_at_random_end_in_the_same_state(home: Path, kind: str, seed: int) -> None:
    """Each sitting asks for nothing that was committed; the chosen team's two notes are left once, and the history is that of a calm run."""
    rng = random.Random(seed)
    expected = calm(kind)
    assert len(expected.notes) == 2
    killed = runs = 0
    while killed < KILLS:
        runs += 1
        killed += anyio.run(_until_done, f"sqlite:///{home / f'runs-{runs}.db'}", kind, rng)
    print(f"{killed} kills in {runs} runs in a {kind} world")


async def _until_done(store: str, kind: str, rng: random.Random) -> int:
    """One run, killed and resumed until it ends; the number of kills."""
    expected, crew, assassin, kills = calm(kind), Crew(kind), Assassin(), 0
    hooks: dict[str, Any] = {
        "on_request": lambda _number: assassin.hear("request"),
        "after_reply": lambda _number: assassin.hear("reply"),
    }
    async with ModelServer(crew.model, **hooks) as models, NoteService() as service:
        job: dict[str, Any] = {"store": store, "model": models.base_url}
        if kind == "live":
            job["service"] = service.url
        while True:
            before = await anyio.to_thread.run_sync(paid, store, job["run"]) if "run" in job else Counter[str]()
            crew.asked.clear()
            end = await _one_sitting(job, rng, assassin)
            assert Counter(crew.asked) <= expected.asked - before
            if end.run:
                job["run"] = end.run
            if end.code == 0:
                break
            assert end.code == -signal.SIGKILL
            kills += 1
        assert end.result is not None
        assert end.result.status == "completed"
        written = [note["text"] for note in service.notes] if kind == "live" else end.notes
        usage = end.result.usage + end.result.earlier
    if kind == "live" or end.notes:
        # A run that was finished when its process died is not begun again, and its notebook died with it.
        assert written == expected.notes
    assert usage.calls - usage.failed == expected.asked.total()
    assert await anyio.to_thread.run_sync(state_of, store, job["run"], kind) == expected.state
    return kills


async def _one_sitting(job: dict[str, Any], rng: random.Random, assassin: Assassin) -> End:
    """A sitting with a death of a random kind before it, if it gets there: at a point of the code, at a request or a reply, or after some time."""
    kind = rng.choice(["point", "server", "time"])
    if kind == "point":
        return await sitting(job | {"kill": rng.choice(POINTS), "at": rng.randint(1, 12)})
    if kind == "server":
        assassin.moment, assassin.count = rng.choice(["request", "reply"]), rng.randint(1, 16)
        return await sitting(job, assassin)
    return await sitting(job, seconds=rng.uniform(0.6, 3.0))
