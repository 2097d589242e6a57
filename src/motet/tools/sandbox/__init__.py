"""Running Python code that nobody vouches for, in a sandbox of Linux namespaces.

    execution = await run_python("print(6 * 7)")
    execution.stdout

``probe()`` says what works on this machine; docs/sandbox.md says what is promised.
"""

from __future__ import annotations

from motet.tools.sandbox.probe import probe, require
from motet.tools.sandbox.run import run_python
from motet.tools.sandbox.value import VERSION, Check, Execution, Level, Limits, SandboxReport

__all__ = ["VERSION", "Check", "Execution", "Level", "Limits", "SandboxReport", "probe", "require", "run_python"]
