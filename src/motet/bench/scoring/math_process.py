"""The other end of ``math_server.py``: starts it when first needed, keeps it for the life of this process, and replaces it if it dies."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Literal, TypeAlias

from motet.errors import InputError

Comparison: TypeAlias = Literal["equal", "different", "time", "failed"]

_SERVER = Path(__file__).with_name("math_server.py")
_START = 120.0  # seconds; the library takes one to two, more on a busy machine
_PATIENCE = 10.0  # seconds past the limit after which the server itself is given up


def require_math() -> None:
    """Raise InputError, saying how to get it, where the library is not installed."""
    if importlib.util.find_spec("math_verify") is None:
        raise InputError("comparing mathematics needs math-verify: pip install 'motet[bench]'")


class MathProcess:
    """One server, used by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def compare(self, gold: str, prediction: str, *, seconds: float) -> Comparison:
        """Whether two LaTeX expressions are equal, found out within ``seconds``. Never raises for what they contain."""
        line = json.dumps([gold, prediction, seconds]).encode() + b"\n"
        with self._lock:
            for _ in range(2):  # a server that was killed from outside is replaced once
                server = self._running()
                if server is None:
                    return "failed"
                answer = self._converse(server, line, seconds + _PATIENCE)
                if answer in ("equal", "different", "time", "failed"):
                    return answer  # type: ignore[return-value]
                self._end()
        return "failed"

    def close(self) -> None:
        """End the server, if there is one."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes] | None:
        if self._server is not None and (self._server.poll() is not None or self._owner != os.getpid()):
            self._end()
        if self._server is None:
            # -P: the modules beside the script have names of the standard library's.
            self._server = subprocess.Popen(  # noqa: S603 - our own script
                [sys.executable, "-P", "-W", "ignore", str(_SERVER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
                bufsize=0,
                start_new_session=True,  # an interrupt at the terminal is for us to handle
            )
            self._owner = os.getpid()
            if _read_line(self._server, _START) != "ready":
                self._end()
        return self._server

    def _converse(self, server: subprocess.Popen[bytes], line: bytes, seconds: float) -> str:
        assert server.stdin
        try:
            server.stdin.write(line)
        except OSError:
            return ""
        return _read_line(server, seconds)

    def _end(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        ours = self._owner == os.getpid()  # a fork's copy must not end its parent's server
        for stream in (server.stdin, server.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        if ours:
            server.kill()
            server.wait()
        else:
            server.returncode = 0  # another process reaps it


def _read_line(server: subprocess.Popen[bytes], seconds: float) -> str:
    """The next line that the server says within ``seconds``; empty if it says none."""
    assert server.stdout
    deadline = time.monotonic() + seconds
    heard = b""
    while not heard.endswith(b"\n"):
        ready, _, _ = select.select([server.stdout], [], [], max(0.0, deadline - time.monotonic()))
        part = os.read(server.stdout.fileno(), 100) if ready else b""
        if not part:
            return ""
        heard += part
    return heard.decode().strip()


# One server for the process: it takes a second to start, and holds nothing that one comparison could leave to another.
shared = MathProcess()
atexit.register(shared.close)
