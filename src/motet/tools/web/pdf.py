"""The text of a PDF from a stranger, read in a process of its own.

A small PDF can ask for hours and gigabytes. In a process both have an end: it is killed when its time is over, and it is denied
more memory. It gets the bytes on standard input and answers with JSON; of the environment it gets what Python needs to start.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import Final

import anyio
from anyio.lowlevel import RunVar

from motet.errors import ToolError

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
        with anyio.move_on_after(seconds):
            done = await anyio.run_process(
                [sys.executable, "-P", "-m", __name__],  # -P: a module in the working directory is not meant
                input=body,
                check=False,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            )
            return _answer(done.stdout)
    raise ToolError(f"is a PDF that cannot be read within {seconds:g} s")


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
