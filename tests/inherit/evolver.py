"""A process that does a whole ``inherit`` run that writes, or resumes it, and if told so kills itself at one exact point of it.

``python -m tests.inherit.evolver JSON`` with the keys ``store``, ``model`` (base URL), ``service`` (URL of a live world, else a notebook is written to), and perhaps
``run`` (resume that one), ``kill`` (a point's name) and ``at`` (its n-th time). Prints the run's id as soon as there is one, then as one JSON document the result and the notebook.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import motet
from motet.inherit.system import Inherit
from motet.settings import Provider, Settings
from tests.inherit import worker as engine
from tests.inherit.test_trial import Notebook
from tests.runs import worker as runs

ROUNDS = 3
POINTS = (*engine.POINTS, *(name for name in runs.POINTS if name not in engine.POINTS))


async def main(job: dict[str, Any]) -> None:
    """Do ``job``."""
    if "kill" in job:
        (engine if job["kill"] in engine.POINTS else runs).arm(job["kill"], job["at"])
    # Confirmable: the service keeps what is sent twice, so that it would be seen.
    tools = runs.tools(job["service"], "confirmable") if "service" in job else ()
    world = None if tools else Notebook()

    def tell(event: Any) -> None:
        if event.kind in ("run.started", "run.resumed"):
            print(event.payload["run"], flush=True)

    options: dict[str, Any] = {
        "system": Inherit(model="desk:crew", tools=tools, candidates=ROUNDS),
        "world": world,
        "approve": True,
        "store": job["store"],
        # Under a name of its own, so that runs against servers at different ports can be compared.
        "settings": Settings(providers={"desk": Provider(base_url=job["model"])}),
        "watchers": [tell],
    }
    if "run" in job:
        result = await motet.resume(job["run"], **options)
    else:
        result = await motet.solve("Leave two notes.", **options)
    print(json.dumps({"result": result.model_dump(mode="json"), "notes": world.notes if world else []}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
