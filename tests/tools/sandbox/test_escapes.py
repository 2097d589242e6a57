"""Each way out of the sandbox that we thought of, tried."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motet.tools.sandbox import Limits, probe
from motet.tools.sandbox.layout import layout

if TYPE_CHECKING:
    from tests.tools.sandbox.conftest import Processes, Run

Attempt = Callable[[str], str]


def test_files_of_the_user_are_not_there(attempt: Attempt, home: Path, tmp_path: Path) -> None:
    """Neither the store, nor a temporary file, nor the machine's accounts can be opened."""
    (home / "motet.db").write_text("secret")
    (tmp_path / "note").write_text("secret")
    for path in (home / "motet.db", tmp_path / "note", "/etc/passwd", "/etc/shadow", "/etc/hosts", Path(__file__)):
        assert attempt(f"open({str(path)!r}).read()") == "ENOENT"


def test_the_home_folder_shows_at_most_the_interpreter(isolated: Run) -> None:
    """Listing the real home folder shows nothing, or only the path to the interpreter if that lies in it."""
    execution = isolated(
        f"import os\ntry: print(os.listdir({str(Path.home())!r}))\nexcept FileNotFoundError: print([])"
    )
    shown = eval(execution.stdout)
    assert len(shown) <= 1
    assert set(shown) <= set(Path(layout().python).parts)


