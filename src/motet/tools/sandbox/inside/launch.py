"""The program that is started for each run: builds the sandbox around itself and reports how the code in it ended.

Run as ``python -I -S -c "…; main()" FOLDER CONTROL``. CONTROL is a socket to whoever asked: the request comes in, one JSON
report goes out, and its closing means that nobody waits any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from typing import NoReturn

from .program import Request, start, write_files
from .supervise import Abandoned, Bell, report, say, supervise


def main() -> NoReturn:
    """Serve one request and exit; a failure on the way is the report."""
    control = int(sys.argv[2])
    os.set_inheritable(control, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the code could send it to its supervisor
    try:
        request: Request = json.loads(_read(control, int.from_bytes(_read(control, 8), "big")))
        contents = {name: _read(control, size) for name, size in request["files"]}
        if request["level"] == "namespaces":
            from .isolate import run_isolated  # its system calls exist on Linux only

            run_isolated(request, contents, control=control)
        else:
            _run_weak(request, contents, control=control)
    except Abandoned:
        os._exit(1)
    except BaseException as error:  # noqa: BLE001 — whatever it is, the other side must hear of it
        report(control, {"failed": say(error)})
        os._exit(1)
    os._exit(0)


def _run_weak(request: Request, contents: Mapping[str, bytes], *, control: int) -> None:
    """Level ``weak``: a process group with limits, a clean environment and a temporary folder. Hides nothing."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="motet-python-", dir=request["temporary"]))
    try:
        write_files(folder, contents)
        bell = Bell()
        child = start(request, folder=folder, count_processes=False)

        def kill() -> None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)

        ending = supervise(child, bell=bell, control=control, wall=request["wall"], memory=None, kill=kill)
        kill()  # children that outlived it
        report(control, {**ending, "folder": folder})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read(descriptor: int, size: int) -> bytes:
    """Exactly ``size`` bytes. Raises Abandoned at an early end."""
    parts = []
    while size:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            raise Abandoned
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
