"""What running code promises: its output, its limits, its input and files, at both levels."""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motet.errors import InputError
from motet.tools.sandbox import Execution, Level, Limits, probe, run_python
from motet.tools.sandbox.execute import execute

if TYPE_CHECKING:
    from tests.tools.sandbox.conftest import Run


@pytest.fixture(params=["namespaces", "weak"])
def level(request: pytest.FixtureRequest) -> Level:
    report = probe()
    if request.param == "namespaces" and report.level != "namespaces":
        pytest.skip(f"no namespaces on this machine: {report.reason}")
    chosen: Level = request.param
    return chosen


def run(
    code: str,
    *,
    level: Level,
    files: dict[str, bytes | str] | None = None,
    stdin: str = "",
    limits: Limits = Limits(),  # noqa: B008 — frozen
) -> Execution:
    return asyncio.run(execute(code, files=files or {}, stdin=stdin, limits=limits, level=level))


def test_what_is_printed_comes_back(level: Level) -> None:
    """Both streams, the exit code and the level are in the execution; text is UTF-8."""
    execution = run("import sys\nprint('süß', 6 * 7)\nprint('oh', file=sys.stderr)\nraise SystemExit(3)", level=level)
    assert (execution.stdout, execution.stderr) == ("süß 42\n", "oh\n")
    assert (execution.exit_code, execution.signal, execution.level, execution.ok) == (3, None, level, False)
    assert not execution.timed_out
    assert not execution.out_of_memory


def test_an_exception_names_the_line(level: Level) -> None:
    """A traceback shows the source line of the code."""
    execution = run("def f(x):\n    return 1 / x\n\nf(0)", level=level)
    assert execution.exit_code == 1
    assert "return 1 / x" in execution.stderr
    assert execution.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_a_syntax_error_is_the_code_s_error(level: Level) -> None:
    """Code that cannot be parsed ends with exit code 1 like any other error."""
    execution = run("print(", level=level)
    assert execution.exit_code == 1
    assert "SyntaxError" in execution.stderr


def test_a_signal_is_named(level: Level) -> None:
    """Code that ends by a signal has no exit code but the signal's name."""
    execution = run("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", level=level)
    assert (execution.exit_code, execution.signal) == (None, "SIGSEGV")


def test_input_and_files_are_given(level: Level) -> None:
    """stdin can be read; files lie in the working folder, in folders too, and modules among them can be imported."""
    execution = run(
        "import sys, pathlib, helper\nfrom pkg.deep import value\n"
        "print(helper.twice(int(input())), value, pathlib.Path('data/raw.bin').read_bytes(), sys.stdin.read())",
        level=level,
        stdin="21\nrest",
        files={"helper.py": "def twice(x): return 2 * x", "pkg/deep.py": "value = 'v'", "data/raw.bin": b"\x00\xff"},
    )
    assert execution.stdout == "42 v b'\\x00\\xff' rest\n", execution.stderr


def test_input_that_nobody_reads_does_not_block(level: Level) -> None:
    """More input than a pipe holds may be left unread."""
    assert run("print('done')", level=level, stdin="x" * (4 << 20)).stdout == "done\n"


def test_a_program_may_close_its_streams(level: Level) -> None:
    """Code that closes stdout and stderr is still waited for, and its exit code is known."""
    execution = run("import os\nfor n in (0, 1, 2): os.close(n)\nos._exit(9)", level=level)
    assert (execution.exit_code, execution.stdout) == (9, "")


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "", ".", "x\0y", "main.py", "./main.py"])
def test_a_file_name_stays_in_the_folder(name: str) -> None:
    """A name that is absolute, climbs, is empty or is the code's own is refused before anything is started."""
    with pytest.raises(InputError, match="file name"):
        run("", level="weak", files={name: ""})


def test_a_file_cannot_be_a_folder_too() -> None:
    """Names that need one path to be both are refused, as is more than the folder holds."""
    with pytest.raises(InputError, match="also a folder"):
        run("", level="weak", files={"a": "", "a/b": ""})
    with pytest.raises(InputError, match=r"limits\.disk"):
        run("", level="weak", files={"a": bytes(1 << 20)}, limits=Limits(disk=1 << 19))


def test_an_endless_loop_is_stopped(level: Level) -> None:
    """At the wall limit the code ends, and what it had printed is there without being flushed."""
    execution = run(
        "print('before')\nimport time\nwhile True: time.sleep(9)", level=level, limits=Limits(wall_seconds=1)
    )
    assert (execution.stdout, execution.timed_out, execution.signal) == ("before\n", True, "SIGKILL")
    assert not execution.out_of_memory


def test_a_busy_loop_is_stopped_by_its_own_time(level: Level) -> None:
    """The CPU limit ends code long before a generous wall limit."""
    execution = run("while True: pass", level=level, limits=Limits(cpu_seconds=1, wall_seconds=300))
    assert (execution.timed_out, execution.signal) == (True, "SIGXCPU")


