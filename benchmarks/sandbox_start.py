"""What a sandboxed run costs beside a bare interpreter: ``python -m benchmarks.sandbox_start``.

Interleaved; the least and the median of thirty, in milliseconds.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import time

from motet.tools.sandbox import probe, run_python
from motet.tools.sandbox.layout import layout

ROUNDS = 30
AT_ONCE = 16


def _bare() -> float:
    start = time.perf_counter()
    subprocess.run([layout().python, "-I", "-c", "pass"], check=True)
    return time.perf_counter() - start


async def _sandboxed(runs: int) -> float:
    start = time.perf_counter()
    executions = await asyncio.gather(*(run_python("pass", allow_weak=True) for _ in range(runs)))
    assert all(execution.ok for execution in executions)
    return time.perf_counter() - start


async def main() -> None:
    """Measure and print."""
    level = (await asyncio.to_thread(probe)).level
    pairs = [(_bare(), await _sandboxed(1)) for _ in range(ROUNDS)]
    for name, times in (
        ("python -I -c pass", [bare for bare, _ in pairs]),
        (f"run_python, {level}", [s for _, s in pairs]),
    ):
        print(f"{name:24} least {min(times) * 1e3:6.1f} ms   median {statistics.median(times) * 1e3:6.1f} ms")
    print(f"{AT_ONCE} runs at once         {await _sandboxed(AT_ONCE) * 1e3:6.1f} ms together")


if __name__ == "__main__":
    asyncio.run(main())
