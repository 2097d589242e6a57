"""The program that compares mathematical expressions: a process of its own, with a child for each comparison.

Run as a script, and never imported by the rest. Lines come in on stdin as JSON ``[gold, prediction, seconds]``; a line ``equal``, ``different``,
``time`` (or memory) or ``failed`` goes out for each. The parent loads the library once and evaluates nothing; the child it forks has
limits on memory, CPU and wall time, so that no expression can hang it, fill the machine's memory, or leave anything behind for the next.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import time

_MEMORY = 1 << 30  # bytes of address space beyond what the library itself takes
_WORDS = {b"1": "equal", b"0": "different", b"x": "failed"}


def main() -> None:
    """Answer until stdin ends."""
    replies = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):  # the libraries print and log
        os.dup2(nothing, descriptor)
    # The first use builds the parser's tables; children inherit them.
    _equal(r"\frac{1}{2}+\sqrt{2}", r"(1,x)")
    gc.collect()
    gc.freeze()
    os.write(replies, b"ready\n")
    for line in sys.stdin.buffer:
        gold, prediction, seconds = json.loads(line)
        os.write(replies, (_ask(gold, prediction, seconds) + "\n").encode())


def _ask(gold: str, prediction: str, seconds: float) -> str:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(gold, prediction, seconds, writer)
    os.close(writer)
    deadline = time.monotonic() + seconds
    ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
    verdict = os.read(reader, 1) if ready else b""
    os.close(reader)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return _WORDS.get(verdict, "time")


def _answer(gold: str, prediction: str, seconds: float, writer: int) -> None:
    """In the child: compare within limits, say one byte, and end whatever happens."""
    verdict = b"x"
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        held = 1 << 30
    try:
        resource.setrlimit(resource.RLIMIT_AS, (held + _MEMORY, held + _MEMORY))
        limit = int(seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        verdict = b"1" if _equal(gold, prediction) else b"0"
    except MemoryError:
        verdict = b"m"
    except BaseException:  # noqa: BLE001, S110 - whatever the library raises, the answer is not equal
        pass
    finally:
        os.write(writer, verdict)
        os._exit(0)


def _equal(gold: str, prediction: str) -> bool:
    from math_verify import LatexExtractionConfig, parse, verify

    def read(text: str) -> list[object]:
        # No fallback: it would take the first number out of what the parser does not understand (3 out of 3√2). No time-outs of the
        # library's own: they are signals.
        found: list[object] = parse(
            f"${text}$", extraction_config=[LatexExtractionConfig()], fallback_mode="no_fallback", parsing_timeout=None
        )
        return found

    # More digits than the default: 0.3333333 is not one third.
    return bool(
        verify(read(gold), read(prediction), float_rounding=12, numeric_precision=30, strict=True, timeout_seconds=None)
    )


if __name__ == "__main__":
    main()
