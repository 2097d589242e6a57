"""A plan of writes at the terminal: shown call by call, and carried out after a yes.

What is in a plan was written by models, so it is shown as data: on lines of its own, with every control character and line break written out.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import termios
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from motet.cli.modes import Mode
from motet.cli.story import counted
from motet.cli.terminal import clean, one_line, say

if TYPE_CHECKING:
    from motet.cli.progress import Progress
    from motet.runs.run import Approve
    from motet.worlds.world import Write

_LONGEST = 4_000  # characters of a value that are shown


def approver(progress: Progress, *, mode: Mode, as_json: bool, yes: bool) -> Approve:
    """What ``motet.solve`` is to ask about plans: yes to all of them, or whoever is at the terminal; elsewhere plans are shown and not carried out."""
    if yes:
        return True

    async def ask(plan: Sequence[Write]) -> bool:
        if mode is Mode.json:
            say(json.dumps({"kind": "plan", "writes": [write.model_dump(mode="json") for write in plan]}))
            return False
        progress.stop()
        try:
            say("\n".join(plan_lines(plan)))
            return (
                not as_json and _at_a_terminal() and await _said_yes(f"Carry out {counted(len(plan), 'call')}? [y/N] ")
            )
        finally:
            progress.start()

    return ask


def plan_lines(plan: Sequence[Write]) -> Iterator[str]:
    """``plan`` as numbered calls, one line for each argument."""
    yield f"a plan of {counted(len(plan), 'call')}:"
    for number, write in enumerate(plan, 1):
        yield f"{number:>3}. {one_line(write.tool)}"
        for name, value in write.arguments.items():
            # As JSON, in which a line break cannot pass for the plan's next call.
            text = clean(json.dumps(value, ensure_ascii=False))
            rest = len(text) - _LONGEST
            yield (
                f"       {one_line(name)}: {text}"
                if rest <= 0
                else f"       {one_line(name)}: {text[:_LONGEST]}… and {rest:,} characters more"
            )


def _at_a_terminal() -> bool:
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except (AttributeError, OSError, ValueError):
        return False


async def _said_yes(question: str) -> bool:
    """Ask, without holding up the run's heartbeat; Ctrl-C cancels it, and the end of the input is a no."""
    number = sys.stdin.fileno()
    with contextlib.suppress(termios.error):
        # What was typed before the plan was seen is no answer to it.
        termios.tcflush(number, termios.TCIFLUSH)
    sys.stderr.write(question)
    sys.stderr.flush()
    readable = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(number, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(number)
    return os.read(number, 4096).decode(errors="replace").strip().lower() in ("y", "yes")
