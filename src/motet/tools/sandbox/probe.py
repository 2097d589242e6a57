"""What isolation works here, found by trying: a program runs in the sandbox and reports what it can reach."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from motet.errors import InputError, MotetError, ToolError
from motet.tools.sandbox.execute import execute
from motet.tools.sandbox.judge import Found, judge
from motet.tools.sandbox.layout import layout
from motet.tools.sandbox.value import Check, Execution, Limits, SandboxReport

_EXPLORER = Path(__file__).parent / "inside" / "explore.py"
_SWITCHES = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "1 allows user namespaces"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "0, or an AppArmor profile with userns, allows them",
    ),
    ("/proc/sys/user/max_user_namespaces", "0", "a larger number allows them"),
)
_lock = threading.Lock()
_known: list[SandboxReport] = []


def probe() -> SandboxReport:
    """Try the sandbox and report the level that works. Takes about 0.1 s the first time; kept for this process."""
    with _lock:
        if not _known:
            # In a thread of its own, as the caller's may have a running event loop.
            with ThreadPoolExecutor(1, thread_name_prefix="motet-sandbox-probe") as worker:
                _known.append(worker.submit(asyncio.run, _try()).result())
        return _known[0]


def require(*, allow_weak: bool) -> SandboxReport:
    """The report, if its level may be used. Raises InputError that says why it may not and what to do."""
    report = probe()
    if report.level == "weak" and not allow_weak:
        raise InputError(
            f"the python tool needs Linux namespaces, which do not work here ({report.reason}); enable them "
            "(docs/sandbox.md), or accept a sandbox that hides neither files nor the network: --allow-weak-sandbox"
        )
    return report


async def _try() -> SandboxReport:
    python = platform.python_version()
    if sys.platform != "linux":
        check = Check(name="namespaces", ok=False, detail=f"{platform.system()} has none")
        return SandboxReport(level="weak", checks=(check,), python=python)
    limits = Limits(wall_seconds=20)
    with (
        tempfile.NamedTemporaryFile(prefix="motet-probe-") as canary,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        hidden = sorted({*_private_paths(), canary.name})
        question = json.dumps({"hidden": hidden, "port": server.getsockname()[1]})
        try:
            execution = await execute(
                _EXPLORER.read_text(), files={}, stdin=question, limits=limits, level="namespaces"
            )
            checks = (Check(name="namespaces", ok=True, detail="made"), *judge(_answer(execution), limits))
        except MotetError as error:
            checks = (Check(name="namespaces", ok=False, detail=f"{error}{_hint()}"),)
        except OSError as error:
            checks = (Check(name="namespaces", ok=False, detail=f"the interpreter does not start: {error}"),)
    works = all(check.ok for check in checks if check.required)
    return SandboxReport(level="namespaces" if works else "weak", checks=checks, python=python)


def _answer(execution: Execution) -> Found:
    if not execution.ok:
        last = execution.stderr.rstrip().rpartition("\n")[2]
        raise ToolError(f"the program in it ended with {execution.signal or execution.exit_code} {last}".rstrip())
    found: Found = json.loads(execution.stdout)
    return found


def _private_paths() -> Iterator[str]:
    """Paths of the user's that exist here. A folder on the way to the interpreter is replaced by its other entries."""
    places = [
        *(Path(os.path.expanduser(path)) for path in ("~", os.environ.get("MOTET_HOME", "~"))),
        Path("/root"),
        Path("/home"),
        Path.cwd(),
        Path("/etc/passwd"),
        Path("/etc/hostname"),
    ]
    shown = [Path(path) for path in layout().binds]
    own = {Path(path) for path in ("/", "/dev", "/proc", "/tmp")}  # noqa: S108 — the sandbox has these of its own
    while places:
        place = places.pop()
        if place in own:
            continue
        try:
            if any(path.is_relative_to(place) for path in shown):
                places += [entry for entry in sorted(place.iterdir())[:100] if entry not in shown]
            elif place.exists() and not any(place.is_relative_to(path) for path in shown):
                yield str(place)
        except OSError:  # a folder this user may not look into
            continue


def _hint() -> str:
    """What on this machine is known to forbid namespaces."""
    for path, wrong, advice in _SWITCHES:
        try:
            if Path(path).read_text().strip() == wrong:
                return f" ({path} is {wrong}; {advice})"
        except OSError:
            continue
    return ""
