"""The lease: which process may write to a run.

The owner renews a heartbeat; a lease whose heartbeat is older than ``EXPIRES`` seconds, or whose process is gone from this very machine, is
free to be taken. Each take-over raises the run's fencing number, and every write is checked against it, so that a process
that was only slow can never write into a run that has moved on.
"""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from motet.errors import InputError, RunBusy
from motet.store.schema import runs
from motet.store.store import Fence, Store

HEARTBEAT = 2.0  # seconds between heartbeats
EXPIRES = 20.0  # seconds after the last heartbeat; ten missed ones


def me() -> str:
    """The present process, as JSON: host, boot, pid namespace, pid and when the process started."""
    return json.dumps(_identity(os.getpid()), sort_keys=True)


def is_live(owner: str | None, heartbeat: float, *, now: float | None = None) -> bool:
    """Whether a lease with this owner and heartbeat is held by a process that may still be working."""
    if owner is None or (now if now is not None else time.time()) - heartbeat > EXPIRES:
        return False
    holder = json.loads(owner)
    mine = _identity(os.getpid())
    same_machine = all(holder.get(key) == mine[key] for key in ("host", "boot", "space"))
    return not same_machine or _identity(holder["pid"])["started"] == holder["started"]


def shown_status(status: str, owner: str | None, heartbeat: float) -> str:
    """A run's status for people: one that says running but has no live owner is ``interrupted``."""
    return "interrupted" if status == "running" and not is_live(owner, heartbeat) else status


def describe(owner: str | None) -> str:
    """An owner for people, such as ``process 4711 on host``."""
    if owner is None:
        return "nobody"
    holder = json.loads(owner)
    return f"process {holder['pid']} on {holder['host']}"


async def take(store: Store, run_id: str) -> Fence:
    """Take the lease of ``run_id`` for this process. Raises RunBusy while another live process holds it."""
    now = time.time()

    def swap(connection: sa.Connection) -> Fence:
        row = connection.execute(
            sa.select(runs.c.owner, runs.c.heartbeat, runs.c.fence).where(runs.c.id == run_id).with_for_update()
        ).first()
        if row is None:
            raise InputError(f"run {run_id} is not in the store")
        if is_live(row.owner, row.heartbeat, now=now):
            raise RunBusy(
                f"run {run_id} is being worked on by {describe(row.owner)}; wait for it, or stop it with: motet runs cancel {run_id}",
                owner=describe(row.owner),
            )
        fence = Fence(run_id, row.fence + 1)
        connection.execute(
            runs.update()
            .where(runs.c.id == run_id)
            .values(
                owner=me(), heartbeat=now, updated=now, fence=fence.number, cancel=False, status="running", error=None
            )
        )
        return fence

    fence = await store.write(then=swap)
    assert fence is not None
    store.forget_blobs()
    return fence


async def beat(store: Store, fence: Fence, *, elapsed: float) -> bool:
    """Renew the heartbeat and record the working time. Returns whether someone asked the run to stop. Raises LeaseLost."""

    def renew(connection: sa.Connection) -> bool:
        connection.execute(
            runs.update().where(runs.c.id == fence.run_id).values(heartbeat=time.time(), elapsed=elapsed)
        )
        return bool(connection.execute(sa.select(runs.c.cancel).where(runs.c.id == fence.run_id)).scalar_one())

    return bool(await store.write(then=renew, fence=fence))


async def release(store: Store, fence: Fence, **values: Any) -> None:
    """Give the lease back and set ``values`` on the run's row (status, result, …). Raises LeaseLost."""

    def give_back(connection: sa.Connection) -> None:
        connection.execute(
            runs.update().where(runs.c.id == fence.run_id).values(owner=None, updated=time.time(), **values)
        )

    await store.write(then=give_back, fence=fence)


async def request_cancel(store: Store, run_id: str) -> bool:
    """Ask the owner of ``run_id`` to stop; it looks at every heartbeat. Returns whether anybody is working on it."""

    def mark(connection: sa.Connection) -> bool:
        row = connection.execute(sa.select(runs.c.owner, runs.c.heartbeat).where(runs.c.id == run_id)).first()
        if row is None:
            raise InputError(f"run {run_id} is not in the store")
        live = is_live(row.owner, row.heartbeat)
        if live:
            connection.execute(runs.update().where(runs.c.id == run_id).values(cancel=True))
        return live

    return bool(await store.write(then=mark))


def _identity(pid: int) -> dict[str, Any]:
    return {
        "host": socket.gethostname(),
        "boot": _text("/proc/sys/kernel/random/boot_id"),
        "space": _link("/proc/self/ns/pid"),
        "pid": pid,
        "started": _started(pid),
    }


def _started(pid: int) -> str | None:
    """Something that tells this process from a later one with the same pid; ``None`` when there is no such process."""
    if Path("/proc/self/stat").exists():
        stat = _text(f"/proc/{pid}/stat")
        # The command name is in parentheses and may hold spaces; the start time is the 20th field after it. A zombie works no more.
        fields = stat.rpartition(")")[2].split()
        return fields[19] if len(fields) > 19 and fields[0] != "Z" else None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "alive"


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