def test_the_environment_is_not_inherited(isolated: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in Motet's environment is in no variable of the code, nor in what /proc tells of any process it sees."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-value")
    execution = isolated(
        "import glob, os\n"
        "print(dict(os.environ))\n"
        "for path in glob.glob('/proc/*/environ'):\n"
        "    try: print(open(path, 'rb').read())\n"
        "    except OSError as error: print(error)\n"
    )
    assert execution.ok
    assert "secret" not in execution.stdout


def test_loopback_is_out_of_reach(attempt: Attempt) -> None:
    """A server that listens on this machine's loopback cannot be connected to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert attempt(f"socket.create_connection(('127.0.0.1', {port}), timeout=5)") in ("ENETUNREACH", "ECONNREFUSED")


def test_an_abstract_unix_socket_is_out_of_reach(attempt: Attempt) -> None:
    """Unix sockets without a file (D-Bus, X11) belong to the network namespace, and there is none."""
    with socket.socket(socket.AF_UNIX) as server:
        name = f"\0motet-test-{os.getpid()}"
        server.bind(name)
        server.listen()
        assert attempt(f"socket.socket(socket.AF_UNIX).connect({name!r})") == "ECONNREFUSED"


@pytest.mark.parametrize("address", ["192.0.2.1", "169.254.169.254", "10.0.0.1"])
def test_the_outside_is_out_of_reach(attempt: Attempt, address: str) -> None:
    """No address has a route, a cloud's metadata service included."""
    assert attempt(f"socket.create_connection(({address!r}, 80), timeout=5)") == "ENETUNREACH"
    assert attempt(f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ({address!r}, 53))") == "ENETUNREACH"


@pytest.mark.parametrize("family", [16, 17, 38, 40])
def test_other_kinds_of_sockets_cannot_be_made(attempt: Attempt, family: int) -> None:
    """Netlink, packet, crypto and virtual-machine sockets, some of which no namespace confines, are refused."""
    assert attempt(f"socket.socket({family}, socket.SOCK_RAW)") == "EPERM"


@pytest.mark.parametrize(
    "path", ["/x", "/usr/x", "/dev/x", "/proc/x", "/dev/shm/../../x", os.path.dirname(os.__file__) + "/x"]
)
def test_nothing_can_be_written_outside_the_folder(attempt: Attempt, path: str) -> None:
    """Creating a file anywhere but in the working folder fails."""
    assert attempt(f"open({path!r}, 'w')") in ("EROFS", "ENOENT", "EACCES")


def test_a_library_cannot_be_made_writable(attempt: Attempt) -> None:
    """The interpreter's files can be neither changed nor opened for writing, nor their mount loosened."""
    assert attempt("os.chmod(os.__file__, 0o777)") in ("EROFS", "EPERM")
    assert attempt("open(os.__file__, 'r+')") in ("EROFS", "EACCES")
    assert attempt("call('mount', None, b'/', None, 0x1020, None)") == "EPERM"


def test_other_processes_cannot_be_seen_or_signalled(attempt: Attempt, isolated: Run) -> None:
    """Motet's own process has no number inside; /proc shows the code and its supervisor."""
    assert isolated("import os\nprint(sorted(p for p in os.listdir('/proc') if p.isdigit()))").stdout in (
        "['1', '2']\n",
        "[]\n",
    )
    pid = os.getpid()
    assert attempt(f"os.kill({pid if pid > 2 else 4_000_000}, 9)") == "ESRCH"


def test_the_supervisor_cannot_be_attacked(isolated: Run) -> None:
    """Whatever the code does to its supervisor, which has the same user, the report still arrives and is true."""
    execution = isolated(
        "import ctypes, os, resource, signal\n"
        "for number in range(1, 65):\n"
        "    if number not in (signal.SIGCHLD,):\n"
        "        try: os.kill(1, number)\n"
        "        except OSError: pass\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "assert libc.ptrace(16, 1, 0, 0) < 0\n"
        "for name in ('mem', 'fd/3', 'environ', 'root/etc', 'cwd/x', 'maps'):\n"
        "    try: open('/proc/1/' + name, 'rb').read(1)\n"
        "    except OSError: pass\n"
        "    else: print('opened', name)\n"
        "try: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))\n"
        "except OSError: pass\n"
        "else: print('limited')\n"
        "print('end')\n"
        "raise SystemExit(7)\n"
    )
    assert (execution.stdout, execution.exit_code, execution.signal) == ("end\n", 7, None)


@pytest.mark.parametrize(
    "statement",
    [
        "call('unshare', 0x10000000)",  # a user namespace would bring all capabilities back
        "call('unshare', 0x00020000)",
        "call('setns', 0, 0)",
        "call('mount', b'none', b'/tmp', b'tmpfs', 0, b'')",
        "call('umount2', os.__file__.encode(), 2)",
        "call('syscall', 428, -100, b'/', 1)",  # open_tree
        "call('syscall', 425, 1, 0)",  # io_uring_setup
        "call('ptrace', 0, 0, 0, 0)",
        "call('memfd_create', b'x', 0)",
        "call('shmget', 0, 4096, 0o1600)",
        "call('klogctl', 3, ctypes.create_string_buffer(64), 64)",
        "call('process_vm_readv', 1, None, 0, None, 0, 0)",
        "os.chroot('/tmp')",
        "os.setgroups([0])",
        "os.mknod('/tmp/disk', 0o060666, os.makedev(254, 0))",
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        "call('sethostname', b'x', 1)",
    ],
)
def test_calls_for_the_privileged_are_refused(attempt: Attempt, statement: str) -> None:
    """No call that changes namespaces, mounts, users, devices or other processes is allowed."""
    assert attempt(statement) == "EPERM"


def test_root_does_not_exist(attempt: Attempt) -> None:
    """There is no other user to become: their ids have no meaning inside."""
    assert attempt("os.setuid(0)") == "EINVAL"
    assert attempt("os.setresgid(0, 0, 0)") == "EINVAL"


def test_a_new_user_namespace_cannot_be_cloned(isolated: Run) -> None:
    """The filter also sees namespace flags in clone, and refuses clone3, whose flags it cannot see."""
    execution = isolated(
        "import ctypes, errno, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "clone = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\n"
        "for call in ((clone, 0x10000000 | 17, 0, 0, 0, 0), (435, b'\\0' * 88, 88)):\n"
        "    print(libc.syscall(*call), errno.errorcode[ctypes.get_errno()])\n"
    )
    assert execution.stdout == "-1 EPERM\n-1 ENOSYS\n"


def test_a_setuid_program_gives_nothing(isolated: Run) -> None:
    """A set-user-id bit set inside does not count, and the folder runs no programs at all."""
    execution = isolated(
        "import os, shutil, subprocess, sys\n"
        "shutil.copy(sys.executable, '/tmp/tool')\n"
        "os.chmod('/tmp/tool', 0o4755)\n"
        "try: subprocess.run(['/tmp/tool', '-c', 'pass'])\n"
        "except PermissionError: print('refused')\n"
        "print(subprocess.run([sys.executable, '-c', 'import os; print(os.getresuid())'], capture_output=True, text=True).stdout)\n"
    )
    assert execution.stdout == "refused\n(1000, 1000, 1000)\n\n"


def test_descriptors_lead_nowhere(isolated: Run) -> None:
    """Nothing is open but the three streams, and none of them is a folder to climb out of."""
    execution = isolated(
        "import os\n"
        "def is_open(n):\n"
        "    try: return os.fstat(n) is not None\n"
        "    except OSError: return False\n"
        "print([n for n in range(256) if is_open(n)])\n"
        "for n in range(3):\n"
        "    for path in ('..', '../../../etc/passwd'):\n"
        "        try: os.stat(path, dir_fd=n)\n"
        "        except OSError as error: print(error.errno == 20)\n"
    )
    assert execution.stdout == "[0, 1, 2]\n" + "True\n" * 6


def test_symbolic_links_and_dots_stay_inside(attempt: Attempt) -> None:
    """Links made inside, dots above the root and /proc's links to roots all end in the sandbox's own tree."""
    assert attempt("os.symlink('/etc/passwd', 'link')\nopen('link').read()") == "ENOENT"
    assert attempt("open('/..' * 40 + '/etc/passwd').read()") == "ENOENT"
    assert attempt("open('/proc/self/root/etc/passwd').read()") == "ENOENT"
    assert attempt("open('/proc/1/root/etc/passwd').read()") in ("EACCES", "ENOENT")
    assert attempt("os.link('/usr/lib', '/tmp/hard')") in ("EPERM", "EXDEV")


def test_devices_and_kernel_settings_are_not_there(isolated: Run) -> None:
    """The machine's kernel settings and devices are not there."""
    execution = isolated(
        "import os\nprint(sorted(os.listdir('/dev')), os.path.exists('/proc/sys'), os.path.exists('/sys'))"
    )
    assert execution.stdout.endswith("False False\n")
    assert "mem" not in execution.stdout
    assert "vda" not in execution.stdout


def test_the_disk_cannot_be_filled(isolated: Run) -> None:
    """Writing stops at the size of the folder, in one file or in many, and shared memory counts as the same folder."""
    execution = isolated(
        "import errno, os\n"
        "total = 0\n"
        "try:\n"
        "    for n in range(10_000):\n"
        "        with open(f\"{'/dev/shm' if n % 2 else '/tmp'}/{n}\", 'wb') as file:\n"
        "            total += file.write(bytes(64 * 1024))\n"
        "except OSError as error: print(errno.errorcode[error.errno], total <= 4 << 20)\n"
        "for n in range(64):\n"
        "    if os.path.exists(f'/tmp/{n}'): os.unlink(f'/tmp/{n}')\n"
        "try: open('/tmp/one', 'wb').write(bytes(5 << 20))\n"
        "except OSError as error: print(errno.errorcode[error.errno])\n",
        limits=Limits(disk=4 << 20),
    )
    assert execution.ok, execution.stderr
    first, second = execution.stdout.splitlines()
    assert first == "ENOSPC True"
    assert second in ("EFBIG", "ENOSPC")


def test_one_process_cannot_fill_the_memory(isolated: Run) -> None:
    """An allocation above the limit is a MemoryError, and the execution says that memory ran out."""
    execution = isolated("block = bytearray(400 << 20)", limits=Limits(memory=256 << 20))
    assert execution.exit_code == 1
    assert execution.out_of_memory
    assert "MemoryError" in execution.stderr


def test_many_processes_cannot_fill_the_memory(isolated: Run) -> None:
    """Processes that each stay within their limit are all ended when together they pass it."""
    if not next(check for check in probe().checks if check.name == "proc").ok:
        pytest.skip("no private /proc in this container: memory is limited per process only")
    execution = isolated(
        "import os, signal\n"
        "for _ in range(12):\n"
        "    if os.fork() == 0:\n"
        "        block = bytearray(os.urandom(1)) * (100 << 20)\n"
        "        signal.pause()\n"
        "signal.pause()\n",
        limits=Limits(memory=256 << 20),
    )
    assert execution.signal == "SIGKILL"
    assert execution.out_of_memory
    assert not execution.timed_out


def test_a_fork_bomb_is_stopped(isolated: Run, processes: Processes) -> None:
    """Forking fails at the limit on processes, and none of those made is left afterwards."""
    execution = isolated(
        "import os, signal\n"
        "made = 0\n"
        "try:\n"
        "    while True:\n"
        "        if os.fork() == 0: signal.pause()\n"
        "        made += 1\n"
        "except BlockingIOError: print(made)\n",
        limits=Limits(processes=20),
    )
    assert execution.stdout == "19\n"
    assert not processes.below(os.getpid())


def test_a_wild_fork_bomb_ends_with_the_time(isolated: Run, processes: Processes) -> None:
    """Processes that fork for ever and ignore signals are gone when the time limit has passed."""
    execution = isolated(
        "import os, signal\n"
        "for number in range(1, 32):\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n"
        "    except OSError: pass\n"
        "while True:\n"
        "    try: os.fork(); os.setsid()\n"
        "    except OSError: pass\n",
        limits=Limits(processes=30, wall_seconds=1),
    )
    assert execution.timed_out
    assert not processes.below(os.getpid())


def test_a_daemon_does_not_survive(isolated: Run, processes: Processes) -> None:
    """A process that left its session and parent is ended with the run, even if it holds the streams open."""
    mark = f"motet-daemon-{os.getpid()}"
    execution = isolated(
        "import os, sys\n"
        "reader, writer = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.set_inheritable(writer, True)\n"
        "        code = f'import os, signal; os.write({writer}, b\"1\"); signal.pause()'\n"
        f"        os.execv(sys.executable, [sys.executable, '-c', code, {mark!r}])\n"
        "    os._exit(0)\n"
        "os.read(reader, 1)\n"
        "print('started')\n"
    )
    assert execution.stdout == "started\n"
    assert not processes.with_mark(mark)
