"""A process that solves or resumes one run and, if told so, kills itself at one exact point of it.

``python -m tests.runs.worker JSON`` with the keys ``store``, ``model`` (base URL), ``service`` (URL), ``delivery``, and perhaps ``run`` (resume that one),
``assume``, ``plan`` (draft the writes, then commit them), ``approve``, ``kill`` (a point's name) and ``at`` (its n-th time). Prints the run's id as soon as there is one, then the result as JSON.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import httpx2

import motet
from motet.models.endpoint import Endpoint
from motet.runs import lease
from motet.runs.journal import Journal
from motet.runs.sitting import Sitting
from motet.settings import Provider, Settings
from motet.tools.function import FunctionTool, Key
from tests.runs.planner import Planner

# point: whose method, before or after it, and which of its calls count
POINTS: dict[str, tuple[Any, str, str, Callable[..., bool]]] = {
    "before send": (Endpoint, "reply", "before", lambda *_, **__: True),
    "before commit": (Journal, "record_reply", "before", lambda *_, **__: True),
    "after commit": (Journal, "record_reply", "after", lambda *_, **__: True),
    "before observation": (Journal, "record", "before", lambda _self, _place, kind, *_, **__: kind == "tool"),
    "after observation": (Journal, "record", "after", lambda _self, _place, kind, *_, **__: kind == "tool"),
    "before approval": (Journal, "record", "before", lambda _self, _place, kind, *_, **__: kind == "input"),
    "after approval": (Journal, "record", "after", lambda _self, _place, kind, *_, **__: kind == "input"),
    "before write": (Journal, "record", "before", lambda _self, _place, kind, *_, **__: kind == "write"),
    "after intent": (Journal, "record", "after", lambda _self, _place, kind, *_, **__: kind == "write"),
    "before confirm": (Journal, "confirm", "before", lambda *_, **__: True),
    "after confirm": (Journal, "confirm", "after", lambda *_, **__: True),
    "before result": (Sitting, "_record", "before", lambda *_, **__: True),
    "after result": (Sitting, "_record", "after", lambda *_, **__: True),
    "before release": (lease, "release", "before", lambda *_, **__: True),
}


def arm(point: str, at: int) -> None:
    """Kill this process, as ``kill -9`` would, the ``at``-th time that ``point`` is reached."""
    owner, name, when, counts = POINTS[point]
    original = getattr(owner, name)
    reached = 0

    def hit(*args: Any, **options: Any) -> bool:
        nonlocal reached
        reached += counts(*args, **options)
        return counts(*args, **options) and reached == at

    @functools.wraps(original)
    async def wrapped(*args: Any, **options: Any) -> Any:
        struck = hit(*args, **options)
        if struck and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        value = await original(*args, **options)
        if struck:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    setattr(owner, name, wrapped)


def tools(service: str, delivery: str) -> tuple[FunctionTool, ...]:
    """A read that looks at the notes, and a write that adds one."""

    def look(topic: str) -> str:
        """Look at what is known.

        :param topic: What to look for.
        """
        return f"about {topic}: {len(httpx2.get(service).json())} notes without a key"

    def post(text: str, key: Key) -> str:
        """Post a note.

        :param text: What it says.
        """
        note = {"text": text, "key": str(key)} | ({"idempotent": True} if delivery == "keyed" else {})
        return json.dumps(httpx2.post(service, json=note).raise_for_status().json())

    def confirm(key: str) -> str | None:
        return json.dumps({"kept": True}) if httpx2.get(service, params={"key": key}).json() else None

    return (
        FunctionTool(look, version="1"),
        FunctionTool(
            post,
            effect="write",
            delivery=delivery,  # type: ignore[arg-type]
            version="1",
            confirm=confirm if delivery == "confirmable" else None,
        ),
    )


async def main(job: dict[str, Any]) -> None:
    """Do ``job``."""
    if "kill" in job:
        arm(job["kill"], job["at"])
    ours = tools(job["service"], job["delivery"])
    clerk = motet.React(model="desk:clerk")
    system: motet.System = (
        Planner(agent=clerk, tools=ours) if job.get("plan") else clerk.model_copy(update={"tools": ours})
    )
    # Under a name of its own, so that runs against servers at different ports can be compared.
    settings = Settings(providers={"desk": Provider(base_url=job["model"])})

    def tell(event: Any) -> None:
        if event.kind in ("run.started", "run.resumed"):
            print(event.payload["run"], flush=True)

    if "run" in job:
        assume = job.get("assume")
        result = await motet.resume(
            job["run"],
            system=system,
            assume=assume,
            approve=job.get("approve"),
            store=job["store"],
            settings=settings,
            watchers=[tell],
        )
    else:
        result = await motet.solve(
            "Post a note.",
            system=system,
            approve=job.get("approve"),
            store=job["store"],
            settings=settings,
            watchers=[tell],
        )
    print(result.model_dump_json(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
