"""Running code at the best level that this machine and its user allow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from motet.tools.sandbox.execute import execute
from motet.tools.sandbox.probe import require
from motet.tools.sandbox.value import Execution, Limits

_DEFAULT = Limits()


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
    given, and for file names that leave the folder; ToolError when the sandbox breaks down.
    """
    report = await asyncio.to_thread(require, allow_weak=allow_weak)
    return await execute(code, files=files or {}, stdin=stdin, limits=limits, level=report.level)
