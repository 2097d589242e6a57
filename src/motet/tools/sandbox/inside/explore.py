"""Runs in the sandbox and prints, as JSON, what it can see and do there. Its input names what it should not see."""

from __future__ import annotations

import errno
import json
import os
import resource
import socket
import sys
from collections.abc import Callable
from functools import partial

_LIMITS = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CORE")
_NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")


def main() -> None:
    """Try everything once."""
    asked = json.load(sys.stdin)
    found = {
        "uid": [*os.getresuid(), *os.getresgid()],
        "become_root": _failure(lambda: os.setuid(0)),
        "status": _status(),
        "namespaces": {kind: _namespace(kind) for kind in _NAMESPACES},
        "seen": [path for path in asked["hidden"] if os.path.lexists(path)],
        "root": sorted(os.listdir("/")),
        "write_root": _failure(lambda: _create("/probe")),
        "write_library": _failure(lambda: _create(f"{os.__file__}.probe")),
        "write_folder": _failure(lambda: _create("probe")),
        "pid": os.getpid(),
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "loopback": _failure(lambda: _connect("127.0.0.1", asked["port"])),
        "outside": _failure(lambda: _connect("192.0.2.1", 80)),  # an address reserved for documentation
        "machine_socket": _failure(lambda: socket.socket(40).close()),  # AF_VSOCK reaches a virtual machine's host
        "hostname": os.uname().nodename,
        "chroot": _failure(lambda: os.chroot("/")),
        "descriptors": [number for number in range(3, 256) if _failure(partial(os.fstat, number)) is None],
        "limits": {name: resource.getrlimit(getattr(resource, name))[0] for name in _LIMITS},
        "environment": sorted(os.environ),
    }
    sys.stdout.write(json.dumps(found))


def _failure(action: Callable[[], object]) -> str | None:
    """The name of the error that ``action`` fails with; ``None`` if it works."""
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return None


def _create(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))


def _connect(host: str, port: int) -> None:
    with socket.socket() as client:
        client.settimeout(2)
        client.connect((host, port))


def _namespace(kind: str) -> str | None:
    try:
        return os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return None


def _status() -> dict[str, str]:
    """``/proc/self/status`` by field; empty where there is no ``/proc``."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    except OSError:
        return {}


if __name__ == "__main__":
    main()
