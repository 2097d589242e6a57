"""Watching over one program: how it ends, how long it takes, how much memory it and its children hold."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from typing import TypedDict

_GLANCE = 50  # milliseconds between looks at memory

Kill = Callable[[], None]


class Ending(TypedDict):
    """How the program ended. ``status`` is its exit code, or minus the signal that ended it; ``seconds`` is wall time."""

    status: int
    seconds: float
    timed_out: bool
    memory_killed: bool


class Abandoned(Exception):
    """Whoever asked for the program is gone; it has been killed."""


class Bell:
    """Rings (a descriptor becomes readable) when a child ends. Made before the child, so that no end is missed."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(writer, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def clear(self) -> None:
        """Take note of the rings so far."""
        try:
            while os.read(self.reader, 4096):
                pass
        except BlockingIOError:
            pass


def supervise(child: int, *, bell: Bell, control: int, wall: float, memory: int | None, kill: Kill) -> Ending:
    """Wait until ``child`` ends, and end it by ``kill`` when it passes a limit.

    ``wall`` is in seconds. ``memory`` bounds the resident bytes of all processes in ``/proc`` but the first; ``None`` where
    ``/proc`` shows others. Raises Abandoned when ``control`` closes.
    """
    start = time.monotonic()
    poller = select.poll()
    poller.register(bell.reader, select.POLLIN)
    poller.register(control, select.POLLIN)
    timed_out = memory_killed = False
    while True:
        remaining = wall - (time.monotonic() - start)
        pause = _GLANCE if memory is not None else 1000
        ready = {descriptor for descriptor, _ in poller.poll(max(0, min(pause, int(remaining * 1000) + 1)))}
        if control in ready:
            kill()
            raise Abandoned
        bell.clear()
        status = _reap(child)
        if status is not None:
            break
        if not (timed_out or memory_killed):
            timed_out = time.monotonic() - start >= wall
            memory_killed = not timed_out and memory is not None and _resident() > memory
        if timed_out or memory_killed:
            kill()
    seconds = time.monotonic() - start
    return Ending(status=status, seconds=seconds, timed_out=timed_out, memory_killed=memory_killed)


def _reap(child: int) -> int | None:
    """Collect every child that has ended, orphans included; the status of ``child`` if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = os.waitstatus_to_exitcode(status)


def _resident() -> int:
    """Resident bytes of all processes but this one, pages shared between them counted each time."""
    pages = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            try:
                with open(f"/proc/{name}/statm", encoding="ascii") as file:
                    pages += int(file.read().split()[1])
            except OSError:  # it ended meanwhile
                continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def report(control: int, message: Mapping[str, object]) -> None:
    """Send the one report; a reader that is gone misses nothing."""
    with contextlib.suppress(OSError):
        os.write(control, json.dumps(message).encode())


def say(error: BaseException) -> str:
    """An error on the way to the program as one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror} ({error.filename})" if error.filename else error.strerror
    return str(error) or repr(error)
