"""How long it takes to find a record among a million, and what several processes store at once.

    python -m benchmarks.inherit_records [--records 1000000] [--lookups 2000] [--writers 8] [--each 250]

The store is a new SQLite file, in a folder that is removed afterwards. Records are whole ones as the engine writes them, each under the key of its own determinants;
they are put in by large inserts. Lookups are ``Records.get`` for keys that are there, drawn at random with a seed, and for as many that are not; each reads row and blob in a
reading thread, checks the blob's hash and the record's key.

Then ``--writers`` processes store ``--each`` records of their own through ``Records.put``, each waiting for one before the next, into the same file. Every one must be
there afterwards.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.common import parser, publish, table
from motet.canonical import digest, digest_bytes
from motet.inherit.keys import Determinants
from motet.inherit.records import NodeRecord, Records
from motet.store.blobs import pack
from motet.store.schema import records
from motet.store.store import Store
from motet.usage import Totals

INSERT = 5_000  # records in one transaction
MARK = 987_654_321
NAMESPACE = "bench/records"
BLOB = "INSERT INTO blobs (hash, size, codec, data, created) VALUES (?, ?, ?, ?, ?)"
ROW = 'INSERT INTO records (namespace, "key", body, run_id, created) VALUES (?, ?, ?, ?, ?)'


def record(writer: str, number: int) -> NodeRecord:
    """A record of a small worker."""
    prompt = f"You are worker {writer} {number}. Look for what the entry says, and answer in one sentence."
    determinants = Determinants(
        node={"role": "worker", "subtask": f"Look at entry {number}.", "prompt": prompt, "tools": []},
        instructions=f"You are one of several agents who work on a task.\n\n{prompt}",
        task={"question": "What do the entries add up to?", "context": {}},
        prompts=digest("prompts"),
        system={"class": "motet.agent.react:React", "config": {"max_steps": 12, "sampling": {"temperature": 0}}},
        models=({"identity": "scripted:instant@1", "context": None, "reply_limit": None, "native_tools": True},),
        tools=(),
        environment="no world",
        within=None,
        upstream=(),
        replica=None,
    )
    output = f"Entry {number} was kept by hand until it was copied out in full; its number is {number}."
    usage = Totals(calls=1, prompt=120, completion=20)
    return NodeRecord(
        determinants=determinants,
        output=output,
        usage=usage,
        model="instant",
        read_only=True,
        run_id="r1",
        scope=f"task/candidate/{writer}{number}",
    )


def build(store: Store, count: int) -> list[str]:
    """Fill ``store`` and return the keys."""
    keys: list[str] = []
    # The engine's own bytes, with another number in each.
    model = record("b", MARK).model_dump_json()
    made = (model.replace(str(MARK), str(number)) for number in range(count))
    while some := list(islice(made, INSERT)):
        now = time.time()
        blobs: list[Any] = []
        rows: list[Any] = []
        for one in some:
            content = one.encode()
            name = digest_bytes(content)
            blobs.append((name, *pack(content), now))
            rows.append((NAMESPACE, digest(json.loads(one)["determinants"]), name, "r1", now))
        keys += [row[1] for row in rows]

        def insert(connection: sa.Connection, blobs: list[Any] = blobs, rows: list[Any] = rows) -> None:
            cursor = connection.connection.cursor()
            cursor.executemany(BLOB, blobs)
            cursor.executemany(ROW, rows)

        store.write_now(then=insert)
    return keys


async def look_up(store: Store, keys: list[str]) -> tuple[list[float], list[float]]:
    """Microseconds of each lookup: of ``keys``, and of as many that are not there, in turn."""
    found, missed = [], []
    known = Records(store, NAMESPACE)
    for key in keys:
        start = time.perf_counter()
        lookup = await known.get(key)
        found.append((time.perf_counter() - start) * 1e6)
        assert lookup.record is not None, lookup.damage
        start = time.perf_counter()
        lookup = await known.get(digest(key))
        missed.append((time.perf_counter() - start) * 1e6)
        assert lookup == (None, "")
    return found, missed


def write(url: str, writer: int, count: int) -> None:
    """One process of several that store records."""

    async def put_all(known: Records) -> None:
        for number in range(count):
            assert await known.put(record(f"w{writer}-", number))

    with Store.open(url) as store:
        asyncio.run(put_all(Records(store, NAMESPACE)))


def write_at_once(store: Store, *, writers: int, each: int) -> tuple[float, int]:
    """Seconds that it took all of them, their start included, and how many records were lost."""
    url = store.url.render_as_string(hide_password=False)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write, args=(url, writer, each)) for writer in range(writers)]
    start = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - start
    wanted = [record(f"w{writer}-", number) for writer in range(writers) for number in range(each)]

    async def lost() -> int:
        known = Records(store, NAMESPACE)
        return sum([(await known.get(one.determinants.key)).record != one for one in wanted])

    return seconds, asyncio.run(lost())


def percentiles(times: list[float]) -> tuple[float, float]:
    """Median and 99th percentile."""
    return statistics.median(times), statistics.quantiles(times, n=100)[98]


def main() -> int:
    """Measure, print, and judge."""
    options = parser(__doc__)
    options.add_argument("--records", type=int, default=1_000_000)
    options.add_argument("--lookups", type=int, default=2_000)
    options.add_argument("--writers", type=int, default=8)
    options.add_argument("--each", type=int, default=250, help="records that each writer stores")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        with Store.open(f"sqlite:///{file}") as store:
            start = time.perf_counter()
            keys = build(store, asked.records)
            building = time.perf_counter() - start
            drawn = random.Random(1).choices(keys, k=asked.lookups)
            found, missed = map(percentiles, asyncio.run(look_up(store, drawn)))
            seconds, lost = write_at_once(store, writers=asked.writers, each=asked.each)
            there = store.read_now(
                lambda connection: connection.execute(sa.select(sa.func.count()).select_from(records)).scalar_one()
            )
        size = file.stat().st_size
    stored = asked.writers * asked.each
    lost = max(lost, asked.records + stored - there)
    rows = [["lookup, there", *found], ["lookup, not there", *missed]]
    text = (
        f"{asked.records:,} records, {size / 1e6:,.0f} MB, built in {building:,.0f} s\n\n"
        f"{table(['', 'median µs', 'p99 µs'], rows)}\n\n"
        f"{asked.writers} processes stored {stored:,} records in {seconds:.1f} s, their start included: "
        f"{stored / seconds:,.0f} a second, {lost} lost (wanted: 0): {'PASS' if not lost else 'FAIL'}"
    )
    facts = {
        "records": asked.records,
        "megabytes": size / 1e6,
        "build_seconds": building,
        "lookup_us": {"there": found, "not_there": missed},
        "writers": {"processes": asked.writers, "records": stored, "seconds": seconds, "lost": lost},
        "pass": not lost,
    }
    publish("inherit_records", as_json=asked.json, facts=facts, text=text)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
