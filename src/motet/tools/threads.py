"""Daemon threads for functions that are not coroutines: bounded per event loop, reused, and abandoned when they hang.

anyio's own worker threads are not daemons: one function that never returns would keep the process from ending. Reusing
threads matters on a busy machine, where starting one takes up to a millisecond.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import anyio
from anyio.lowlevel import RunVar

LIMIT = 64  # functions at work at a time, per event loop; those that were abandoned do not count
IDLE_SECONDS = 10.0

_Returned = TypeVar("_Returned")
_Work: TypeAlias = Callable[[], None]


class Ended(Exception):
    """A function raised what is no ordinary exception (an exit, a cancellation); its text says what."""


class Threads:
    """The threads of one event loop."""

    def __init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(LIMIT)
        self._idle: list[queue.SimpleQueue[_Work]] = []
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], _Returned]) -> _Returned:
        """Call ``call`` in a thread. When the caller is cancelled the thread goes on, and what it returns is dropped.

        Raises Ended for a BaseException that is no Exception: an order to stop, raised in there, is not meant for this task.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[tuple[_Returned | None, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()

        def deliver(outcome: tuple[_Returned | None, BaseException | None]) -> None:
            if not done.done():
                done.set_result(outcome)

        def work() -> None:
            outcome: tuple[_Returned | None, BaseException | None]
            try:
                outcome = context.run(call), None
            except BaseException as error:  # noqa: BLE001 - handed to the caller
                outcome = None, error
            try:
                loop.call_soon_threadsafe(deliver, outcome)
            except RuntimeError:
                assert loop.is_closed()  # nobody waits any more

        self._start(work)
        value, error = await done
        if isinstance(error, Exception):
            raise error
        if error is not None:
            raise Ended(f"{type(error).__name__}: {error}")
        return value  # type: ignore[return-value]

    def _start(self, work: _Work) -> None:
        with self._lock:
            jobs = self._idle.pop() if self._idle else None
        if jobs is None:
            jobs = queue.SimpleQueue()
            threading.Thread(target=self._serve, args=(jobs,), name="motet-tool", daemon=True).start()
        jobs.put(work)

    def _serve(self, jobs: queue.SimpleQueue[_Work]) -> None:
        while True:
            try:
                work = jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if jobs in self._idle:
                        self._idle.remove(jobs)
                        return
                continue  # taken out of the idle ones just now: work is on its way
            work()
            del work  # an idle thread keeps nothing alive
            with self._lock:
                self._idle.append(jobs)


_current: RunVar[Threads] = RunVar("motet.tools.threads")


def threads() -> Threads:
    """The threads of the running event loop."""
    found = _current.get(None)
    if found is None:
        found = Threads()
        _current.set(found)
    return found
