"""What the explorer found inside the sandbox, judged point by point."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TypedDict

from motet.tools.sandbox.inside.program import environment
from motet.tools.sandbox.layout import layout
from motet.tools.sandbox.value import Check, Limits


class Found(TypedDict):
    """The explorer's answer. A failure is an errno name, ``None`` where the attempt worked."""

    uid: list[int]
    become_root: str | None
    status: dict[str, str]
    namespaces: dict[str, str | None]
    seen: list[str]
    root: list[str]
    write_root: str | None
    write_library: str | None
    write_folder: str | None
    pid: int
    processes: list[int]
    loopback: str | None
    outside: str | None
    machine_socket: str | None
    hostname: str
    chroot: str | None
    descriptors: list[int]
    limits: dict[str, int]
    environment: list[str]


def judge(found: Found, limits: Limits) -> Iterator[Check]:
    """The checks, in the order in which ``motet doctor`` shows them."""
    proc = bool(found["processes"])
    unseen = "" if proc else " (as far as can be seen without /proc)"

    shared = [kind for kind, name in found["namespaces"].items() if name and name == _own(kind)]
    yield _check(
        "separate", not shared, f"shared with this process: {', '.join(shared)}", f"namespaces of its own{unseen}"
    )

    user = len(set(found["uid"])) == 1 and found["uid"][0] != 0 and found["become_root"] is not None
    yield _check(
        "user", user, f"user and group ids {found['uid']}, becoming root: {found['become_root']}", "unprivileged"
    )

    status = found["status"]
    capabilities = {
        name: status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status.get(name, "0"), 16)
    }
    gains = bool(capabilities) or status.get("NoNewPrivs", "1") != "1"
    yield _check("privileges", not gains, f"capabilities {capabilities} left", f"none, and none to gain{unseen}")

    calls = found["chroot"] is not None and found["machine_socket"] is not None and status.get("Seccomp", "2") == "2"
    yield _check("calls", calls, "the system call filter is not in force", f"filtered{unseen}")

    top = {path.split("/")[1] for path in (*layout().binds, *layout().links)} | {"dev", "proc", "tmp"}
    strangers = [*found["seen"], *(name for name in found["root"] if name not in top)]
    yield _check(
        "files", not strangers, f"visible inside: {', '.join(strangers[:3])}", "only the interpreter's are visible"
    )

    writable = [place for place in ("root", "library") if found[f"write_{place}"] is None]  # type: ignore[literal-required]
    kept = not writable and found["write_folder"] is None
    detail = f"writable: {writable}" if writable else f"the working folder: {found['write_folder']}"
    yield _check("writing", kept, detail, "only in the working folder")

    alone = found["pid"] == 2 and found["processes"] in ([], [1, 2])
    yield _check("processes", alone, f"sees {found['processes'][:5]} as {found['pid']}", "sees only its own")

    cut_off = found["loopback"] is not None and found["outside"] is not None
    yield _check("network", cut_off, "a connection was not refused", "none, not even loopback")

    yield _check("hostname", found["hostname"] == "sandbox", f"reads {found['hostname']!r}", "hidden")
    yield _check("descriptors", not found["descriptors"], f"inherited: {found['descriptors'][:5]}", "none inherited")

    names = sorted(environment(""))
    yield _check("environment", found["environment"] == names, f"holds {found['environment']}", "none inherited")

    wanted = {
        "RLIMIT_AS": limits.memory,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_FSIZE": limits.disk,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_NPROC": limits.processes + 2,
        "RLIMIT_CORE": 0,
    }
    loose = [name for name, value in wanted.items() if not 0 <= found["limits"][name] <= value]
    yield _check("limits", not loose, f"not in force: {', '.join(loose)}", "in force")

    yield Check(
        name="proc",
        ok=proc,
        detail="private" if proc else "cannot be mounted in this container; memory is limited per process only",
        required=False,
    )


def _check(name: str, ok: bool, wrong: str, right: str) -> Check:
    return Check(name=name, ok=ok, detail=right if ok else wrong)


def _own(kind: str) -> str | None:
    try:
        return os.readlink(f"/proc/self/ns/{kind}")
    except OSError:
        return None
