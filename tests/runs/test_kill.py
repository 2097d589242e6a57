"""Kill a run at each boundary; the resumed run ends in the same state, pays for nothing twice, and writes once."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from pydantic import JsonValue

from motet.models.model import Request, ToolCall
from motet.models.scripted import ScriptedModel, Turn
from motet.store.final import canonical_export
from motet.store.store import Store
from motet.task import Result
from motet.testing import ModelServer
from tests.runs.service import NoteService

ROOT = Path(__file__).resolve().parents[2]


def clerk(request: Request) -> Turn | str:
    """Look twice at once, post a note, then say that it is done: four replies that depend on the messages alone."""
    seen = sum(message.role == "tool" for message in request.messages)
    if seen == 0:
        calls = [ToolCall(id=f"l{n}", name="look", arguments=json.dumps({"topic": f"topic {n}"})) for n in (1, 2)]
        return Turn(tool_calls=tuple(calls))
    if seen == 2:
        return Turn(text="Now I post.", tool_calls=(ToolCall(id="p", name="post", arguments='{"text": "hello"}'),))
    return "The note is posted."


REPLIES = 3


async def work(**job: Any) -> tuple[int, str, Result | None]:
    """Run the worker to its end; its exit code, the run's id and the result if it lived to tell."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.runs.worker", json.dumps(job), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    out, _ = await process.communicate()
    lines = out.decode().split("\n")
    result = Result.model_validate_json(lines[1]) if len(lines) > 1 and lines[1] else None
    assert process.returncode is not None
    return process.returncode, lines[0], result


@functools.cache
def calm_state(delivery: str) -> JsonValue:
    """The final state of a run that nothing interrupts."""

    async def run(folder: str) -> JsonValue:
        store = f"sqlite:///{folder}/runs.db"
        async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService() as service:
            code, run, _ = await work(store=store, model=models.base_url, service=service.url, delivery=delivery)
        assert code == 0
        return final_state(store, run)

    with TemporaryDirectory() as folder:
        return anyio.from_thread.run(run, folder)


def final_state(store: str, run: str) -> JsonValue:
    """The final state of ``run``."""
    with Store.open(store) as opened:
        return canonical_export(opened, run)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("point", "at", "in_flight", "delivery"),
    [
        ("before send", 1, 0, "keyed"),
        ("before send", 2, 0, "keyed"),
        ("before commit", 2, 1, "keyed"),
        ("after commit", 2, 0, "keyed"),
        ("before observation", 2, 0, "keyed"),
        ("after observation", 2, 0, "keyed"),
        ("before write", 1, 0, "keyed"),
        ("after intent", 1, 0, "keyed"),
        ("after intent", 1, 0, "confirmable"),
        ("before confirm", 1, 0, "keyed"),
        ("before confirm", 1, 0, "confirmable"),
        ("after confirm", 1, 0, "plain"),
        ("before result", 1, 0, "plain"),
        ("after result", 1, 0, "plain"),
        ("before release", 1, 0, "plain"),
    ],
)
async def test_a_run_killed_at_any_boundary_resumes_to_the_same_state(
    home: Path, point: str, at: int, in_flight: int, delivery: str
) -> None:
    """Only a call in flight is sent again, and the note is posted once."""
    store = f"sqlite:///{home / 'runs.db'}"
    async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService() as service:
        place = {"store": store, "model": models.base_url, "service": service.url, "delivery": delivery}
        code, run, _ = await work(**place, kill=point, at=at)
        assert code == -signal.SIGKILL
        code, again, result = await work(**place, run=run)
        assert (code, again) == (0, run)
        assert result is not None
        assert result.answer == "The note is posted."
        assert len(models.served) == REPLIES + in_flight
        assert len(service.notes) == 1
        assert result.usage.calls + result.earlier.calls == REPLIES
    assert final_state(store, run) == await anyio.to_thread.run_sync(calm_state, delivery)


@pytest.mark.anyio
@pytest.mark.parametrize("delivery", ["keyed", "confirmable"])
async def test_a_write_that_was_done_but_never_confirmed_is_not_done_again(home: Path, delivery: str) -> None:
    """The process dies when the service has done the write and has not answered yet."""
    store = f"sqlite:///{home / 'runs.db'}"
    victim: list[int] = []

    def strike(_count: int) -> None:
        if victim:
            os.kill(victim.pop(), signal.SIGKILL)

    async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService(after_write=strike) as service:
        place = {"store": store, "model": models.base_url, "service": service.url, "delivery": delivery}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.runs.worker", json.dumps(place), stdout=asyncio.subprocess.PIPE, cwd=ROOT
        )
        victim.append(process.pid)
        out, _ = await process.communicate()
        assert process.returncode == -signal.SIGKILL
        run = out.decode().split("\n")[0]
        assert len(service.notes) == 1
        code, _, result = await work(**place, run=run)
        assert code == 0
        assert result is not None
        assert result.status == "completed"
        assert len(service.notes) == 1
        assert len(models.served) == REPLIES


@pytest.mark.anyio
@pytest.mark.parametrize(("assume", "notes"), [("done", 0), ("redo", 1)])
async def test_a_plain_write_in_doubt_stops_the_resume_until_a_person_decides(
    home: Path, assume: str, notes: int
) -> None:
    """Nobody can say whether a plain write happened: the run says which call, and takes the person's word."""
    store = f"sqlite:///{home / 'runs.db'}"
    async with ModelServer(ScriptedModel("clerk", clerk)) as models, NoteService() as service:
        place = {"store": store, "model": models.base_url, "service": service.url, "delivery": "plain"}
        code, run, _ = await work(**place, kill="after intent", at=1)
        assert code == -signal.SIGKILL
        code, _, stopped = await work(**place, run=run)
        assert code == 0
        assert stopped is not None
        assert stopped.error is not None
        assert stopped.error.kind == "UnconfirmedWrite"
        assert 'post({"text":"hello"})' in stopped.error.message
        assert len(service.notes) == 0
        code, _, result = await work(**place, run=run, assume=assume)
        assert code == 0
        assert result is not None
        assert result.status == "completed"
        assert len(service.notes) == notes
        assert len(models.served) == REPLIES
