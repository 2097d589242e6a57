"""What ``motet bench``, ``motet resume`` and ``motet show`` do with a bench: run it with progress, and print its report."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.bench.page import interval, money, percent, points, render_page, seconds, span
from motet.bench.plan import REPLAYS, Plan, build_systems, open_benchmark
from motet.bench.report import Report, make_report
from motet.bench.report import as_json as report_json
from motet.bench.runner import Done, LocalEngine, chosen_tasks, plan_prices, read_plan, resume_bench, run_bench
from motet.bench.workbench_replay import Replay
from motet.cli.config import parse_setting, system_from
from motet.cli.modes import Mode
from motet.cli.render import grid, model_notes
from motet.cli.sit import BUDGET, DONE, FAILED, INTERRUPTED, interruptible
from motet.cli.terminal import is_terminal, json_text, kept_output, messages, output, put, say, styled
from motet.errors import InputError
from motet.load import load_object
from motet.store.store import Store
from motet.system import System
from motet.systems import fields

if TYPE_CHECKING:
    from rich.progress import Progress

_EXIT = {"completed": DONE, "budget": BUDGET, "cancelled": INTERRUPTED, "failed": FAILED}


class Work:
    """A bench at the terminal: run or resume it, show how it goes, report, and say how it ended."""

    def __init__(
        self,
        store: Store,
        *,
        mode: Mode,
        as_json: bool,
        html: Path | None = None,
        parallel: int = 8,
        ray: tuple[int, str | None] | None = None,
        hint: str = "",
    ) -> None:
        self._store = store
        self._mode = mode
        self._as_json = as_json
        self._html = html
        self._parallel = parallel
        self._ray = ray
        self._hint = hint
        self._id: str | None = None

    def run(self, plan: Plan) -> int:
        """Run a new bench; returns the exit code."""
        progress = CellProgress(self._mode, total=plan.size)

        def started(bench_id: str) -> None:
            self._id = bench_id
            progress.begin(bench_id)

        async def main() -> str:
            return await run_bench(
                plan,
                store=self._store,
                parallel=self._parallel,
                engine=self._engine(),
                tell=progress.tell,
                started=started,
            )

        return self._conduct(main, progress, plan)

    def resume(self, bench_id: str, plan: Plan) -> int:
        """Go on with a bench; returns the exit code."""
        progress = CellProgress(self._mode, total=plan.size)
        self._id = bench_id

        async def main() -> str:
            progress.begin(bench_id)
            await resume_bench(
                bench_id, store=self._store, parallel=self._parallel, engine=self._engine(), tell=progress.tell
            )
            return bench_id

        return self._conduct(main, progress, plan)

    def _engine(self) -> Any:
        if self._ray is None:
            return lambda desk: LocalEngine(desk, places=self._parallel)
        from motet.bench.ray_engine import RayEngine

        workers, address = self._ray
        return lambda desk: RayEngine(desk, workers=workers, per_worker=self._parallel, address=address)

    def _conduct(self, main: Any, progress: CellProgress, plan: Plan) -> int:
        with kept_output():
            try:
                ended = interruptible(main)
            finally:
                progress.stop()
        if self._id is None:
            say("motet: interrupted before the bench began; nothing was stored")
            return INTERRUPTED
        report = make_report(self._store, self._id, plan)
        if self._html is not None:
            self._html.write_text(render_page(report, command=" ".join(map(shlex.quote, sys.argv))), encoding="utf-8")
        if self._as_json:
            sys.stdout.write(f"{json_text(report_json(report))}\n")
        else:
            print_report(report)
        if ended is None:
            say(f"motet: interrupted; resume with: motet resume {self._id}{self._hint}")
            return INTERRUPTED
        if report.status != "completed":
            say(f"motet: the bench ended early ({report.status}); go on with: motet resume {self._id}{self._hint}")
        return _EXIT.get(report.status, FAILED)


class CellProgress:
    """Progress over cells on standard error: a bar on a terminal, else a line for each cell."""

    def __init__(self, mode: Mode, *, total: int) -> None:
        self._total = total
        self._ended = 0
        self._start = time.monotonic()
        self._statuses: Counter[str] = Counter()
        self._json = mode is Mode.json
        self._plain = mode is Mode.plain or (mode is Mode.auto and not is_terminal(sys.stderr))
        self._bar: Progress | None = None
        if mode is Mode.auto and not self._plain:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as RichProgress

            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
            )
            self._bar = RichProgress(*columns, console=messages())
            self._task = self._bar.add_task("", total=total)

    def begin(self, bench_id: str) -> None:
        """Show that the bench is under way."""
        if self._json:
            say(json.dumps({"kind": "bench.started", "run": bench_id, "cells": self._total}))
        elif self._plain:
            say(f"bench {bench_id}: {self._total} cells")
        elif self._bar is not None:
            self._bar.start()

    def tell(self, done: Done) -> None:
        """Show that a cell has ended."""
        self._ended += 1
        self._statuses[done.error or done.status] += 1
        cell = done.cell
        if self._json:
            body = {"kind": "bench.cell", **cell._asdict(), "status": done.status, "error": done.error, "old": done.old}
            say(json.dumps(body))
        elif self._plain and not done.old:
            error = f" ({done.error})" if done.error else ""
            elapsed = time.monotonic() - self._start
            say(f"{elapsed:7.1f} s  {self._ended}/{self._total}  {cell.label}  {cell.task_id}  {done.status}{error}")
        elif self._bar is not None:
            described = "  ".join(f"{name} {count}" for name, count in self._statuses.most_common())
            self._bar.update(self._task, completed=self._ended, description=described)

    def stop(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()


def print_report(report: Report) -> None:
    """The report as tables on standard output."""
    console = output()
    head = [
        f"bench {report.bench_id}",
        report.status,
        f"{report.ended} of {report.cells} cells",
        report.model or "no model",
    ]
    console.print(f"{report.title} · {' · '.join(head)}")
    console.print(f"data and scorer {report.version} · seed {report.seed} · {seconds(report.elapsed)}", style="dim")
    console.print()
    numbers = ("n", "clusters", report.headline, "Δ", "tokens", "calls", "money", "median time", "published")
    table = grid(
        "system", "n", "clusters", report.headline, "95 % interval", "Δ", "its interval", *numbers[4:], right=numbers
    )
    for system in report.systems:
        score, difference = system.scores[report.headline], system.difference
        table.add_row(
            styled(system.label),
            str(score.n),
            str(score.clusters),
            percent(score.value),
            interval(score),
            points(difference.value) if difference else "",
            span(difference) if difference else "",
            f"{system.total.tokens:,}",
            f"{system.total.calls:,}",
            money(system.total),
            seconds(system.seconds_median),
            percent(system.paper[report.headline]) if report.headline in system.paper else "",
        )
    put(console, table)
    console.print()
    others = grid(
        "system",
        "scorer",
        "mean",
        "95 % interval",
        "role",
        "calls",
        "failed",
        "tokens",
        right=("mean", "calls", "failed", "tokens"),
    )
    for system in report.systems:
        lines: list[tuple[str, ...]] = []
        extra = [
            (name, percent(value.value), interval(value))
            for name, value in system.scores.items()
            if name != report.headline
        ]
        roles = [
            (role, f"{total.calls:,}", f"{total.failed:,}", f"{total.tokens:,}") for role, total in system.roles.items()
        ]
        for place in range(max(len(extra), len(roles))):
            left = extra[place] if place < len(extra) else ("", "", "")
            right = roles[place] if place < len(roles) else ("", "", "", "")
            lines.append((system.label if not place else "", *left, *right))
        for cells in lines:
            others.add_row(*(styled(text) for text in cells))
    if others.row_count:
        put(console, others)
        console.print()
    for system in report.systems:
        if system.failures:
            told = ", ".join(f"{kind} {count}" for kind, count in system.failures.items())
            console.print(styled(f"{system.label}: failures by kind: {told}"))
    if report.scripted:
        console.print("scripted policy: these figures show mechanics only", style="yellow")
    for note in model_notes(report.model.split(", ")):
        say(f"note: {note}")
    say(f"look inside: motet show {report.bench_id} · one cell: motet show {report.bench_id}.1 --calls")


def places_for(plan: Plan) -> int:
    """How many cells to work at a time: an embedded model has one set of cores, and conversations that take turns at it lose what it has read."""
    models = (str(entry.config.get("model", "")) for entry in plan.systems if entry.config is not None)
    return 1 if any(model.startswith("embedded") for model in models) else 8


def show_bench(store: Store, bench_id: str, *, as_json: bool) -> int:
    """Print the report of a bench as it stands."""
    import asyncio

    report = make_report(store, bench_id, asyncio.run(read_plan(store, bench_id)))
    if as_json:
        sys.stdout.write(f"{json_text(report_json(report))}\n")
    else:
        print_report(report)
    return DONE


def benchmark_options(*, subset: str | None, dialect: str | None, others: Sequence[str]) -> dict[str, Any]:
    """The benchmark's options from the command line. Raises InputError for one that is given twice."""
    values: dict[str, Any] = {}
    given = [("subset", subset), ("dialect", dialect)]
    for text in others:
        path, value = parse_setting(text)
        given.append((".".join(path).replace("-", "_"), value))
    for key, value in given:
        if value is None:
            continue
        if key in values:
            raise InputError(f"the benchmark's option {key} is given twice")
        values[key] = value
    return values


