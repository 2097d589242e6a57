"""A sitting at the terminal: work on a run with progress, signals, a report at the end, and an exit code.

Exit codes: 0 done, 1 failed, 2 bad input, 3 stopped on a budget, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from motet.cli.approval import approver
from motet.cli.modes import Mode
from motet.cli.progress import Progress, open_progress
from motet.cli.render import Columns, ledger_table, model_notes, seconds_text, sources_table
from motet.cli.story import counted
from motet.cli.terminal import clean, is_terminal, json_text, kept_output, messages, put, say
from motet.errors import StoreError
from motet.store.queries import resolve_run, totals
from motet.store.store import Store
from motet.usage import Origin, Totals

if TYPE_CHECKING:
    from rich.console import Console

    from motet.runs.events import Watcher
    from motet.runs.run import Approve, ReadDeltas
    from motet.task import Result

T = TypeVar("T")

DONE, FAILED, BAD_INPUT, BUDGET, INTERRUPTED = 0, 1, 2, 3, 130


class Work(Protocol):
    """``motet.solve`` or ``motet.resume``, with everything given but the store and the onlookers."""

    def __call__(
        self, *, store: Store, watchers: Sequence[Watcher], read_deltas: ReadDeltas | None, approve: Approve
    ) -> Awaitable[Result]:
        """Do the work."""
        ...


def sit(
    work: Work,
    *,
    store: Store,
    mode: Mode,
    as_json: bool,
    models: Sequence[str],
    title: str,
    run_id: str | None = None,
    hint: str = "",
    yes: bool = False,
) -> int:
    """Do ``work`` and report on it; returns the exit code. ``run_id`` is the run's when it is there already.

    ``hint`` is added to the commands that are suggested. With ``yes`` plans of writes are carried out without asking. Errors before a run exists, and bugs, are raised.
    """
    earlier = _paid_by_role(store, run_id) if run_id else {}
    progress = open_progress(mode, title=title)
    progress.run_id = run_id
    try:
        approve = approver(progress, mode=mode, as_json=as_json, yes=yes)
        result = conduct(work, store=store, progress=progress, approve=approve)
    except StoreError as error:
        if progress.run_id is None:
            raise
        say(f"motet: {error}")
        return FAILED
    except Exception as error:
        if progress.run_id is not None:
            error.add_note(f"motet show {progress.run_id}")
        raise
    if result is None:
        if progress.run_id is None:
            say("motet: interrupted before the run began; nothing was stored")
        else:
            say(f"motet: interrupted; resume with: motet resume {progress.run_id}{hint}")
        return INTERRUPTED
    if as_json:
        sys.stdout.write(f"{json_text(result.model_dump(mode='json'))}\n")
    elif result.answer is not None:
        sys.stdout.write(f"{clean(result.answer)}\n")
    sys.stdout.flush()
    if not as_json and mode is not Mode.json:
        with contextlib.suppress(OSError, ValueError):
            _report(store, result, earlier=earlier, models=models)
    return _conclude(result, hint=hint)


def conduct(work: Work, *, store: Store, progress: Progress, approve: Approve) -> Result | None:
    """Do ``work`` in an event loop of its own, with progress; ``None`` when a signal stopped it."""

    async def main() -> Result:
        reads = progress.delta if progress.reads_deltas else None
        return await work(store=store, watchers=[progress.event], read_deltas=reads, approve=approve)

    with kept_output():
        progress.start()
        try:
            return interruptible(main)
        finally:
            progress.stop()


def interruptible(main: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
    """Do ``main`` in an event loop of its own; ``None`` when a signal stopped it.

    The first SIGINT or SIGTERM cancels the work, which leaves its run to be resumed; the second one ends the process at once.
    """
    stop = _Stop()

    async def watched() -> T:
        stop.watch(asyncio.get_running_loop(), asyncio.current_task())
        return await main()

    with stop.handling():
        try:
            return asyncio.run(watched())
        except asyncio.CancelledError:
            if not stop.asked:
                raise
            return None


class _Stop:
    """The signal handler of a sitting."""

    def __init__(self) -> None:
        self.asked = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None

    def watch(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any] | None) -> None:
        """Cancel ``task`` when asked, and at once if that was already."""
        self._loop, self._task = loop, task
        if self.asked and task is not None:
            task.cancel()

    @contextlib.contextmanager
    def handling(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM meanwhile."""
        before = {number: signal.signal(number, self._handle) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        # Written past Python's buffers: the signal may have come in the middle of a print.
        if self.asked:
            with contextlib.suppress(OSError):
                os.write(2, b"\x1b[?25h" if is_terminal(sys.stderr) else b"")
            os._exit(INTERRUPTED)
        self.asked = True
        with contextlib.suppress(OSError):
            os.write(2, b"\nmotet: stopping; once more to stop at once\n")
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._task.cancel)


