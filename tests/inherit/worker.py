"""A process that executes two candidates, the second one edit away from the first, or resumes that, and if told so kills itself at one exact point of it.

``python -m tests.inherit.worker JSON`` with the keys ``store``, ``model`` (base URL), and perhaps ``run`` (resume that one), ``kill`` (a point's name) and ``at`` (its
n-th time). Prints the run's id as soon as there is one, then the result as JSON.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import signal
import sys
from typing import Any

import motet
from motet.inherit import records
from motet.inherit.engine import execute, react_worker
from motet.inherit.records import Records
from motet.models.endpoint import Endpoint
from motet.models.model import Sampling
from motet.runs.journal import Journal
from motet.runs.run import Run
from motet.runs.sitting import Sitting
from motet.settings import Provider, Settings
from motet.store.store import Store
from motet.store.writer import Writer
from motet.system import Configured, Needs
from tests.inherit.graphs import GENERAL
from tests.inherit.team import changed, thinkers

NAMESPACE = "kill"
FIRST = thinkers()
SECOND = changed(FIRST, "dates", prompt="Be dates. Be quick.")

# point: whose function, before or after it, and a word in the calls of it that count
POINTS: dict[str, tuple[Any, str, str, str]] = {
    "before decision": (Journal, "post", "before", ""),
    "after decision": (Journal, "post", "after", ""),
    "before send": (Endpoint, "reply", "before", ""),
    "after reply": (Endpoint, "reply", "after", ""),
    "before commit": (Journal, "record_reply", "before", ""),
    "after commit": (Journal, "record_reply", "after", ""),
    "before record": (Records, "post", "before", ""),
    "after record": (Records, "post", "after", ""),
    "within record": (records, "run_quickly", "before", records._PUT),
    "before transaction": (Writer, "_transaction", "before", ""),
    "after transaction": (Writer, "_transaction", "after", ""),
    "before flush": (Store, "flush", "before", ""),
    "after flush": (Store, "flush", "after", ""),
    "before result": (Sitting, "_record", "before", ""),
    "after result": (Sitting, "_record", "after", ""),
}


def arm(point: str, at: int) -> None:
    """Kill this process, as ``kill -9`` would, the ``at``-th time that ``point`` is reached."""
    owner, name, when, word = POINTS[point]
    original = getattr(owner, name)
    reached = 0

    def strike(now: str, args: tuple[Any, ...]) -> None:
        nonlocal reached
        counts = now == when and (not word or word in args)
        reached += counts
        if counts and reached == at:
            os.kill(os.getpid(), signal.SIGKILL)

    @functools.wraps(original)
    def plain(*args: Any, **options: Any) -> Any:
        strike("before", args)
        value = original(*args, **options)
        strike("after", args)
        return value

    @functools.wraps(original)
    async def awaited(*args: Any, **options: Any) -> Any:
        strike("before", args)
        value = await original(*args, **options)
        strike("after", args)
        return value

    setattr(owner, name, awaited if inspect.iscoroutinefunction(original) else plain)


class Candidates(Configured):
    """Both candidates; the answer is the second one's."""

    agent: motet.React

    @property
    def name(self) -> str:
        """``candidates``."""
        return "candidates"

    def needs(self) -> Needs:
        """The agents'."""
        return self.agent.needs()

    async def solve(self, task: motet.Task, *, run: Run) -> motet.Result:
        """Execute one after the other."""
        parent = None
        for number, workflow in enumerate((FIRST, SECOND), 1):
            parent = await execute(
                workflow,
                task,
                run=run.child(f"candidate-{number}"),
                worker=react_worker(self.agent),
                roles=GENERAL,
                records=Records(run.store, NAMESPACE),
                parent=parent,
            )
        assert parent is not None
        return motet.Result(status="completed", answer=parent.output)


async def main(job: dict[str, Any]) -> None:
    """Do ``job``."""
    if "kill" in job:
        arm(job["kill"], job["at"])
    system = Candidates(agent=motet.React(model="desk:team", sampling=Sampling(temperature=0)))
    # Under a name of its own, so that runs against servers at different ports have the same keys.
    settings = Settings(providers={"desk": Provider(base_url=job["model"])})

    def tell(event: Any) -> None:
        if event.kind in ("run.started", "run.resumed"):
            print(event.payload["run"], flush=True)

    options: dict[str, Any] = {
        "system": system,
        "store": job["store"],
        "settings": settings,
        "watchers": [tell],
    }
    if "run" in job:
        result = await motet.resume(job["run"], **options)
    else:
        result = await motet.solve("What is to be done?", **options)
    print(result.model_dump_json(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
