"""Level ``namespaces``: a file system, users, processes and a network of the program's own.

Three processes in a row. The launcher makes the namespaces and the file system, and waits. The first process of the new
pid namespace supervises; when it ends, for whatever reason, the kernel ends everything in the namespace. The program is
its child. Each is killed when the one above it is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Mapping
from typing import NoReturn

from . import kernel
from .program import Request, start, write_files
from .supervise import Abandoned, Bell, report, say, supervise

INNER_ID = 1000  # the user and group that the program sees itself as
NOBODY = 65534  # who that is outside when Motet runs as root
BASE = "/tmp"  # noqa: S108 — where the new root is put together; covered in this namespace only
WORK = "/tmp"  # noqa: S108 — the program's folder in the new root: a file system of its own
DEVICES = ("null", "zero", "urandom")


def run_isolated(request: Request, contents: Mapping[str, bytes], *, control: int) -> None:
    """Run the program; the supervisor reports on ``control``. Raises OSError when the isolation cannot be built."""
    kernel.die_with_parent()
    with contextlib.suppress(OSError):
        _write("/proc/self/oom_score_adj", "1000")  # if the machine runs short of memory, the sandbox goes first
    _enter_namespaces()
    # Copied before the change of user: an interpreter may lie in a home that only its owner can enter.
    trees = {path: kernel.copy_tree(path) for path in request["binds"]}
    devices = {name: kernel.copy_tree(f"/dev/{name}") for name in DEVICES}
    os.setresgid(INNER_ID, INNER_ID, INNER_ID)
    os.setresuid(INNER_ID, INNER_ID, INNER_ID)
    kernel.die_with_parent()
    os.umask(0o022)
    kernel.make_mounts_private()
    _build_root(request, trees=trees, devices=devices)
    write_files(f".{WORK}", contents)
    first = os.fork()
    if first == 0:
        _be_first(request, control)
    os.close(control)
    _let_go_of_streams()
    os.waitpid(first, 0)


def _enter_namespaces() -> None:
    """Enter new namespaces of every kind, as a user that is ``INNER_ID`` inside.

    Outside, that is the user who asked; for root it is ``NOBODY``, and only a process that stays in the old namespace may
    write such a mapping.
    """
    if os.geteuid() == 0:
        _unshare_as_root()
        os.setgroups([])
        return
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.NEW_ALL)
    _write("/proc/self/setgroups", "deny")  # the condition for mapping a group without privileges
    _write("/proc/self/uid_map", f"{INNER_ID} {user} 1")
    _write("/proc/self/gid_map", f"{INNER_ID} {group} 1")


def _unshare_as_root() -> None:
    launcher = os.getpid()
    go, ready = os.pipe()
    mapper = os.fork()
    if mapper == 0:
        os.close(ready)
        try:
            os.read(go, 1)
            _write(f"/proc/{launcher}/uid_map", f"{INNER_ID} {NOBODY} 1")
            _write(f"/proc/{launcher}/gid_map", f"{INNER_ID} {NOBODY} 1")
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    os.close(go)
    try:
        kernel.unshare(kernel.NEW_ALL)
    finally:
        os.close(ready)  # end of file is the mapper's sign to go
        _, status = os.waitpid(mapper, 0)
    failed = os.waitstatus_to_exitcode(status)
    if failed:
        raise OSError(failed, f"mapping the user to {NOBODY}: {os.strerror(failed)}")


def _build_root(request: Request, *, trees: Mapping[str, int], devices: Mapping[str, int]) -> None:
    """Put the new root together at ``BASE`` and change into it."""
    tight = kernel.NO_SUID | kernel.NO_DEV
    kernel.mount("tmpfs", BASE, tight, "size=1m,nr_inodes=4096,mode=755")
    os.chdir(BASE)
    for path, tree in trees.items():
        _make_place(f".{path}", folder=stat.S_ISDIR(os.fstat(tree).st_mode))
        kernel.restrict_tree(tree, kernel.READ_ONLY | tight, recursive=True)
        kernel.attach_tree(tree, f".{path}")
    for path in request["masks"]:
        kernel.mount("tmpfs", f".{path}", kernel.READ_ONLY | tight, "size=4k,nr_inodes=2,mode=555")
    os.mkdir("dev")
    for name, tree in devices.items():
        _make_place(f"./dev/{name}", folder=False)
        kernel.restrict_tree(tree, kernel.NO_SUID | kernel.NO_EXEC, recursive=True)
        kernel.attach_tree(tree, f"./dev/{name}")
    links = {"/dev/random": "urandom", "/dev/shm": WORK, "/dev/fd": "/proc/self/fd"}  # noqa: S108
    for path, target in (links | request["links"]).items():
        os.makedirs(os.path.dirname(f".{path}"), exist_ok=True)
        os.symlink(target, f".{path}")
    os.mkdir("proc")
    os.makedirs(f".{WORK}", exist_ok=True)
    kernel.mount("tmpfs", f".{WORK}", tight | kernel.NO_EXEC, f"size={request['disk']},nr_inodes=16384,mode=755")


def _be_first(request: Request, control: int) -> NoReturn:
    """The life of the namespace's first process, from the last preparations to the report."""
    try:
        kernel.die_with_parent()
        has_proc = _mount_proc()
        kernel.enter_root(".")
        kernel.restrict_tree("/", kernel.READ_ONLY, recursive=False)
        kernel.set_hostname("sandbox")
        kernel.drop_privileges()
        kernel.hide_memory()
        kernel.forbid_calls()
        bell = Bell()
        child = start(request, folder=WORK, count_processes=True)
        _let_go_of_streams()
        ending = supervise(
            child,
            bell=bell,
            control=control,
            wall=request["wall"],
            memory=request["memory"] if has_proc else None,
            kill=_kill_all,
        )
        report(control, {**ending, "folder": WORK})
    except Abandoned:
        os._exit(1)
    except BaseException as error:  # noqa: BLE001 — whatever it is, the other side must hear of it
        report(control, {"failed": say(error)})
        os._exit(1)
    os._exit(0)


def _mount_proc() -> bool:
    """Mount ``/proc`` with nothing but the namespace's own processes; ``False`` where a container forbids it."""
    try:
        flags = kernel.NO_SUID | kernel.NO_DEV | kernel.NO_EXEC
        kernel.mount("proc", "./proc", flags, "subset=pid")
    except OSError:
        return False
    return True


def _kill_all() -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # everything in the namespace but this process


def _let_go_of_streams() -> None:
    """Hold the program's streams no longer, so that they close when it closes them."""
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def _make_place(path: str, *, folder: bool) -> None:
    """An empty folder or file to mount on."""
    if folder:
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
