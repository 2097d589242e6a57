"""Starting the program: a forked child that takes its limits on and becomes the interpreter."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn, TypedDict

MAIN = "main.py"  # the file the code is in


class Request(TypedDict):
    """What is asked for. Sizes in bytes, times in seconds; ``files`` are names and sizes, their contents follow."""

    level: str
    python: str
    binds: list[str]
    links: dict[str, str]
    masks: list[str]
    temporary: str
    files: list[tuple[str, int]]
    wall: float
    cpu: int
    memory: int
    disk: int
    processes: int
    open_files: int


def environment(folder: str) -> dict[str, str]:
    """Every variable that the program sees."""
    return {
        "HOME": folder,
        "TMPDIR": folder,
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",  # the same code prints its sets in the same order
        "MALLOC_ARENA_MAX": "2",  # each further one takes 64 MiB of a thread's address space
    }


def write_files(folder: str, contents: Mapping[str, bytes]) -> None:
    """Write the program and the files beside it; names are relative paths that were checked by the sender."""
    for name, data in contents.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def start(request: Request, *, folder: str, count_processes: bool) -> int:
    """Start the program in ``folder``, in a session of its own; its pid once it runs.

    ``count_processes`` applies the limit on processes, which the kernel counts for one user in one user namespace. Raises
    OSError when the interpreter could not be started.
    """
    reader, writer = os.pipe()  # closed by a successful exec
    child = os.fork()
    if child == 0:
        _become(request, folder, count_processes, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        failure = pipe.read().decode()
    if failure:
        os.waitpid(child, 0)
        raise OSError(0, failure)
    return child


def _become(request: Request, folder: str, count_processes: bool, writer: int) -> NoReturn:
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(folder)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_CPU, request["cpu"], hard=request["cpu"] + 1)  # the soft limit ends with SIGXCPU
        _limit(resource.RLIMIT_FSIZE, request["disk"])
        _limit(resource.RLIMIT_NOFILE, request["open_files"])
        _limit(resource.RLIMIT_STACK, 8 << 20)  # also the address space that each thread takes
        if sys.platform == "linux":  # other kernels do not keep this one
            _limit(resource.RLIMIT_AS, request["memory"])
        if count_processes:
            _limit(resource.RLIMIT_NPROC, request["processes"] + 2)  # the launcher and the supervisor count too
        os.closerange(3, writer)
        os.closerange(writer + 1, 1 << 16)
        # No -I: the folder is the program's own, and files given with it can be imported. -u: what was printed before a
        # kill is not lost in a buffer.
        arguments = [request["python"], "-s", "-B", "-u", os.path.join(folder, MAIN)]
        os.execve(request["python"], arguments, environment(folder))  # noqa: S606
    except BaseException as error:  # noqa: BLE001 — said through the pipe, as this process may not go on
        os.write(writer, f"starting {request['python']}: {error}".encode("utf-8", "replace"))
        os._exit(127)


def _limit(kind: int, value: int, *, hard: int | None = None) -> None:
    """Lower a limit to ``value``; one that is lower already stays."""
    _, ceiling = resource.getrlimit(kind)
    hard = value if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        value, hard = min(value, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (value, hard))
