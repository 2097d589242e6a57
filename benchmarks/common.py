"""What the benchmarks share: a model server in its own process, tables, and the command line."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent


class Stats(NamedTuple):
    """What a server has done so far. ``cpu`` is in seconds; ``at_once`` the most requests that were there together."""

    requests: int
    completed: int
    faults: int
    at_once: int
    messages: int
    characters: int
    cpu: float


class Server:
    """``benchmarks.server`` as a child process; a context manager. It ends with its parent."""

    def __init__(self, **options: object) -> None:
        self._options = [f"--{name}={value}" for name, value in options.items()]
        self._process: subprocess.Popen[str] | None = None
        self.base_url = ""

    def __enter__(self) -> Server:
        command = [sys.executable, "-m", "benchmarks.server", *self._options]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.communicate()

    def stats(self) -> Stats:
        """What it has done so far."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Stats(**json.loads(self._process.stdout.readline()))


def parser(description: str | None) -> argparse.ArgumentParser:
    """A command line with the option that all benchmarks have."""
    made = argparse.ArgumentParser(description=(description or "").split("\n\n")[0])
    made.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    return made


def machine() -> str:
    """The machine in a few words."""
    return f"{os.cpu_count()} CPUs, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """``rows`` under ``columns``: the first column to the left, numbers to the right."""
    texts = [list(columns), *([_shown(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in texts) for column in range(len(columns))]
    lines = [
        "  ".join(cell.rjust(width) if number else cell.ljust(width) for number, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(line, widths, strict=True)) for line in texts)
    ]
    return "\n".join(line.rstrip() for line in lines)


def publish(name: str, *, as_json: bool, facts: dict[str, Any], text: str) -> None:
    """Print what ``name`` found: ``text`` for people, or ``facts``; and how to get it again."""
    reproduce = f"python -m benchmarks.{name}"
    if as_json:
        print(json.dumps({"benchmark": name, "machine": machine(), "reproduce": reproduce, **facts}, indent=1))
    else:
        print(f"{text}\nmachine: {machine()}\nreproduce: {reproduce}")


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.2f}" if abs(cell) < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
