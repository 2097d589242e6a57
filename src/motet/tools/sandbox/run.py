"""Running code at the best level that this machine and its user allow."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import anyio
from anyio.lowlevel import RunVar

from motet.tools.sandbox.execute import execute
from motet.tools.sandbox.probe import require
from motet.tools.sandbox.value import Execution, Limits

_DEFAULT = Limits()
_AT_ONCE = 4 * (os.cpu_count() or 1)  # programs at work at a time, per event loop; a thousand peers share the machine
_places: RunVar[anyio.CapacityLimiter] = RunVar("motet.tools.sandbox.places")


async def run_python(
    code: str,
    *,
    files: Mapping[str, bytes | str] | None = None,
    stdin: str = "",
    limits: Limits = _DEFAULT,
    allow_weak: bool = False,
) -> Execution:
    """Run ``code`` in a fresh process with the standard library and nothing else.

    ``files`` (relative names) lie in its working folder and can be imported. Errors of the code are in the Execution.
    Cancelling kills everything it started. Raises InputError where only level ``weak`` works and ``allow_weak`` is not
    given, and for file names that leave the folder; ToolError when the sandbox breaks down. Waiting for other programs to
    end does not count as the program's time.
    """
    report = await asyncio.to_thread(require, allow_weak=allow_weak)
    async with _limiter():
        return await execute(code, files=files or {}, stdin=stdin, limits=limits, level=report.level)


def _limiter() -> anyio.CapacityLimiter:
    found = _places.get(None)
    if found is None:
        found = anyio.CapacityLimiter(_AT_ONCE)
        _places.set(found)
    return found
