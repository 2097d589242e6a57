"""A process in which a team of two works, or resumes its work, and if told so kills itself at one exact point of it.

``python -m tests.fugue.worker JSON`` with the keys ``store``, ``model`` (base URL), and perhaps ``run`` (resume that one), ``kill`` (a point's name) and ``at`` (its n-th
time). Prints the run's id as soon as there is one, then the result as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import motet
from motet.fugue.peer import Room
from motet.fugue.system import Fugue
from motet.runs.journal import Journal
from motet.settings import Provider, Settings
from tests.fugue.crew import SMALL_ROOM
from tests.inherit import worker

POINTS = {
    **worker.POINTS,
    "before input": (Journal, "record", "before", "input"),
    "after input": (Journal, "record", "after", "input"),
    "before observation": (Journal, "record", "before", "tool"),
    "after observation": (Journal, "record", "after", "tool"),
}


async def main(job: dict[str, Any]) -> None:
    """Do ``job``."""
    if "kill" in job:
        worker.POINTS.update(POINTS)
        worker.arm(job["kill"], job["at"])
    system = Fugue(
        model="desk:team", peers=2, tools=("tests.fugue.counting:tool",), room=Room.model_validate(SMALL_ROOM)
    )
    settings = Settings(providers={"desk": Provider(base_url=job["model"])})

    def tell(event: Any) -> None:
        if event.kind in ("run.started", "run.resumed"):
            print(event.payload["run"], flush=True)

    options: dict[str, Any] = {"system": system, "store": job["store"], "settings": settings, "watchers": [tell]}
    if "run" in job:
        result = await motet.resume(job["run"], **options)
    else:
        result = await motet.solve("What is to be done?", **options)
    print(result.model_dump_json(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
