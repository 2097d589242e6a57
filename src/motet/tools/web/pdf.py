"""The text of a PDF from a stranger, read in a process of its own.

A small PDF can ask for hours and gigabytes. In a process both have an end: it is killed when its time is over, and it is denied
more memory. It gets the bytes on standard input and answers with JSON; of the environment it gets what Python needs to start.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
from typing import Final

import anyio
from anyio.lowlevel import RunVar

from motet.errors import ToolError
from motet.tools.threads import threads

SECONDS: Final = 30.0
MEMORY: Final = 2 << 30  # bytes of address space
AT_ONCE: Final = 2

_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "TMPDIR")
_places: RunVar[anyio.CapacityLimiter] = RunVar("motet.tools.web.pdf")


async def read_pdf(body: bytes, *, seconds: float = SECONDS) -> tuple[str, str]:
    """Title and text. Raises ToolError; its message completes the sentence that the page's address begins."""
    places = _places.get(None)
    if places is None:
        places = anyio.CapacityLimiter(AT_ONCE)
        _places.set(places)
    async with places:
        reader = _Reader()
        try:
            out = await threads().run(functools.partial(reader.run, body, seconds))
        finally:
            reader.stop()
    if out is None:
        raise ToolError(f"is a PDF that cannot be read within {seconds:g} s")
    return _answer(out)


class _Reader:
    """One process, run and reaped in a thread, and ended from any other."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self, body: bytes, seconds: float) -> bytes | None:
        """What the process answers to ``body``; ``None`` when its time is over."""
        with subprocess.Popen(  # noqa: S603 - this interpreter, with this module
            [sys.executable, "-P", "-m", __name__],  # -P: a module in the working directory is not meant
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        ) as process:
            self._process = process
            try:
                if self._stopped:
                    return None
                return process.communicate(body, timeout=seconds)[0]
            except subprocess.TimeoutExpired:
                return None
            finally:
                process.kill()

    def stop(self) -> None:
        """End the process if it still runs; ``run`` then returns."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()


def _answer(out: bytes) -> tuple[str, str]:
    try:
        answer = json.loads(out)
    except ValueError:
        raise ToolError("is a PDF that cannot be read: it is damaged, or needs too much memory") from None
    if "problem" in answer:
        raise ToolError(f"is a PDF that {answer['problem']}")
    return answer["title"], answer["text"]


def _main() -> None:
    from motet.tools.documents import READERS, Unreadable, quiet

    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet()
    try:
        title, text = READERS[".pdf"](sys.stdin.buffer.read())
        answer = {"title": title, "text": text}
    except Unreadable as error:
        answer = {"problem": str(error)}
    except Exception as error:  # noqa: BLE001 - a parser of hostile files raises anything
        answer = {"problem": f"cannot be parsed: {type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    _main()
