"""Running code in the sandbox, and looking at the machine's processes from outside."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from motet.tools.sandbox import Execution, Limits, probe, run_python


class Run(Protocol):
    def __call__(self, code: str, *, limits: Limits = ..., stdin: str = ...) -> Execution: ...


@pytest.fixture
def isolated() -> Run:
    """Runs code at level ``namespaces``; skips, saying why, where that level does not work."""
    report = probe()
    if report.level != "namespaces":
        pytest.skip(f"no namespaces on this machine: {report.reason}")

    def run(code: str, *, limits: Limits = Limits(), stdin: str = "") -> Execution:  # noqa: B008 — frozen
        return asyncio.run(run_python(code, limits=limits, stdin=stdin))

    return run


@pytest.fixture
def attempt(isolated: Run) -> Callable[[str], str]:
    """Runs statements inside and tells how they ended: ``worked``, or the name of the error."""

    def tell(statements: str) -> str:
        body = "\n".join(f"    {line}" for line in statements.strip().splitlines())
        execution = isolated(
            "import ctypes, errno, os, signal, socket, sys\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "def call(name, *arguments):\n"
            "    if getattr(libc, name)(*arguments) < 0:\n"
            "        raise OSError(ctypes.get_errno(), name)\n"
            f"try:\n{body}\n    print('worked')\n"
            "except OSError as error:\n    print(errno.errorcode[error.errno])\n"
        )
        assert execution.ok, execution.stderr
        return execution.stdout.strip().splitlines()[-1]

    return tell


class Processes:
    """The machine's processes, through ``/proc``, but for those that were started before the test, such as a database server's."""

    def __init__(self) -> None:
        self._earlier: frozenset[int] = frozenset()
        self._earlier = frozenset(self.below(os.getpid()))

    def below(self, pid: int) -> dict[int, str]:
        """All descendants of ``pid`` with their command lines, zombies included."""
        parents: dict[int, int] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    stat = Path("/proc", name, "stat").read_text()
                except OSError:
                    continue
                parents[int(name)] = int(stat.rpartition(")")[2].split()[1])
        found: dict[int, str] = {}
        todo = [pid]
        while todo:
            above = todo.pop()
            for child, parent in parents.items():
                if parent == above and child not in self._earlier:
                    found[child] = self.command(child)
                    todo.append(child)
        return found

    def command(self, pid: int) -> str:
        try:
            return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            return ""

    def with_mark(self, mark: str) -> list[int]:
        """Processes whose command line contains ``mark``."""
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and mark in self.command(int(name))]

    def programs(self, pid: int) -> list[int]:
        """The sandboxed programs that run below ``pid``."""
        return [child for child, command in self.below(pid).items() if command.rstrip().endswith("/main.py")]


@pytest.fixture
def processes() -> Processes:
    if not os.path.isdir("/proc/self"):
        pytest.skip("no /proc on this machine to look at processes")
    return Processes()


def eventually(condition: Callable[[], object], *, within: float = 30.0) -> bool:
    """Whether ``condition`` comes to hold; the deadline is only for failing."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(name="eventually")
def eventually_fixture() -> Callable[[Callable[[], object]], bool]:
    return eventually
