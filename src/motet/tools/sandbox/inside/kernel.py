"""The Linux system calls that the sandbox needs and Python 3.11 does not offer, through ctypes.

Numbers and constants are the kernel's stable ABI (``include/uapi``); calls from 424 on have one number on all machines.
Mounts are made with the calls of Linux 5.12 (``open_tree``, ``mount_setattr``, ``move_mount``): a tree is copied first,
made read-only while nobody can see it, and only then put in place. Every function raises OSError naming the call.
"""

from __future__ import annotations

import ctypes
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

# unshare(2) flags, one for each kind of namespace
NEW_CGROUP, NEW_UTS, NEW_IPC = 0x02000000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NET, NEW_MOUNT = 0x10000000, 0x20000000, 0x40000000, 0x00020000
NEW_ALL = NEW_CGROUP | NEW_UTS | NEW_IPC | NEW_USER | NEW_PID | NEW_NET | NEW_MOUNT

# mount(2) flags
READ_ONLY, NO_SUID, NO_DEV, NO_EXEC = 0x1, 0x2, 0x4, 0x8  # the same values serve mount_setattr(2)
_RECURSIVE, _PRIVATE = 0x4000, 0x40000
_DETACH = 0x2

# Call numbers for (x86_64, aarch64).
_NUMBERS = {
    "pivot_root": (155, 41),
    "capset": (126, 91),
    "clone": (56, 220),
    "socket": (41, 198),
    "prlimit64": (302, 261),
    "clone3": (435, 435),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "mount_setattr": (442, 442),
}

# What sandboxed code may not call at all: (x86_64, aarch64).
_DENIED = {
    # namespaces and mounts: the way to regain capabilities
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # memory that no process is charged for
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    # keys are shared by session, not by namespace; the kernel's log
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "syslog": (103, 116),
    # large and rarely needed parts of the kernel
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column in the tables, AUDIT_ARCH_*


def _machine() -> tuple[int, int]:
    name = os.uname().machine
    if name not in _MACHINES:
        raise OSError(38, f"the sandbox knows no system call numbers for {name}")
    return _MACHINES[name]


def _raise_if(failed: bool, call: str) -> None:
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, f"{call}: {os.strerror(code)}")


def _call(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char]) -> int:
    number = _NUMBERS[name][_machine()[0]]
    words = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = int(_libc.syscall(ctypes.c_long(number), *words))
    _raise_if(result < 0, name)
    return result


def _prctl(option: int, value: object = 0, *, call: str) -> None:
    # prctl is variadic: each argument must be passed as a full word
    word = ctypes.c_ulong(value) if isinstance(value, int) else value
    zero = ctypes.c_ulong(0)
    _raise_if(_libc.prctl(option, word, zero, zero, zero) < 0, call)


def unshare(flags: int) -> None:
    """Leave the shared namespaces named by ``flags``."""
    _raise_if(_libc.unshare(flags) < 0, "unshare (new namespaces)")


def set_hostname(name: str) -> None:
    """Name this UTS namespace."""
    data = name.encode()
    _raise_if(_libc.sethostname(data, len(data)) < 0, "sethostname")


def mount(kind: str, target: str, flags: int, options: str) -> None:
    """Mount a new file system of ``kind`` (tmpfs, proc) at ``target``."""
    failed = _libc.mount(kind.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())
    _raise_if(failed < 0, f"mount {kind}")


def make_mounts_private() -> None:
    """Stop mount events from travelling between this namespace and the one it was copied from."""
    failed = _libc.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None)
    _raise_if(failed < 0, "mount --make-rprivate")


def copy_tree(path: str) -> int:
    """A detached copy of the mounts at and below ``path``, as a descriptor."""
    at_fdcwd, clone, recursive = -100, 0x1, 0x8000
    try:
        return _call("open_tree", at_fdcwd, path.encode(), clone | recursive | os.O_CLOEXEC)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({path})") from None


def restrict_tree(tree: int | str, flags: int, *, recursive: bool) -> None:
    """Add ``flags`` (READ_ONLY, NO_SUID, …) to a detached copy or to the mount at a path."""
    attributes = ctypes.create_string_buffer(struct.pack("QQQQ", flags, 0, 0, 0), 32)
    empty_path, below = 0x1000, 0x8000 if recursive else 0
    if isinstance(tree, int):
        _call("mount_setattr", tree, b"", empty_path | below, attributes, 32)
    else:
        _call("mount_setattr", -100, tree.encode(), below, attributes, 32)


