"""One run at a given level: starts the launcher, speaks to it, collects what comes out, leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import anyio

from motet.errors import InputError, ToolError
from motet.tools.sandbox.capture import Capture, drain
from motet.tools.sandbox.inside.program import MAIN, Request
from motet.tools.sandbox.layout import layout
from motet.tools.sandbox.value import Execution, Level, Limits

_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from inside.launch import main; main()"
_PATIENCE = 15.0  # seconds past the time limit after which the launcher itself is given up
_DRAIN = 2.0  # seconds for what is still in the pipes; only at level weak can a survivor hold them open


async def execute(
    code: str, *, files: Mapping[str, bytes | str], stdin: str, limits: Limits, level: Level
) -> Execution:
    """Run ``code`` at ``level``. Raises InputError for unusable ``files``, ToolError when the sandbox cannot be built."""
    contents = _contents(code, files, limits)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        launcher = await asyncio.create_subprocess_exec(
            layout().python,
            *("-I", "-S", "-c", _BOOT, str(Path(__file__).parent), str(theirs.fileno())),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(theirs.fileno(),),
            env={},
            cwd="/",
            start_new_session=True,
        )
        theirs.close()
        out, err = Capture(limits.output), Capture(limits.output)
        try:
            report = await _converse(
                launcher,
                ours,
                frame=_frame(contents, limits, level),
                stdin=stdin,
                wall=limits.wall_seconds,
                out=out,
                err=err,
            )
        finally:
            with anyio.CancelScope(shield=True):
                await _end(launcher, ours)
    return _execution(report, out, err, level)


async def _converse(
    launcher: asyncio.subprocess.Process,
    control: socket.socket,
    *,
    frame: bytes,
    stdin: str,
    wall: float,
    out: Capture,
    err: Capture,
) -> bytes:
    """Send the request and the input while collecting output; the launcher's report, empty if it never came."""
    report = bytearray()
    loop = asyncio.get_running_loop()

    async def feed() -> None:
        assert launcher.stdin
        with contextlib.suppress(ConnectionError):
            launcher.stdin.write(stdin.encode("utf-8", "replace"))
            await launcher.stdin.drain()
        launcher.stdin.close()

    async def collect(done: anyio.Event) -> None:
        assert launcher.stdout
        assert launcher.stderr
        async with anyio.create_task_group() as both:
            both.start_soon(drain, launcher.stdout, out)
            both.start_soon(drain, launcher.stderr, err)
        done.set()

    async with anyio.create_task_group() as group:
        collected = anyio.Event()
        group.start_soon(feed)
        group.start_soon(collect, collected)
        with anyio.move_on_after(wall + _PATIENCE), contextlib.suppress(ConnectionError):
            await loop.sock_sendall(control, frame)
            while part := await loop.sock_recv(control, 1 << 16):
                report += part
        with anyio.move_on_after(_DRAIN):
            await collected.wait()
        group.cancel_scope.cancel()
    return bytes(report)


async def _end(launcher: asyncio.subprocess.Process, control: socket.socket) -> None:
    """Make sure that the launcher and all it started have ended, and that this process reaped it."""
    control.close()  # the supervisor's sign to kill everything and go
    with anyio.move_on_after(2):
        await launcher.wait()
    if launcher.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.pid, signal.SIGKILL)
        await launcher.wait()
    launcher._transport.close()  # type: ignore[attr-defined]  # closes pipes that a survivor holds open; there is no public way


def _contents(code: str, files: Mapping[str, bytes | str], limits: Limits) -> dict[str, bytes]:
    """The files to write, the code among them. Raises InputError for a name that leaves the folder and for too much."""
    contents = {MAIN: code.encode("utf-8", "replace")}
    for name, data in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or not path.parts or ".." in path.parts or "\0" in name:
            raise InputError(f"file name {name!r} for the python sandbox must be a relative path without '..'")
        if str(path) in contents:
            raise InputError(f"file name {name!r} for the python sandbox is taken twice ({MAIN} holds the code)")
        contents[str(path)] = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
    folders = {str(parent) for name in contents for parent in PurePosixPath(name).parents}
    if both := folders & contents.keys():
        raise InputError(f"file name {min(both)!r} for the python sandbox is also a folder of another file")
    total = sum(map(len, contents.values()))
    if total > limits.disk:
        raise InputError(f"files for the python sandbox have {total} bytes; limits.disk allows {limits.disk}")
    return contents


def _frame(contents: Mapping[str, bytes], limits: Limits, level: Level) -> bytes:
    """The request as the launcher reads it: length, JSON, then the files' bytes."""
    places = layout()
    request = Request(
        level=level,
        python=places.python,
        binds=list(places.binds),
        links=places.links,
        masks=list(places.masks),
        temporary=tempfile.gettempdir(),
        files=[(name, len(data)) for name, data in contents.items()],
        wall=limits.wall_seconds,
        cpu=limits.cpu_seconds,
        memory=limits.memory,
        disk=limits.disk,
        processes=limits.processes,
        open_files=limits.open_files,
    )
    head = json.dumps(request).encode()
    return b"".join((len(head).to_bytes(8, "big"), head, *contents.values()))


def _execution(report: bytes, out: Capture, err: Capture, level: Level) -> Execution:
    if not report:
        raise ToolError(
            "the python sandbox was ended from outside before it could report; most likely the machine is short of memory"
        )
    message = json.loads(report)
    if "failed" in message:
        raise ToolError(f"the python sandbox could not be built: {message['failed']}")
    status: int = message["status"]
    stderr = err.text()
    timed_out = message["timed_out"] or status == -signal.SIGXCPU
    last = stderr.rstrip().rpartition("\n")[2]
    out_of_memory = (
        message["memory_killed"] or last.startswith("MemoryError") or (status == -signal.SIGKILL and not timed_out)
    )
    return Execution(
        stdout=out.text(),
        stderr=stderr,
        exit_code=status if status >= 0 else None,
        signal=signal.Signals(-status).name if status < 0 else None,
        timed_out=timed_out,
        out_of_memory=out_of_memory,
        stdout_truncated=out.dropped > 0,
        stderr_truncated=err.dropped > 0,
        seconds=message["seconds"],
        level=level,
        folder=message["folder"],
    )
