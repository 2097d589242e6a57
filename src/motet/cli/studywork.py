"""What ``motet study`` does: run a study's benches with progress, one after the other, and print what is found."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from motet.bench.page import seconds
from motet.bench.plan import Plan
from motet.bench.runner import LocalEngine, read_plan, resume_bench, run_bench
from motet.cli.benchwork import CellProgress, forecast_report, places_for
from motet.cli.config import parse_setting
from motet.cli.modes import Mode
from motet.cli.render import grid, model_notes
from motet.cli.sit import BUDGET, DONE, FAILED, INTERRUPTED, interruptible
from motet.cli.story import counted
from motet.cli.terminal import json_text, kept_output, output, put, say, styled
from motet.errors import InputError
from motet.models.model import Price
from motet.runs.budget import Budget
from motet.store.queries import resolve_run
from motet.store.store import Store
from motet.studies.catalogue import STUDIES, study_class
from motet.studies.findings import Findings, Grid, shown
from motet.studies.page import render_page
from motet.studies.study import Bench, Setup, Study, read_bench


class Work:
    """A study at the terminal: run or resume its benches, say what is found, and how it ended. ``hint`` is what a further command needs beside."""

    def __init__(
        self,
        study: Study,
        store: Store,
        *,
        mode: Mode,
        parallel: int | None = None,
        html: Path | None = None,
        as_json: bool = False,
        hint: str = "",
    ) -> None:
        self._study = study
        self._store = store
        self._mode = mode
        self._parallel = parallel
        self._html = html
        self._as_json = as_json
        self._hint = hint
        self._ids: list[str] = []

    def forecast(self, setup: Setup) -> int:
        """Say what the first bench will take."""
        return forecast_report(self._store, self._study.begin(setup), as_json=self._as_json)

    def begin(self, setup: Setup) -> int:
        """Run a new study; returns the exit code. Raises InputError before anything is written."""
        return self._work([], self._study.begin(setup))

    def go_on(self, runs: Sequence[str], *, total: Budget | None, price: Price | None) -> int:
        """Make the findings from the benches ``runs``, in the order of the study, and do what is left; returns the exit code. Raises InputError."""
        if not runs:
            raise InputError("--from names no run; give the study's bench, or its benches with commas")
        plans: list[tuple[str, Plan]] = []
        for run in runs:
            row = resolve_run(self._store, run)
            plan = asyncio.run(read_plan(self._store, row.id))
            self._study.check(row.id, plan)
            plans.append((row.id, plan))
        benches: list[Bench] = []
        for bench_id, plan in plans:
            self._ids.append(bench_id)
            ended = self._conduct(plan, bench_id=bench_id, total=total, price=price)
            benches.append(self._read(bench_id))
            if not ended or benches[-1].report.status != "completed":
                return self._conclude(benches, interrupted=not ended)
        return self._work(benches, self._study.go_on(benches))

    def _work(self, benches: list[Bench], plan: Plan | None) -> int:
        while plan is not None:
            ended = self._conduct(plan)
            if len(self._ids) == len(benches):
                say("motet: interrupted before the bench began; nothing of it was stored")
                return INTERRUPTED
            benches.append(self._read(self._ids[-1]))
            if not ended or benches[-1].report.status != "completed":
                return self._conclude(benches, interrupted=not ended)
            plan = self._study.go_on(benches)
        return self._conclude(benches)

    def _conduct(
        self, plan: Plan, *, bench_id: str | None = None, total: Budget | None = None, price: Price | None = None
    ) -> bool:
        """Run a new bench, or go on with ``bench_id``; whether that was not interrupted."""
        progress = CellProgress(self._mode, total=plan.size)
        places = self._parallel or places_for(plan)

        def started(new: str) -> None:
            self._ids.append(new)
            progress.begin(new)

        async def main() -> bool:
            common: dict[str, Any] = {
                "store": self._store,
                "engine": lambda desk: LocalEngine(desk, places=places),
                "tell": progress.tell,
            }
            if bench_id is None:
                await run_bench(plan, started=started, **common)
            else:
                progress.begin(bench_id)
                await resume_bench(bench_id, total=total, price=price, **common)
            return True

        with kept_output():
            try:
                return interruptible(main) is not None
            finally:
                progress.stop()

    def _read(self, bench_id: str) -> Bench:
        # With the plan as it is stored, so that the findings are those which the store alone gives.
        return read_bench(self._store, bench_id, asyncio.run(read_plan(self._store, bench_id)))

    def _conclude(self, benches: Sequence[Bench], *, interrupted: bool = False) -> int:
        """Put the findings, and say how it ended."""
        again = f"motet study {self._study.name} --from {','.join(self._ids)}{self._hint}"
        if interrupted:
            say(f"motet: interrupted; go on with: {again}")
            return INTERRUPTED
        report = benches[-1].report
        if report.rows:
            findings = self._study.find(benches)
            self._put(findings, elapsed=sum(bench.report.elapsed for bench in benches))
        match report.status:
            case "completed" if all(row.status == "failed" for row in report.rows):
                say(
                    f"motet: every cell failed; motet show {report.bench_id}.1 says why for the first one; try again with: {again}"
                )
                return FAILED
            case "completed":
                for failure in findings.failures[:3]:
                    say(f"motet: {failure}")
                if len(findings.failures) > 3:
                    say(f"motet: and {len(findings.failures) - 3:,} more like these")
                return FAILED if findings.failures else DONE
            case "budget":
                say(
                    f"motet: stopped on the budget of the bench: {report.error}; with a higher limit: {again} --total-…"
                )
                return BUDGET
            case "cancelled":
                say(f"motet: {report.error}; go on with: {again}")
                return INTERRUPTED
        say(f"motet: the bench failed: {report.error}; go on with: {again}")
        return FAILED

    def _put(self, findings: Findings, *, elapsed: float) -> None:
        if self._html is not None:
            self._html.write_text(render_page(findings), encoding="utf-8")
        if self._as_json:
            sys.stdout.write(f"{json_text(findings.model_dump(mode='json'))}\n")
        else:
            print_findings(findings, elapsed=elapsed)


def print_findings(findings: Findings, *, elapsed: float) -> None:
    """The findings as tables on standard output."""
    console = output()
    console.print(styled(findings.question, style="bold"), soft_wrap=True)
    head = [
        f"study {findings.study}",
        counted(findings.tasks, "task") + (f" × {findings.epochs} epochs" if findings.epochs > 1 else ""),
        ", ".join(findings.models) or "no model",
        f"seed {findings.seed}",
        seconds(elapsed),
    ]
    console.print(styled(" · ".join(head), style="dim"), soft_wrap=True)
    console.print()
    for table in findings.tables:
        console.print(styled(table.title, style="bold"))
        put(console, _grid(table))
        if table.about:
            console.print(styled(table.about, style="dim"), soft_wrap=True)
        console.print()
    if not findings.complete:
        console.print("not all cells have ended: the figures are of those that have", style="yellow")
    for note in findings.notes:
        console.print(styled(f"note: {note}", style="yellow"), soft_wrap=True)
    if findings.scripted:
        console.print("scripted policy: these figures show mechanics only", style="yellow")
    for note in model_notes(findings.models):
        say(f"note: {note}")
    say(f"again, or with --html FILE: {findings.again} · one bench: motet show {findings.benches[0]}")


def _grid(table: Grid) -> Any:
    numbers = [column.name for column in table.columns if column.form != "text"]
    made = grid(*(column.name for column in table.columns), right=numbers)
    for row in table.rows:
        cells = (shown(cell, column.form) for cell, column in zip(row, table.columns, strict=True))
        made.add_row(*(styled(text) for text in cells))
    return made


def list_studies(*, as_json: bool) -> int:
    """Every study with what it asks."""
    found = {name: study_class(name).question for name in STUDIES}
    if as_json:
        sys.stdout.write(f"{json_text(found)}\n")
        return DONE
    table = grid("study", "asks", fold=True)
    for name, question in found.items():
        table.add_row(styled(name), styled(question))
    put(output(), table)
    return DONE


def settings_from(flags: Mapping[str, str | None], settings: Sequence[str]) -> dict[str, Any]:
    """Flags and ``-c`` as one configuration. Raises InputError for a key that is given twice."""
    values: dict[str, Any] = {key: value for key, value in flags.items() if value}
    for text in settings:
        path, value = parse_setting(text)
        place = values
        for part in path[:-1]:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise InputError(f"-c {text}: {'.'.join(path)} is given twice")
        if path[-1] in place:
            raise InputError(f"-c {text}: {'.'.join(path)} is given twice")
        place[path[-1]] = value
    return values