def attach_tree(tree: int, target: str) -> None:
    """Put a detached copy at ``target`` and close its descriptor."""
    _call("move_mount", tree, b"", -100, target.encode(), 0x4)  # MOVE_MOUNT_F_EMPTY_PATH
    os.close(tree)


def enter_root(path: str) -> None:
    """Make the mount at ``path`` the root directory and let go of the old one."""
    os.chdir(path)
    _call("pivot_root", b".", b".")  # the old root now lies on top of the new one
    _raise_if(_libc.umount2(b".", _DETACH) < 0, "umount of the old root")
    os.chdir("/")


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends. A change of user clears this: call it afterwards."""
    _prctl(1, 9, call="PR_SET_PDEATHSIG")


def hide_memory() -> None:
    """Let no process without capabilities read or trace this one, though it has the same user."""
    _prctl(4, 0, call="PR_SET_DUMPABLE")


def drop_privileges() -> None:
    """Give up every capability, and every way to gain one."""
    _prctl(38, 1, call="PR_SET_NO_NEW_PRIVS")
    for capability in range(64):
        if _libc.prctl(24, ctypes.c_ulong(capability), 0, 0, 0) < 0:  # PR_CAPBSET_DROP: fails past the last one
            break
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0), 8)  # version 3, this process
    _call("capset", header, ctypes.create_string_buffer(24))


def forbid_calls() -> None:
    """Install the seccomp filter, for this process and all its children. Needs ``drop_privileges`` first.

    A denied call fails with EPERM. Sockets are limited to the families that a network namespace confines: AF_VSOCK, for
    one, would reach a virtual machine's host.
    """
    program = _filter()
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code)), 16)
    zero = ctypes.c_ulong(0)
    failed = _libc.prctl(22, ctypes.c_ulong(2), header, zero, zero)  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
    _raise_if(failed < 0, "seccomp")


def _filter() -> bytes:
    """The filter as classic BPF over ``struct seccomp_data``: call number at 0, machine at 4, first argument at 16."""
    column, machine = _machine()
    load, equal, at_least, any_bit, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill = 0x7FFF0000, 0x80000000
    eperm, enosys = 0x00050000 | 1, 0x00050000 | 38

    def number(name: str) -> int:
        return _NUMBERS[name][column]

    # (operation, instructions to skip if true, if false, operand)
    steps = [
        (load, 0, 0, 4),
        (equal, 1, 0, machine),
        (answer, 0, 0, kill),  # 32-bit calls have other numbers
        (load, 0, 0, 0),
    ]
    if column == 0:
        steps += [(at_least, 0, 1, 0x40000000), (answer, 0, 0, eperm)]  # x32 calls
    for numbers in _DENIED.values():
        steps += [(equal, 0, 1, numbers[column]), (answer, 0, 0, eperm)]
    # clone3 passes its flags in memory, where no filter can look; libc falls back to clone
    steps += [(equal, 0, 1, number("clone3")), (answer, 0, 0, enosys)]
    steps += [
        (equal, 0, 4, number("clone")),
        (load, 0, 0, 16),
        (any_bit, 0, 1, NEW_ALL),
        (answer, 0, 0, eperm),
        (answer, 0, 0, allow),
    ]
    # limits of other processes: the supervisor has the same user
    steps += [
        (equal, 0, 4, number("prlimit64")),
        (load, 0, 0, 16),
        (equal, 1, 0, 0),
        (answer, 0, 0, eperm),
        (answer, 0, 0, allow),
    ]
    unix, inet, inet6 = 1, 2, 10
    steps += [
        (equal, 0, 5, number("socket")),
        (load, 0, 0, 16),
        (equal, 3, 0, unix),
        (equal, 2, 0, inet),
        (equal, 1, 0, inet6),
        (answer, 0, 0, eperm),
    ]
    steps.append((answer, 0, 0, allow))
    return b"".join(struct.pack("HBBI", *step) for step in steps)
