"""Nothing outlives a run: not a cancelled one, not one whose Motet was killed; and no run starts without leave."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from motet.tools.sandbox import Level, Limits, probe
from motet.tools.sandbox.execute import execute

if TYPE_CHECKING:
    from tests.tools.sandbox.conftest import Processes

Eventually = Callable[[Callable[[], object]], bool]

_ENDLESS = "import os, signal\nif os.fork() == 0: os.setsid()\nsignal.pause()"


@pytest.fixture(params=["namespaces", "weak"])
def level(request: pytest.FixtureRequest) -> Level:
    report = probe()
    if request.param == "namespaces" and report.level != "namespaces":
        pytest.skip(f"no namespaces on this machine: {report.reason}")
    chosen: Level = request.param
    return chosen


def _endless(level: Level, code: str = _ENDLESS) -> object:
    return execute(code, files={}, stdin="", limits=Limits(wall_seconds=120), level=level)


@pytest.mark.parametrize("how", ["asyncio", "anyio"])
def test_cancelling_kills_what_runs(level: Level, how: str, processes: Processes, eventually: Eventually) -> None:
    """A cancelled run has no process left when the cancellation arrives, and leaves no zombie here."""
    code = "import time\ntime.sleep(600)"

    async def with_asyncio() -> None:
        task = asyncio.ensure_future(execute(code, files={}, stdin="", limits=Limits(), level=level))
        assert await asyncio.to_thread(eventually, lambda: processes.programs(os.getpid()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not processes.below(os.getpid())

    async def with_anyio() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: execute(code, files={}, stdin="", limits=Limits(), level=level))
            assert await asyncio.to_thread(eventually, lambda: processes.programs(os.getpid()))
            group.cancel_scope.cancel()
        assert not processes.below(os.getpid())

    asyncio.run(with_asyncio() if how == "asyncio" else with_anyio())


_MOTET = """
import asyncio, sys, tempfile
from motet.tools.sandbox import Limits
from motet.tools.sandbox.execute import execute
tempfile.tempdir = sys.argv[3]
asyncio.run(execute(sys.argv[1], files={}, stdin="", limits=Limits(wall_seconds=120), level=sys.argv[2]))
"""


def test_killing_motet_kills_the_run(
    level: Level, processes: Processes, eventually: Eventually, tmp_path: Path
) -> None:
    """After kill -9 of Motet nothing of its run is left: no process, no mount, no temporary folder."""
    code = _ENDLESS if level == "namespaces" else "import time\ntime.sleep(600)"
    mounts = Path("/proc/self/mountinfo").read_text()
    motet = subprocess.Popen([sys.executable, "-c", _MOTET, code, level, str(tmp_path)])
    try:
        assert eventually(lambda: processes.programs(motet.pid))
        started = processes.below(motet.pid)
    finally:
        motet.kill()
        motet.wait()
    assert eventually(lambda: not [pid for pid, command in started.items() if processes.command(pid) == command])
    assert eventually(lambda: not list(tmp_path.iterdir()))
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_killing_the_launcher_kills_the_run(processes: Processes, eventually: Eventually, tmp_path: Path) -> None:
    """When the launcher alone is killed, its pid namespace ends with it and the run is an error, not a hang."""
    if (report := probe()).level != "namespaces":
        pytest.skip(f"no namespaces on this machine: {report.reason}")
    motet = subprocess.Popen(
        [sys.executable, "-c", _MOTET, _ENDLESS, "namespaces", str(tmp_path)], stderr=subprocess.PIPE, text=True
    )
    assert eventually(lambda: processes.programs(motet.pid))
    started = processes.below(motet.pid)
    launcher = next(pid for pid, command in started.items() if "inside.launch" in command)
    os.kill(min(pid for pid, command in started.items() if command == started[launcher]), signal.SIGKILL)
    _, stderr = motet.communicate(timeout=60)
    assert "ToolError: the python sandbox was ended from outside" in stderr
    assert eventually(lambda: not [pid for pid, command in started.items() if processes.command(pid) == command])


# Namespaces are taken away from this process by the sandbox's own filter, then the sandbox is asked for.
_WITHOUT = """
import asyncio, contextlib, sys
from motet.errors import InputError, ToolError
from motet.tools.python import python_tool
from motet.tools.sandbox import probe, require, run_python
if sys.platform == "linux":
    from motet.tools.sandbox.inside import kernel
    with contextlib.suppress(OSError):
        kernel.drop_privileges()
        kernel.forbid_calls()
print(probe().level)
for ask in (lambda: require(allow_weak=False), lambda: asyncio.run(run_python("print(1)"))):
    try:
        ask()
    except InputError as error:
        print(error)
try:
    asyncio.run(python_tool()({"code": "print(1)"}, key=""))
except ToolError as error:
    print(error)
execution = asyncio.run(run_python("print('ran')", allow_weak=True))
print(execution.level, execution.stdout)
"""


def test_without_namespaces_it_refuses() -> None:
    """Where namespaces do not work, library and tool refuse in one line that says why and how to go on; weak is opt-in."""
    lines = subprocess.run(
        [sys.executable, "-c", _WITHOUT], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines[0] == "weak"
    assert len(lines[1:4]) == 3
    for line in lines[1:4]:
        assert line.startswith("the python tool needs Linux namespaces, which do not work here (")
        assert "--allow-weak-sandbox" in line
    if sys.platform == "linux":
        assert "unshare (new namespaces): Operation not permitted" in lines[1]
    assert lines[4] == "weak ran"


_ORDINARY = """
import asyncio, os
from motet.tools.sandbox import probe, run_python
assert os.getuid() == 12345, os.getuid()
report = probe()
print(report.level, report.reason)
print([check.name for check in report.checks if check.required and not check.ok])
execution = asyncio.run(run_python("import os; print(os.getuid()); open('x', 'w'); print(sorted(os.listdir()))", allow_weak=True))
print(execution.stdout.splitlines(), execution.stderr)
"""


def test_an_ordinary_user_has_it_too() -> None:
    """The sandbox gives the same level to a user without privileges as to root."""
    if os.geteuid() != 0:
        pytest.skip("not root: the other tests already run as an ordinary user")
    if (report := probe()).level != "namespaces":
        pytest.skip(f"no namespaces on this machine: {report.reason}")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    environment = {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if (path and "site-packages" in path) or "src" in path)
    }

    def as_ordinary(python: str, code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-c", code],
            user=12345,
            group=12345,
            extra_groups=[],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
        )

    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        try:
            if as_ordinary(python, "import motet.tools.sandbox").returncode == 0:
                break
        except OSError:
            continue
    else:
        pytest.skip(f"no {version} with Motet's dependencies that an ordinary user may run")
    done = as_ordinary(python, _ORDINARY)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "namespaces \n[]\n['1000', \"['main.py', 'x']\"] \n"
