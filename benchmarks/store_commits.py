"""Committed calls per second, and processor time per committed call, by number of concurrent writers.

    python -m benchmarks.store_commits [--url URL]

Without a URL: a new SQLite file. Each writer waits for its own commit before the next; commits are made in groups, and every one is synced to disk. A call
is a journal row with a request, one new message and a reply of about 600 characters each. Processor time is of the whole process, event loop and writer
thread together, system calls included.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
import uuid
from pathlib import Path

from benchmarks.common import parser, publish, table
from motet.store.schema import calls, runs
from motet.store.store import Fence, Row, Store, as_blob

WORK = {1: 500, 10: 5_000, 1_000: 10_000}  # writers, and calls together
TEXT = "lorem ipsum dolor sit amet " * 20


def prepared(run_id: str, writer: int, count: int) -> list[tuple[Row, dict[str, bytes]]]:
    """The calls of one writer."""
    request = as_blob({"max_tokens": 100})
    made = []
    for ordinal in range(count):
        asked = as_blob({"role": "user", "content": f"{uuid.uuid4()} {TEXT}"})
        reply = as_blob({"text": f"{uuid.uuid4()} {TEXT}"})
        row = {
            "run_id": run_id,
            "scope": f"peer-{writer}",
            "ordinal": ordinal,
            "kind": "model",
            "name": "agent",
            "digest": asked[0],
            "state": "done",
            "request": request[0],
            "messages": json.dumps([asked[0]]),
            "reply": reply[0],
            "prompt": 100,
            "completion": 50,
            "created": time.time(),
        }
        made.append((Row(calls, row), dict([asked, reply, request])))
    return made


async def measure(store: Store, writers: int, total: int) -> tuple[float, float]:
    """Commit ``total`` calls by ``writers`` tasks. Calls per second, and microseconds of processor time per call."""
    run_id = uuid.uuid4().hex
    config = as_blob({"run": run_id})
    row = {"id": run_id, "kind": "bench", "system": "none", "config": config[0], "status": "running"}
    await store.write([Row(runs, {**row, "created": 0.0, "updated": 0.0, "fence": 1})], blobs=dict([config]))
    fence = Fence(run_id, 1)
    work = [prepared(run_id, writer, total // writers) for writer in range(writers)]

    async def write(mine: list[tuple[Row, dict[str, bytes]]]) -> None:
        for call, blobs in mine:
            await store.write([call], blobs=blobs, fence=fence)

    start, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(write(mine) for mine in work))
    seconds, used = time.perf_counter() - start, time.process_time() - used
    return total / seconds, used / total * 1e6


def main() -> None:
    """Measure the store at ``--url``, which must be empty or a Motet store, or a new one."""
    options = parser(__doc__)
    options.add_argument("--url", help="of a database; a new SQLite file without it")
    asked = options.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(asked.url or f"sqlite:///{Path(folder) / 'runs.db'}") as store,
    ):
        found = {writers: asyncio.run(measure(store, writers, total)) for writers, total in WORK.items()}
        backend = store.url.get_backend_name()
    rows = [[writers, round(rate), round(cost)] for writers, (rate, cost) in found.items()]
    facts = {"writers": {str(writers): {"calls_per_second": rate, "cpu_us": cost} for writers, rate, cost in rows}}
    text = f"{backend}\n\n{table(['writers', 'calls/s', 'CPU µs/call'], rows)}\n"
    publish("store_commits", as_json=asked.json, facts={"backend": backend, **facts}, text=text)


if __name__ == "__main__":
    main()
