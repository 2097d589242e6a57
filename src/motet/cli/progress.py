"""Progress on standard error: a live view, plain lines, or JSON lines.

A run must never fail because of how it is shown. So whatever goes wrong here (a closed stream, a locale that cannot show a character, a
terminal that went away) ends the progress and nothing else.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from motet.cli.modes import Mode
from motet.cli.story import sentence
from motet.cli.terminal import clean, is_terminal

if TYPE_CHECKING:
    from motet.runs.events import Event


class View(Protocol):
    """One way of showing progress. Its methods are called from the event loop and must be quick."""

    def start(self) -> None:
        """Begin to show."""
        ...

    def event(self, event: Event) -> None:
        """Show an event."""
        ...

    def delta(self, scope: str, text: str) -> None:
        """Show a piece of a reply as it streams in."""
        ...

    def stop(self) -> None:
        """Leave the terminal as it was, for good or until ``start``. May be called twice, and from a signal handler."""
        ...


class Progress:
    """Passes events on to a view for as long as that works, and remembers which run they belong to."""

    def __init__(self, view: View | None) -> None:
        self._view = view
        self.run_id: str | None = None

    @property
    def reads_deltas(self) -> bool:
        """Whether pieces of replies have a use; models stream only then."""
        return self._view is not None and not isinstance(self._view, Lines)

    def start(self) -> None:
        """Begin to show."""
        self._try(lambda view: view.start())

    def event(self, event: Event) -> None:
        """Hear an event of the run."""
        run = event.payload.get("run")
        if event.kind in ("run.started", "run.resumed") and isinstance(run, str):
            self.run_id = run
        self._try(lambda view: view.event(event))

    def delta(self, scope: str, text: str) -> None:
        """Hear a piece of a reply."""
        self._try(lambda view: view.delta(scope, text))

    def stop(self) -> None:
        """Leave the terminal as it was."""
        self._try(lambda view: view.stop())

    def _try(self, show: Callable[[View], None]) -> None:
        if self._view is None:
            return
        try:
            show(self._view)
        except Exception:  # noqa: BLE001 - see the module's docstring
            self._view = None


def open_progress(mode: Mode, *, title: str = "") -> Progress:
    """The progress for ``mode`` on the present standard error."""
    if mode is Mode.none:
        return Progress(None)
    if mode is Mode.auto and is_terminal(sys.stderr):
        from motet.cli.live import Live

        return Progress(Live(title=title))
    return Progress(Lines(as_json=mode is Mode.json))


# Of a team's nodes, its meta-model and its judge, what came of their work is told, and not each step of it.
_STEPS = frozenset({"model.replied", "tool.called", "tool.replied", "agent.step", "agent.nudge", "answer.kept"})
_AT_WORK = re.compile(r"/round-\d+/")


class Lines:
    """One line for each event: when (seconds since the start), where, what. As JSON every event; in words no step of a team's members, and no answer twice."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._start = time.time()
        self._kept: object = None

    def start(self) -> None:
        """Nothing to do."""

    def event(self, event: Event) -> None:
        """Write the event's line."""
        if self._as_json:
            # ASCII, so that no line break or terminal code of a model is left in it.
            line = json.dumps(
                {
                    "seq": event.seq,
                    "time": round(event.time, 3),
                    "scope": event.scope,
                    "kind": event.kind,
                    "payload": event.payload,
                }
            )
        else:
            if event.kind in _STEPS and _AT_WORK.search(event.scope):
                return
            if event.kind == "answer.kept":
                if event.payload["answer"] == self._kept:
                    return
                self._kept = event.payload["answer"]
            where = f"  {event.scope}" if event.scope else ""
            line = clean(f"{event.time - self._start:7.1f}s{where}  {sentence(event.kind, event.payload)}")
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def delta(self, scope: str, text: str) -> None:
        """Lines do not show pieces."""

    def stop(self) -> None:
        """Nothing to do."""