def _report(store: Store, result: Result, *, earlier: dict[str, Totals], models: Sequence[str]) -> None:
    """Sources, ledger and where to look deeper, on standard error."""
    console = messages()
    if result.sources:
        console.print()
        put(console, sources_table(result.sources))
    _report_teams(console, store, result)
    paid = _paid_by_role(store, result.run_id)
    inherited = _inherited_by_role(store, result.run_id)
    groups: dict[str, Columns] = {}
    for role in {**paid, **inherited}:
        before = earlier.get(role, Totals())
        groups[role] = {
            "paid": minus(paid.get(role, Totals()), before),
            "earlier": before,
            "inherited": inherited.get(role, Totals()),
        }
    if groups:
        origins: tuple[Origin, ...] = ("paid", "earlier", "inherited")
        console.print()
        put(console, ledger_table(groups, by="role", origins=origins))
    console.print()
    for note in model_notes(models):
        console.print(f"note: {note}", style="yellow")
    run = resolve_run(store, result.run_id)
    steps = result.details.get("steps")
    facts = [f"run {run.id}", result.status, seconds_text(run.elapsed)]
    if isinstance(steps, int):
        facts.append(counted(steps, "step"))
    console.print(" · ".join(facts))
    console.print(f"look inside: motet show {run.id} --calls", style="dim")


def _report_teams(console: Console, store: Store, result: Result) -> None:
    """The rounds of teams that evolved, if any did; of a run that was stopped, as far as they went."""
    from motet.cli.sight import events_of, look

    row = resolve_run(store, result.run_id)
    happened = events_of(store, row.id)
    if any(event.kind.startswith("inherit.") for event in happened):
        from motet.cli.evolution import history_of, put_history

        history = history_of(store, look(store, row), happened)
        if history is not None:
            put_history(console, history)


def _conclude(result: Result, *, hint: str) -> int:
    """Say what went wrong, if anything did; returns the exit code."""
    again = f"motet resume {result.run_id}{hint}"
    message = (result.error.message if result.error else "").replace(f"motet resume {result.run_id}", again)
    match result.status:
        case "completed":
            if result.answer is None:
                why = ": its steps were used up" if result.details.get("stopped") == "max_steps" else ""
                say(f"motet: the system ended without an answer{why}")
                return FAILED
            return DONE
        case "budget":
            so_far = "the answer is the best so far" if result.answer is not None else "there is no answer yet"
            say(f"motet: stopped on a budget ({so_far}): {message}; with a higher limit: {again} --budget-…")
            return BUDGET
        case "cancelled":
            # A plan that waits for a yes says itself how to go on.
            after = "" if again in message else f"; resume with: {again}"
            say(f"motet: {message or 'the run was asked to stop'}{after}")
            return INTERRUPTED
        case "failed":
            # A write that nobody can confirm says itself how to go on.
            after = "" if again in message else f"; try again with: {again}"
            say(f"motet: the run failed: {message}{after}")
            return FAILED


def minus(whole: Totals, part: Totals) -> Totals:
    """``whole`` without ``part``."""
    return Totals(**{name: getattr(whole, name) - getattr(part, name) for name in Totals.model_fields})


def _paid_by_role(store: Store, run_id: str) -> dict[str, Totals]:
    return {row.key: row.totals for row in totals(store, run_id, by="role") if row.origin != "inherited"}


def _inherited_by_role(store: Store, run_id: str) -> dict[str, Totals]:
    return {row.key: row.totals for row in totals(store, run_id, by="role") if row.origin == "inherited"}
