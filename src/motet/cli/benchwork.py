"""What ``motet bench``, ``motet resume`` and ``motet show`` do with a bench: run it with progress, and print its report."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from motet.bench.page import interval, limits, money, percent, points, render_page, seconds, span, tokens
from motet.bench.plan import REPLAYS, Plan, build_systems, label_systems, open_benchmark
from motet.bench.report import Report, make_report
from motet.bench.report import as_json as report_json
from motet.bench.runner import Done, LocalEngine, chosen_tasks, plan_prices, read_plan, resume_bench, run_bench
from motet.bench.workbench_replay import Replay
from motet.cli.bench_evolution import print_evolutions
from motet.cli.bench_team import print_teams
from motet.cli.config import parse_setting, system_from
from motet.cli.modes import EngineName, Mode
from motet.cli.render import grid, model_notes
from motet.cli.sit import BUDGET, DONE, FAILED, INTERRUPTED, interruptible
from motet.cli.story import counted
from motet.cli.terminal import clean, is_terminal, json_text, kept_output, messages, output, put, say, styled
from motet.errors import InputError
from motet.load import load_object
from motet.models.model import Price
from motet.runs.budget import Budget
from motet.settings import nearest
from motet.store.store import Store
from motet.system import System
from motet.systems import fields

if TYPE_CHECKING:
    from rich.progress import Progress


class Work:
    """A bench at the terminal: run or resume it, show how it goes, report, and say how it ended."""

    def __init__(
        self,
        store: Store,
        *,
        mode: Mode,
        as_json: bool,
        html: Path | None = None,
        parallel: int | None = None,
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
                engine=self._engine(plan),
                tell=progress.tell,
                started=started,
            )

        return self._conduct(main, progress, plan)

    def resume(
        self,
        bench_id: str,
        plan: Plan,
        *,
        total: Budget | None = None,
        price: Price | None = None,
        assume: Literal["done", "redo"] | None = None,
    ) -> int:
        """Go on with a bench, with other limits of the whole if given; returns the exit code."""
        progress = CellProgress(self._mode, total=plan.size)
        self._id = bench_id

        async def main() -> str:
            progress.begin(bench_id)
            await resume_bench(
                bench_id,
                store=self._store,
                engine=self._engine(plan),
                tell=progress.tell,
                total=total,
                price=price,
                assume=assume,
            )
            return bench_id

        return self._conduct(main, progress, plan)

    def _engine(self, plan: Plan) -> Any:
        places = self._parallel or places_for(plan)
        if self._ray is None:
            return lambda desk: LocalEngine(desk, places=places)
        from motet.bench.ray_engine import RayEngine

        workers, address = self._ray
        return lambda desk: RayEngine(desk, workers=workers, per_worker=places, address=address)

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
        put_report(report, html=self._html, as_json=self._as_json)
        again = f"motet resume {self._id}{self._hint}"
        if ended is None:
            say(f"motet: interrupted; resume with: {again}")
            return INTERRUPTED
        match report.status:
            case "completed":
                if all(row.status == "failed" for row in report.rows):
                    say(
                        f"motet: every cell failed; motet show {self._id}.1 says why for the first one; try again with: {again}"
                    )
                    return FAILED
                return DONE
            case "budget":
                say(
                    f"motet: stopped on the budget of the bench: {report.error}; with a higher limit: {again} --total-…"
                )
                return BUDGET
            case "cancelled":
                say(f"motet: {report.error}; resume with: {again}")
                return INTERRUPTED
            case _:
                say(f"motet: the bench failed: {report.error}; go on with: {again}")
                return FAILED


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
    console.print(f"{clean(report.title)} · {' · '.join(head)}", soft_wrap=True)
    console.print(f"data and scorer {report.version} · seed {report.seed} · {seconds(report.elapsed)}", style="dim")
    for what, budget in (("each task", report.plan.budget), ("the whole bench", report.plan.total)):
        if limits(budget):
            console.print(f"budget of {what}: {limits(budget)}", style="dim")
    console.print()
    # Two narrow tables rather than a wide one: both fit a terminal of 80 columns.
    delta = f"Δ to {clean(report.systems[0].label)}" if len(report.systems) > 1 else "Δ"
    published = any(report.headline in system.paper for system in report.systems)
    numbers = ("n", "clusters", report.headline, delta, "published")
    headers = (*numbers[:3], "95 % interval", delta, "its interval", *numbers[4:][:published])
    table = grid("system", *headers, right=numbers)
    costs = grid("system", "tokens", "calls", "money", "median time", right=("tokens", "calls", "money", "median time"))
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
            *([percent(system.paper.get(report.headline))] if published else []),
        )
        costs.add_row(
            styled(system.label),
            tokens(system.total),
            f"{system.total.calls:,}",
            money(system.total),
            seconds(system.seconds_median),
        )
    put(console, table)
    console.print()
    put(console, costs)
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
        paid = [*system.roles.items(), *((f"{role} (judging)", total) for role, total in system.judging.items())]
        roles = [(role, f"{total.calls:,}", f"{total.failed:,}", tokens(total)) for role, total in paid]
        for place in range(max(len(extra), len(roles))):
            left = extra[place] if place < len(extra) else ("", "", "")
            right = roles[place] if place < len(roles) else ("", "", "", "")
            lines.append((system.label if not place else "", *left, *right))
        for cells in lines:
            others.add_row(*(styled(text) for text in cells))
    if others.row_count:
        put(console, others)
        console.print()
    if report.evolutions:
        print_evolutions(console, report)
    if report.teams:
        print_teams(console, report)
    for system in report.systems:
        if system.failures:
            told = ", ".join(f"{kind} {count}" for kind, count in system.failures.items())
            console.print(styled(f"{system.label}: failures by kind: {told}"), soft_wrap=True)
    if report.published:
        names = list(dict.fromkeys(name for figures in report.published.values() for name in figures))
        others = grid("published, for all the benchmark's tasks", *names, right=names)
        for who, figures in report.published.items():
            others.add_row(styled(who), *(percent(figures.get(name)) for name in names))
        put(console, others)
        console.print()
    for note in report.notes:
        console.print(styled(f"note: {note}", style="yellow"), soft_wrap=True)
    if report.scripted:
        console.print("scripted policy: these figures show mechanics only", style="yellow")
    for note in model_notes(report.model.split(", ")):
        say(f"note: {note}")
    say(f"look inside: motet show {report.bench_id} · one cell: motet show {report.bench_id}.1 --calls")


def places_for(plan: Plan) -> int:
    """How many cells to work at a time: an embedded model has one set of cores, and conversations that take turns at it lose what it has read."""
    models = (str(entry.config.get("model", "")) for entry in plan.systems if entry.config is not None)
    return 1 if any(model.startswith("embedded") for model in models) else 8


def ray_from(engine: EngineName | None, *, workers: int | None, address: str | None) -> tuple[int, str | None] | None:
    """Ray's workers and address, or ``None`` for this process. Raises InputError for what goes with Ray only."""
    if engine is EngineName.ray:
        return workers or 2, address
    if workers is not None or address is not None:
        raise InputError("--workers and --ray-address are the Ray engine's; add --engine ray")
    return None