def built_systems(
    names: Sequence[str], *, model: str | None, tools: Sequence[str], settings: Sequence[str]
) -> list[System]:
    """The systems called ``names``, each with the flags and settings that it has a key for. Raises InputError for one that fits none."""
    flags: dict[str, tuple[tuple[str, ...], Any]] = {
        "--model": (("model",), model),
        "--tools": (("tools",), list(tools) or None),
    }
    fitted: set[str] = set()
    systems = []
    for name in names:
        known = fields(name)
        own_flags: dict[str, tuple[tuple[str, ...], Any]] = {}
        for flag, (path, value) in flags.items():
            if value is not None and path[0] in known:
                own_flags[flag] = (path, value)
                fitted.add(flag)
        own_settings = []
        for text in settings:
            path, _ = parse_setting(text)
            mine = path[0] == name and len(path) > 1
            if mine or (path[0] in known and path[0] not in names):
                own_settings.append(text.partition(".")[2] if mine else text)
                fitted.add(text)
        systems.append(system_from(name, file=None, flags=own_flags, settings=own_settings))
    for text in settings:
        if text not in fitted:
            keys = sorted({key for name in names for key in fields(name)})
            raise InputError(f"-c {text}: none of {', '.join(names)} has that key; keys: {', '.join(keys)}")
    return systems


