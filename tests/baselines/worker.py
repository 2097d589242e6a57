"""A process that solves or resumes one task with ``evomas`` and, if told so, kills itself at one exact point of it.

``python -m tests.baselines.worker JSON`` with the keys ``store``, ``model`` (base URL), and perhaps ``run`` (resume that one), ``kill`` (a point's name) and ``at`` (its
n-th time). Prints the run's id as soon as there is one, then the result as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import motet
from motet.settings import Provider, Settings
from tests.inherit.worker import arm


async def main(job: dict[str, Any]) -> None:
    """Do ``job``."""
    if "kill" in job:
        arm(job["kill"], job["at"])
    system = motet.EvoMAS(model="desk:crew", mutation=0.7, generations=3)
    # Under a name of its own, so that runs against servers at different ports are asked the same.
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
