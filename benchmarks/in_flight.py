"""A thousand agents at once through Motet's whole path: is a call lost, how long does it take beside the bare client, and what does it cost in memory?

    python -m benchmarks.in_flight [--agents 1000] [--rounds 5] [--latency 3]

The server waits ``--latency`` seconds before each answer, long enough for every agent's request to be there at the same time. Each agent makes two requests: one that is
answered by a tool call, and one with the tool's result. Each arm works in a new process in each round, the two in turn; then Motet works once more against a
server that fails a fifth of all requests, in every way that it knows. Counted are whole answers at the server, and model calls with their replies in the store after the work was done once.

Memory is resident: before the first call (everything imported, the store open), at its peak, after the work, and, in the first round, after as much work
again in the same process, which shows whether it grows with the number of calls. Exits with 1 when a call was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.common import ROOT, Server, parser, publish, table
from benchmarks.work import with_bare_client, with_motet
from motet.store.schema import calls
from motet.store.store import Store

STEPS = 2  # requests of each agent
ATTEMPTS = 10  # for one call; of 2,000 calls, none should meet a fault ten times in a row


def resident() -> float:
    """Resident memory of this process in MB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def work(arm: str, url: str, agents: int, *, warm_url: str, twice: bool) -> dict[str, float]:
    """One arm's work in this process. With ``twice`` it is done again, for ``again_mb``; the other figures are those of the first time."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder, Store.open(f"sqlite:///{Path(folder) / 'runs.db'}") as store:

        def once(url: str, count: int) -> float:
            start = time.perf_counter()
            if arm == "bare":
                asyncio.run(with_bare_client(url, agents=count))
            else:
                asyncio.run(with_motet(url, agents=count, store=store, attempts=ATTEMPTS))
            return time.perf_counter() - start

        once(warm_url, 1)
        stored = in_store(store)
        facts = {"before_mb": resident()}
        used = time.process_time()
        facts["seconds"] = once(url, agents)
        facts["cpu_seconds"] = time.process_time() - used
        facts["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        facts["after_mb"] = resident()
        facts["stored"] = in_store(store) - stored
        if twice:
            once(url, agents)
            facts["again_mb"] = resident()
    return facts


def in_store(store: Store) -> int:
    """Model calls with a reply, each at its own place, and none marked as failed or superseded."""
    place = sa.select(calls.c.run_id, calls.c.scope, calls.c.ordinal).distinct()
    answered = place.where(calls.c.kind == "model", calls.c.state == "done", calls.c.reply.is_not(None))
    count = sa.select(sa.func.count()).select_from(answered.where(sa.not_(calls.c.superseded)).subquery())
    return store.read_now(lambda connection: connection.execute(count).scalar_one())


def in_new_process(arm: str, server: Server, agents: int, *, warm: Server, twice: bool) -> dict[str, float]:
    """``work`` in a process of its own, with the server's counts."""
    before = server.stats()
    command = [sys.executable, "-m", "benchmarks.in_flight", "--agents", str(agents), "--arm", arm]
    command += ["--url", server.base_url, "--warm-url", warm.base_url, *(["--twice"] if twice else [])]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    facts: dict[str, float] = json.loads(done.stdout)
    after = server.stats()
    facts["expected"] = STEPS * agents * (2 if twice else 1)
    facts["answered"] = after.completed - before.completed
    facts["faults"] = after.faults - before.faults
    facts["at_once"] = after.at_once
    return facts


def main() -> int:
    """Measure, print, and judge."""
    options = parser(__doc__)
    options.add_argument("--agents", type=int, default=1000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--latency", type=float, default=3.0, help="seconds before each answer")
    options.add_argument("--arm", choices=("bare", "motet"), help=argparse.SUPPRESS)
    options.add_argument("--url", help=argparse.SUPPRESS)
    options.add_argument("--warm-url", help=argparse.SUPPRESS)
    options.add_argument("--twice", action="store_true", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.arm:
        print(json.dumps(work(asked.arm, asked.url, asked.agents, warm_url=asked.warm_url, twice=asked.twice)))
        return 0
    arms: dict[str, list[dict[str, float]]] = {"bare": [], "motet": []}
    with Server(calls=STEPS - 1) as warm, Server(calls=STEPS - 1, latency=asked.latency) as server:
        for number in range(asked.rounds):
            for arm in sorted(arms, reverse=number % 2 == 1):
                arms[arm].append(in_new_process(arm, server, asked.agents, warm=warm, twice=number == 0))
    faulty = Server(calls=STEPS - 1, latency=asked.latency, faults="mixed=0.2", seed=1)
    with Server(calls=STEPS - 1) as warm, faulty as server:
        arms["motet, 20 % faults"] = [in_new_process("motet", server, asked.agents, warm=warm, twice=True)]
    ok = all(
        one["answered"] == one["expected"] and one["stored"] == (0 if arm == "bare" else asked.agents * STEPS)
        for arm, rounds in arms.items()
        for one in rounds
    )
    facts = {arm: summary(rounds, asked.agents) for arm, rounds in arms.items()}
    ratio = statistics.median(
        mine["seconds"] / theirs["seconds"] for mine, theirs in zip(arms["motet"], arms["bare"], strict=True)
    )
    most = max(one["at_once"] for one in arms["bare"] + arms["motet"])
    columns = ["arm", *next(iter(facts.values()))]
    text = (
        f"{asked.agents} agents at once, {STEPS} requests each, {asked.latency:g} s before each answer; median of {asked.rounds} interleaved rounds, "
        f"faults once\n\n"
        f"{table(columns, [[arm, *values.values()] for arm, values in facts.items()])}\n\n"
        f"at most {most:.0f} requests were at the server at once; motet takes {ratio:.2f} times as long as bare\n"
        f"no call lost, at the server and in the store: {'PASS' if ok else 'FAIL'}"
    )
    publish(
        "in_flight",
        as_json=asked.json,
        facts={"arms": facts, "at_once": most, "motet_seconds_over_bare": ratio, "pass": ok},
        text=text,
    )
    return 0 if ok else 1


def summary(rounds: list[dict[str, float]], agents: int) -> dict[str, Any]:
    """Medians over the rounds, by column; the counts are sums."""
    median = {name: statistics.median(one[name] for one in rounds if name in one) for name in rounds[0]}
    total = {name: round(sum(one[name] for one in rounds)) for name in ("expected", "answered", "stored", "faults")}
    return {
        "seconds": median["seconds"],
        "CPU s": median["cpu_seconds"],
        "expected": total["expected"],
        "answered": total["answered"],
        "in store": total["stored"],
        "faults": total["faults"],
        "MB before": median["before_mb"],
        "peak": median["peak_mb"],
        "after": median["after_mb"],
        "after twice": median["again_mb"],
        "kB per agent": (median["peak_mb"] - median["before_mb"]) * 1e3 / agents,
    }


if __name__ == "__main__":
    sys.exit(main())
