"""The live view: one line for each scope at work, and the sums above them, redrawn in place."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.table import Table
from rich.text import Text

from motet.cli.board import Board, Lane
from motet.cli.terminal import messages, one_line

if TYPE_CHECKING:
    from motet.runs.events import Event

_INTERVAL = 0.12  # seconds between redraws
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_SPINNER = "-\\|/"


class Live:
    """Draws a Board from a thread of its own, so that a busy event loop still shows the time pass."""

    def __init__(self, *, title: str, console: Console | None = None) -> None:
        self._console = console or messages()
        self._title = title
        self._board = Board()
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        # What is printed meanwhile comes out above the view; it is already on its way to standard error.
        self._live = RichLive(
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )

    def start(self) -> None:
        """Take the bottom of the terminal, for the first time or after ``stop``."""
        self._stopped.clear()
        self._live.vertical_overflow = "crop"  # which a stop changes
        self._live.start()
        self._thread = threading.Thread(target=self._draw_on, name="motet-progress", daemon=True)
        self._thread.start()

    def event(self, event: Event) -> None:
        """Take in an event; it is drawn with the next picture."""
        with self._lock:
            self._board.hear(event)

    def delta(self, scope: str, text: str) -> None:
        """Take in a piece of a reply."""
        with self._lock:
            self._board.read(scope, text)

    def stop(self) -> None:
        """Give the terminal back."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=1.0)
            self._thread = None
        self._live.stop()
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()

    def picture(self) -> Group:
        """What is drawn now: the sums, the latest rounds, then the scopes at work, the latest heard of first to stay when there is no room."""
        with self._lock:
            room = max(self._console.height - 3, 1)
            rounds = [*self._board.rounds.values()][-max(room // 2, 1) :] if room > 1 else []
            room -= len(rounds)
            working = [lane for lane in self._board.lanes.values() if not lane.done]
            shown = sorted(working, key=lambda lane: -lane.touched)[:room]
            lanes = [lane for lane in working if lane in shown]
            head = self._head()
            table = Table.grid(padding=(0, 1), expand=False)
            for _ in range(3):
                table.add_column(no_wrap=True, overflow="ellipsis")
            for lane in lanes:
                table.add_row(*self._row(lane))
            rest = len(working) - len(lanes)
        width = self._console.width
        told = [
            Text(
                f"  {one_line(found.words(), width=max(width - 2, 1))}", style="dim", no_wrap=True, overflow="ellipsis"
            )
            for found in rounds
        ]
        parts: list[Text | Table] = [head, *told, table]
        if rest:
            parts.append(Text(f"  and {rest} more", style="dim", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)

    def _head(self) -> Text:
        elapsed = time.monotonic() - self._begun
        spinner = _SPINNER if self._console.encoding.startswith("utf") else _PLAIN_SPINNER
        turn = spinner[int(elapsed / _INTERVAL) % len(spinner)]
        facts = [f"{elapsed:.0f} s", *self._board.sums()]
        if self._title:
            facts.insert(0, self._title)
        return Text(f"{turn} {' · '.join(facts)}", style="bold", no_wrap=True, overflow="ellipsis")

    def _row(self, lane: Lane) -> tuple[Text, Text, Text]:
        name = Text(f"  {one_line(lane.scope, width=32)}", style="cyan")
        step = Text(f"step {lane.step + 1}" if lane.step else "", style="dim")
        width = max(self._console.width - len(name) - len(step) - 4, 10)
        if lane.trouble:
            return name, step, Text(one_line(lane.trouble, width=width), style="yellow")
        if lane.tail:
            line = one_line(lane.tail, width=10_000)
            return name, step, Text(line if len(line) <= width else f"…{line[-width + 1 :]}", style="italic")
        return name, step, Text(one_line(lane.doing, width=width))

    def _draw_on(self) -> None:
        # A terminal that went away must not spill a traceback out of this thread.
        with contextlib.suppress(Exception):
            while not self._stopped.wait(_INTERVAL):
                self._live.update(self.picture(), refresh=True)