def test_output_of_any_size_is_cut_in_its_middle(level: Level) -> None:
    """Of 300 MB the first and the last part are kept; memory here hardly grows, and the code is not blocked."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    execution = run(
        "import os\nprint('first')\nblock = b'x' * (1 << 20)\n"
        "for _ in range(300):\n    rest = block\n    while rest: rest = rest[os.write(1, rest):]\n"
        "print('last')",
        level=level,
        limits=Limits(output=1000),
    )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert execution.ok, execution.stderr
    assert execution.stdout_truncated
    assert not execution.stderr_truncated
    assert execution.stdout.startswith("first\nxxx")
    assert execution.stdout.endswith("xxxlast\n")
    assert f"{300 * (1 << 20) + 11 - 1000} bytes left out" in execution.stdout
    assert len(execution.stdout) < 1100
    assert grown < 32 * 1024  # kilobytes on Linux


def test_runs_are_strangers_to_each_other(level: Level) -> None:
    """Each run starts with nothing but its own files."""
    run("open('left', 'w').write('x')", level=level)
    assert run("import os\nprint(sorted(os.listdir()))", level=level).stdout == "['main.py']\n"


def test_the_same_code_prints_the_same(level: Level) -> None:
    """Sets of strings have one order in every run: the hash seed is fixed."""
    code = "print(set(map(str, range(50))))"
    assert run(code, level=level).stdout == run(code, level=level).stdout


def test_the_environment_is_small_and_fixed(level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this process's environment arrives at either level."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    names = run("import os\nprint(sorted(os.environ))", level=level).stdout
    assert names == "['HOME', 'LANG', 'MALLOC_ARENA_MAX', 'PATH', 'PYTHONHASHSEED', 'TMPDIR', 'TZ']\n"


def test_installed_packages_are_not_there(isolated: Run) -> None:
    """Only the standard library can be imported, whatever is installed beside it."""
    assert isolated("import pydantic").stderr.endswith("ModuleNotFoundError: No module named 'pydantic'\n")
    assert isolated("import pip").stderr.endswith("ModuleNotFoundError: No module named 'pip'\n")


def test_the_standard_library_works(isolated: Run) -> None:
    """Threads, processes, subprocesses, SQLite, time zones, compression, decimals and temporary files work inside."""
    execution = isolated(
        "import bz2, concurrent.futures as c, datetime, decimal, hashlib, json, lzma, multiprocessing, random, sqlite3\n"
        "import ssl, subprocess, sys, tempfile, uuid, zlib, zoneinfo\n"
        "if __name__ == '__main__':\n"
        "    with c.ThreadPoolExecutor(24) as pool: print(sum(pool.map(lambda x: x * x, range(100))))\n"
        "    with multiprocessing.Pool(3) as pool: print(pool.map(abs, [-1, 2]))\n"
        "    print(subprocess.run([sys.executable, '-c', 'print(5)'], capture_output=True, text=True).stdout)\n"
        "    print(sqlite3.connect(':memory:').execute('select 1 + 1').fetchone())\n"
        "    print(datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Paris')).utcoffset())\n"
        "    with tempfile.TemporaryFile() as file: print(file.write(b'abc'))\n"
    )
    assert execution.stdout == "328350\n[1, 2]\n5\n\n(2,)\n2:00:00\n3\n", execution.stderr


def test_sixteen_at_once(level: Level) -> None:
    """Sixteen runs at the same time each give their own answer."""

    async def all_of_them() -> list[str]:
        runs = (execute(f"print({n} ** 2)", files={}, stdin="", limits=Limits(), level=level) for n in range(16))
        return [execution.stdout for execution in await asyncio.gather(*runs)]

    assert asyncio.run(all_of_them()) == [f"{n * n}\n" for n in range(16)]


def test_no_folder_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: Level) -> None:
    """After a run, at either level, the temporary folder of this machine holds nothing of it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run("open('x', 'w')", level=level)
    run("while True: pass", level=level, limits=Limits(wall_seconds=0.2))
    assert list(tmp_path.iterdir()) == []


def test_the_best_level_is_taken(isolated: Run) -> None:
    """Allowing the weak level does not lower a machine that can do better."""
    execution = asyncio.run(run_python("print(1)", allow_weak=True))
    assert execution.level == "namespaces"


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_every_check_says_what_it_found(isolated: Run) -> None:
    """The report has one line for each promise, each passed, and is the same object when asked again."""
    report = probe()
    assert {check.name for check in report.checks} >= {
        "user",
        "files",
        "writing",
        "processes",
        "network",
        "privileges",
        "calls",
    }
    assert all(check.detail for check in report.checks)
    assert report.reason == ""
    assert probe() is report