def command_line(arguments: Sequence[str]) -> str:
    """The command as it was given, to be stored with the bench: without the store's URL, which may hold a password."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if not skip and argument != "--store" and not argument.startswith("--store="):
            kept.append(argument)
        skip = argument == "--store"
    return shlex.join(["motet", *kept])


def check_page(path: Path) -> None:
    """See that the HTML report can be written to ``path``, before a bench is run for it. Raises InputError."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("--html needs a plotting library: pip install 'motet[bench]'")
    check_file(path)


def check_file(path: Path) -> None:
    """See that a page can be written to ``path``. Raises InputError."""
    folder = path.absolute().parent
    if path.is_dir():
        raise InputError(f"--html {path} is a folder; give a file")
    if not folder.is_dir():
        raise InputError(f"--html {path}: the folder {folder} is not there")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"--html {path} may not be written")


def show_bench(store: Store, bench_id: str, *, as_json: bool, html: Path | None = None) -> int:
    """Print the report of a bench as it stands."""
    import asyncio

    if html is not None:
        check_page(html)
    put_report(make_report(store, bench_id, asyncio.run(read_plan(store, bench_id))), html=html, as_json=as_json)
    return DONE


def put_report(report: Report, *, html: Path | None, as_json: bool) -> None:
    """``report`` to standard output, and to ``html``."""
    if html is not None:
        html.write_text(render_page(report), encoding="utf-8")
    if as_json:
        sys.stdout.write(f"{json_text(report_json(report))}\n")
    else:
        print_report(report)


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
    names: Sequence[str],
    *,
    model: str | None,
    tools: Sequence[str],
    settings: Sequence[str],
    team_models: Mapping[str, str | None] | None = None,
    peers: int | None = None,
) -> list[System]:
    """The systems called ``names``, each with the flags and settings that it has a key for. Raises InputError for one that fits none.

    A setting is for one system when it begins with its name and a dot; the second of two equal names is called NAME-2. ``team_models`` has the models of
    a team by their keys, such as ``judge_model``; ``peers`` is the size of those that have peers.
    """
    if not names:
        raise InputError("--systems names no system; name at least one, such as react or noop")
    flags: dict[str, tuple[tuple[str, ...], Any]] = {
        flag: ((key,), value)
        for flag, key, value in (
            ("--model", "model", model),
            ("--tools", "tools", tools),
            ("--peers", "peers", peers),
            *((f"--{key.replace('_', '-')}", key, name) for key, name in (team_models or {}).items()),
        )
        if value
    }
    counts: Counter[str] = Counter()
    labels = []
    for name in names:
        counts[name] += 1
        labels.append(name if counts[name] == 1 else f"{name}-{counts[name]}")
    fitted: set[str] = set()
    systems = []
    for name, label in zip(names, labels, strict=True):
        known = fields(name)
        own_flags = {flag: given for flag, given in flags.items() if given[0][0] in known}
        shared, own = [], []
        for text in settings:
            if text.startswith(f"{label}."):
                own.append(text.removeprefix(f"{label}."))
                fitted.add(text)
            elif not any(text.startswith(f"{other}.") for other in labels) and parse_setting(text)[0][0] in known:
                shared.append(text)
                fitted.add(text)
        fitted.update(own_flags)
        systems.append(system_from(name, file=None, flags=own_flags, settings=[*shared, *own]))
    for given in (*flags, *(f"-c {text}" for text in settings)):
        if given.removeprefix("-c ") not in fitted:
            raise InputError(f"{given}: {_no_such_key(given, names)}")
    return systems