def replay_report(name: str, files: Sequence[Path], *, as_json: bool) -> int:
    """Judge recorded runs again and print the verdicts. Raises InputError for a benchmark that has none."""
    if name not in REPLAYS:
        raise InputError(f"benchmark {name!r} has no recorded runs; --replay knows those of {', '.join(REPLAYS)}")
    found = load_object(REPLAYS[name])(files)
    assert isinstance(found, Replay)
    if as_json:
        sys.stdout.write(f"{json_text(replay_json(found))}\n")
        return DONE
    console = output()
    numbers = ("files", "rows", "correct", "accuracy", "with side effects", "exact match")
    table = grid("recorded runs", *numbers, "upstream's verdicts", right=numbers)
    observed = grid("recorded runs", "calls", "equal observations", "others", right=("calls", "equal observations"))
    sums = [*found.contestants, *([found.total] if len(found.contestants) > 1 else [])]
    for item in sums:
        unequal = f": {', '.join(item.unequal[:5])}" if item.unequal else ""
        table.add_row(
            styled(item.contestant),
            str(item.files),
            f"{item.n:,}",
            f"{item.correct}/{item.n}",
            f"{100 * item.accuracy:.2f} %",
            str(item.side_effects),
            str(item.exact_match),
            styled(f"{item.upstream}{unequal}"),
        )
        share = item.observations_equal
        causes = ", ".join(f"{cause} {count}" for cause, count in item.causes.items())
        observed.add_row(
            styled(item.contestant),
            f"{item.calls:,}",
            "none recorded" if share is None else f"{100 * share:.2f} %",
            styled(f"{causes or 'none'}; {item.unrecorded} rows without a record"),
        )
    put(console, table)
    console.print()
    put(console, observed)
    return DONE


def replay_json(found: Replay) -> dict[str, Any]:
    """A replay as JSON: every file with its verdicts, and the sums."""
    sums = [
        {**item.model_dump(mode="json"), "accuracy": item.accuracy, "observations_equal": item.observations_equal}
        for item in (*found.contestants, found.total)
    ]
    return {"files": [file.model_dump(mode="json") for file in found.files], "sums": sums}


def forecast_report(store: Store, plan: Plan, *, as_json: bool) -> int:
    """Print what a bench is expected to cost, and run nothing."""
    from motet.bench.forecast import forecast
    from motet.models.providers import Models
    from motet.runs.workplace import needs_of
    from motet.settings import load_settings

    systems = build_systems(plan)
    tasks = chosen_tasks(open_benchmark(plan.benchmark, plan.options), plan.tasks)
    models = Models(load_settings(), prices=plan_prices(plan))
    prices = {}
    for label, system in systems.items():
        names = [model for model in needs_of(system).models if isinstance(model, str)]
        prices[label] = models.get(names[0]).info.price if names else None
    found = forecast(store, plan, systems, tasks, prices)
    if as_json:
        body = {"tasks": len(plan.tasks), "cells": plan.size, "systems": [item.model_dump() for item in found]}
        sys.stdout.write(f"{json_text(body)}\n")
        return DONE
    console = output()
    console.print(
        f"{plan.benchmark} · {len(plan.tasks)} tasks × {plan.epochs} epochs × {len(plan.systems)} systems = {plan.size} cells"
    )
    table = grid(
        "system", "cells", "calls", "tokens", "money", "known from", right=("cells", "calls", "tokens", "money")
    )
    for item in found:
        most = "" if item.basis == "history" else "≤ "
        basis = f"{item.seen} earlier cells" if item.basis == "history" else "its limits, without what tools return"
        table.add_row(
            styled(item.label),
            f"{item.cells:,}",
            "unknown" if item.calls is None else f"{most}{item.calls:,}",
            "unknown" if item.tokens is None else f"{most}{item.tokens:,}",
            "unknown" if item.money is None else f"{most}${item.money:.4f}",
            basis,
        )
    put(console, table)
    return DONE
