"""Kill a breeding at boundaries of its calls; the resumed run draws and decides the same, and pays for no call twice."""

from __future__ import annotations

import asyncio
import functools
import json
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest

from motet.models.model import Request
from motet.task import Result
from motet.testing import ModelServer
from tests.baselines.crew import kind_of, story
from tests.baselines.test_evomas import PARENTS, child, rewrite
from tests.inherit.studio import marks
from tests.runs.desk import Says
from tests.runs.test_kill import ROOT


def says(request: Request) -> str:
    """What each role says follows from what it is asked, so that it is the same in every process."""
    mark = request.digest[:8]
    match kind_of(request):
        case "parents":
            return json.dumps(PARENTS)
        case "adapt":
            return json.dumps({"nodes": []})
        case "mutate":
            return json.dumps(rewrite(f"As {mark} says."))
        case "cross":
            return json.dumps(child(f"As {mark} says."))
        case "judge":
            return json.dumps(marks(int(mark, 16) % 100))
    return f"answer {mark}"


async def work(**job: Any) -> tuple[int, str, Result | None]:
    """Run the worker to its end: exit code, the run's id, and the result if it lived to tell."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.baselines.worker", json.dumps(job), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    lines = out.decode().splitlines()
    result = Result.model_validate_json(lines[-1]) if lines and lines[-1].startswith("{") else None
    return process.returncode, lines[0] if lines else "", result


@functools.cache
def calm() -> tuple[Result, int]:
    """The result of a run that nothing interrupts, and how many requests it took."""

    async def run(folder: str) -> tuple[Result, int]:
        model = Says(says, name="crew")
        async with ModelServer(model) as models:
            code, _, result = await work(store=f"sqlite:///{folder}/runs.db", model=models.base_url)
        assert code == 0
        assert result is not None
        return result, len(model.requests)

    with TemporaryDirectory() as folder:
        return anyio.run(run, folder)


@pytest.mark.parametrize(
    ("point", "at"),
    [("after reply", 9), ("before commit", 13), ("after commit", 20)],
)
def test_a_killed_breeding_resumes_to_the_same_children(home: Path, point: str, at: int) -> None:
    """Rounds, kinds of children, marks, choice and answer are those of a calm run, and only calls that were under way are made again."""
    expected, requests = calm()
    place: dict[str, Any] = {"store": f"sqlite:///{home / 'runs.db'}"}
    model = Says(says, name="crew")

    async def main() -> Result:
        async with ModelServer(model) as models:
            code, run, _ = await work(**place, model=models.base_url, kill=point, at=at)
            assert code == -signal.SIGKILL
            code, _, result = await work(**place, model=models.base_url, run=run)
            assert code == 0
            assert result is not None
            return result

    result = anyio.run(main)
    assert story(result) == story(expected)
    assert result.answer == expected.answer
    # Two nodes side by side are the most that can be under way.
    assert requests <= len(model.requests) <= requests + 2
    spent = result.usage + result.earlier
    assert spent.calls - spent.failed == requests
