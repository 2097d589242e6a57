"""What a sandboxed run is given and what comes of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field

from motet.value import Value

Level: TypeAlias = Literal["namespaces", "weak"]

VERSION = "1"  # changes when the same code may end differently


class Limits(Value):
    """Bounds of one run. Sizes in bytes, times in seconds.

    ``memory`` bounds the address space of each process and, at level ``namespaces``, the resident memory of all of them
    together; ``cpu_seconds`` is per process; ``disk`` bounds the working folder and each file; ``output`` is what is kept
    of stdout and of stderr, the rest is read and dropped; ``processes`` counts threads too.
    """

    wall_seconds: float = Field(default=30.0, gt=0)
    cpu_seconds: int = Field(default=30, gt=0)
    memory: int = Field(default=1 << 30, ge=64 << 20)
    disk: int = Field(default=64 << 20, ge=1 << 16)
    output: int = Field(default=1 << 20, ge=256)
    processes: int = Field(default=64, gt=0)
    open_files: int = Field(default=256, ge=16)


class Execution(Value):
    """How one run of some code ended. It has an ``exit_code`` or was ended by a ``signal`` (``"SIGKILL"``).

    ``timed_out`` covers wall and CPU time; ``out_of_memory`` is a guess from how it ended. Text cut in its middle to the
    limit says so there, and in ``stdout_truncated`` and ``stderr_truncated``. ``seconds`` is the program's wall time without
    the sandbox's own; ``folder`` is the working folder as the code saw it.
    """

    stdout: str
    stderr: str
    exit_code: int | None
    signal: str | None
    timed_out: bool
    out_of_memory: bool
    stdout_truncated: bool
    stderr_truncated: bool
    seconds: float
    level: Level
    folder: str

    @property
    def ok(self) -> bool:
        """Whether the code ran to its end without an error."""
        return self.exit_code == 0 and not self.timed_out and not self.out_of_memory


class Check(Value):
    """One thing that was tried from inside the sandbox. Without a ``required`` check there is no level ``namespaces``."""

    name: str
    ok: bool
    detail: str
    required: bool = True


class SandboxReport(Value):
    """The level that works on this machine, and what was found; ``python`` is the interpreter's version."""

    level: Level
    checks: tuple[Check, ...]
    python: str

    @property
    def reason(self) -> str:
        """Why the level is not ``namespaces``; empty if it is."""
        return next((f"{check.name}: {check.detail}" for check in self.checks if check.required and not check.ok), "")