class Variant(NamedTuple):
    """A system of a bench as it was asked for: by ``name``, shown under ``label``."""

    name: str
    label: str
    system: System


def built_variants(names: Sequence[str], *, peers: Sequence[int], **given: Any) -> list[Variant]:
    """The systems called ``names`` as ``built_systems`` builds them; each that has peers once for every number in ``peers``, then called NAME-NUMBER."""
    if not peers:
        systems = built_systems(names, **given)
        labels = [entry.label for entry in label_systems(systems)]
        return [Variant(*found) for found in zip(names, labels, systems, strict=True)]
    sized = {number: built_systems(names, **given, peers=number) for number in dict.fromkeys(peers)}
    labels = [entry.label for entry in label_systems(sized[peers[0]])]
    return [
        Variant(name, f"{label}-{number}" if "peers" in fields(name) else label, systems[place])
        for place, (name, label) in enumerate(zip(names, labels, strict=True))
        for number, systems in sized.items()
        if "peers" in fields(name) or number == peers[0]
    ]


def _no_such_key(given: str, names: Sequence[str]) -> str:
    keys = sorted({key for name in names for key in fields(name)})
    if not keys:
        return f"{', '.join(names)} takes no settings"
    wanted = given.partition(" ")[2] or given.removeprefix("--").replace("-", "_")
    return f"no system here has that key{nearest(wanted.partition('=')[0].partition('.')[0], keys)}"


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
    benchmark = open_benchmark(plan.benchmark, plan.options)
    tasks = chosen_tasks(benchmark, plan.tasks)
    models = Models(load_settings(), prices=plan_prices(plan))
    prices = {}
    for label, system in systems.items():
        names = [model for model in needs_of(system).models if isinstance(model, str)]
        prices[label] = models.get(names[0]).info.price if names else None
    found = forecast(store, plan, systems, benchmark, tasks, prices)
    if as_json:
        body = {"tasks": len(plan.tasks), "cells": plan.size, "systems": [item.model_dump() for item in found]}
        sys.stdout.write(f"{json_text(body)}\n")
        return DONE
    console = output()
    console.print(
        f"{plan.benchmark} · {' × '.join((counted(len(plan.tasks), 'task'), counted(plan.epochs, 'epoch'), counted(len(plan.systems), 'system')))} = {counted(plan.size, 'cell')}"
    )
    table = grid(
        "system", "cells", "calls", "tokens", "money", "known from", right=("cells", "calls", "tokens", "money")
    )
    for item in found:
        most = "" if item.basis == "history" or not item.calls else "up to "
        basis = (
            f"{item.seen} earlier cells"
            if item.basis == "history"
            else "its limits, without instructions and what tools return"
        )
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
