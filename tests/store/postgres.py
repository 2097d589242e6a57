"""A private PostgreSQL server for tests: its own data folder, a free loopback port, started and stopped by its own process."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _binaries() -> Path | None:
    """The folder of the newest installed server, or ``None``."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3].partition(".")[0])
    )
    if found:
        return found[-1].parent
    path = shutil.which("postgres")
    return Path(path).parent if path else None


@contextmanager
def server() -> Iterator[str]:
    """The URL of a running server's empty database. Skips the test, saying why, when there is no server to start."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: apt-get install postgresql)")
    # The server refuses to run as root.
    as_user: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no setpriv to change the user")
        as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    folder = Path(tempfile.mkdtemp(prefix="motet-pg-"))
    try:
        if as_user:
            os.chown(folder, 65534, 65534)
        data = folder / "data"
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C"}
        made = subprocess.run(
            [*as_user, binaries / "initdb", "-D", data, "-U", "motet", "--auth=trust", "-E", "UTF8", "--no-sync"],
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            check=False,
        )
        if made.returncode:
            pytest.skip(f"initdb failed: {made.stderr.strip().splitlines()[-1]}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = ["-h", "127.0.0.1", "-p", str(port), "-k", str(folder), "-F", "-c", "log_min_messages=fatal"]
        process = subprocess.Popen(
            [*as_user, binaries / "postgres", "-D", data, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
        )
        try:
            url = f"postgresql://motet@127.0.0.1:{port}/postgres"
            _wait(url, process)
            yield url
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
            process.wait(timeout=30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(url: str, name: str) -> str:
    """The URL of a new, empty database on the server at ``url``."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return url.rpartition("/")[0] + f"/{name}"


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
