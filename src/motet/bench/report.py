"""The report of a bench, read from the store alone: it can be made at any time, also of a bench that is still at work.

Scores come with 95 % intervals (Wilson's for independent tasks, a cluster bootstrap where tasks are near-copies), and with the paired difference to the first
system on the tasks that both have ended. A cell that ended without a verdict, because of a bug, counts as 0 for the headline score, and is named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue

from motet.bench.plan import Plan, open_benchmark
from motet.bench.scoring.statistics import Estimate, estimate, paired
from motet.runs.lease import shown_status
from motet.store.schema import calls, runs, scores, tasks
from motet.store.store import Store, read_blob
from motet.task import Result
from motet.usage import Totals
from motet.value import Value


class CellRow(Value):
    """One cell as it stands. ``error`` is the kind of its failure; ``run_id`` is where to look deeper."""

    run_id: str
    label: str
    epoch: int
    task_id: str
    cluster: str | None
    status: str
    error: str | None
    scores: dict[str, float]
    tokens: int
    seconds: float


class SystemRow(Value):
    """One system's figures. ``scores`` holds an estimate for each scorer, ``difference`` that of the headline score to the first system's."""

    label: str
    config: JsonValue
    ended: int
    statuses: dict[str, int]
    failures: dict[str, int]
    scores: dict[str, Estimate]
    difference: Estimate | None
    roles: dict[str, Totals]
    total: Totals
    seconds: float
    seconds_median: float | None
    paper: dict[str, float]


class Report(Value):
    """A bench's figures. ``cells`` is how many there are in all; those that have ended are in ``rows``."""

    bench_id: str
    benchmark: str
    version: str
    headline: str
    status: str
    title: str
    model: str
    scripted: bool
    seed: int
    epochs: int
    tasks: int
    cells: int
    elapsed: float
    systems: tuple[SystemRow, ...]
    rows: tuple[CellRow, ...]

    @property
    def ended(self) -> int:
        """How many cells have ended."""
        return len(self.rows)


def make_report(store: Store, bench_id: str, plan: Plan) -> Report:
    """The report of ``bench_id`` as it stands now. Raises InputError when its benchmark cannot be opened."""
    benchmark = open_benchmark(plan.benchmark, plan.options)
    run, rows, spent = store.read_now(lambda connection: _read(connection, bench_id, plan))
    by_label: dict[str, list[CellRow]] = defaultdict(list)
    for row in rows:
        by_label[row.label].append(row)
    first = _headline(by_label[plan.systems[0].label], benchmark.headline)
    systems = []
    for position, entry in enumerate(plan.systems):
        own = by_label[entry.label]
        roles = spent.get(entry.label, {})
        systems.append(
            SystemRow(
                label=entry.label,
                config=entry.config,
                ended=len(own),
                statuses=dict(Counter(row.status for row in own)),
                failures=dict(Counter(row.error for row in own if row.error)),
                scores=_estimates(own, benchmark.headline, plan),
                difference=_difference(first, own, benchmark.headline, plan) if position else None,
                roles=roles,
                total=sum(roles.values(), Totals()),
                seconds=sum(row.seconds for row in own),
                seconds_median=median(row.seconds for row in own) if own else None,
                paper=dict(benchmark.paper.get(entry.name, {})),
            )
        )
    return Report(
        bench_id=bench_id,
        benchmark=plan.benchmark,
        version=plan.benchmark_version,
        headline=benchmark.headline,
        status=shown_status(run.status, run.owner, run.heartbeat),
        title=run.title,
        model=run.model,
        scripted="scripted:" in run.model,
        seed=plan.seed,
        epochs=plan.epochs,
        tasks=len(plan.tasks),
        cells=plan.size,
        elapsed=run.elapsed,
        systems=tuple(systems),
        rows=tuple(rows),
    )


def as_json(report: Report) -> dict[str, Any]:
    """``report`` as JSON, with its estimates as objects."""
    body = report.model_dump(mode="json", exclude={"systems": {"__all__": {"scores", "difference"}}})
    for system, shown in zip(report.systems, body["systems"], strict=True):
        shown["scores"] = {name: asdict(value) for name, value in system.scores.items()}
        shown["difference"] = asdict(system.difference) if system.difference else None
    return body


def same_results(report: Report) -> list[tuple[str, int, str, str, tuple[tuple[str, float], ...]]]:
    """What two benches over the same plan must share, however they were run: each cell's status and scores."""
    return sorted(
        (row.label, row.epoch, row.task_id, row.status, tuple(sorted(row.scores.items()))) for row in report.rows
    )


def _estimates(rows: Sequence[CellRow], headline: str, plan: Plan) -> dict[str, Estimate]:
    names = list(dict.fromkeys([headline, *(name for row in rows for name in row.scores)]))
    found: dict[str, Estimate] = {}
    for name in names:
        picked = [row for row in rows if name in row.scores or name == headline]
        values = [row.scores.get(name, 0.0) for row in picked]
        found[name] = estimate(values, clusters=[_cluster(row, plan) for row in picked], seed=plan.seed)
    return found


def _difference(first: Mapping[str, float], rows: Sequence[CellRow], headline: str, plan: Plan) -> Estimate:
    clusters = {_pair(row): _cluster(row, plan) for row in rows}
    return paired(first, _headline(rows, headline), clusters=clusters, seed=plan.seed)


def _headline(rows: Sequence[CellRow], headline: str) -> dict[str, float]:
    return {_pair(row): row.scores.get(headline, 0.0) for row in rows}


def _pair(row: CellRow) -> str:
    return f"{row.task_id}/{row.epoch}"


def _cluster(row: CellRow, plan: Plan) -> str | None:
    """The task's cluster; the epochs of one task are one cluster too."""
    return row.cluster or (row.task_id if plan.epochs > 1 else None)


def _read(
    connection: sa.Connection, bench_id: str, plan: Plan
) -> tuple[Any, list[CellRow], dict[str, dict[str, Totals]]]:
    run = connection.execute(sa.select(runs).where(runs.c.id == bench_id)).one()
    below = runs.c.parent == bench_id
    judged: dict[str, dict[str, float]] = defaultdict(dict)
    verdicts = sa.select(scores.c.run_id, scores.c.scorer, scores.c.value).join(runs, runs.c.id == scores.c.run_id)
    for run_id, scorer, value in connection.execute(verdicts.where(below)):
        judged[run_id][scorer] = value
    spent, tokens = _spent(connection, bench_id)
    grouped = sa.select(tasks.c.run_id, tasks.c.cluster).join(runs, runs.c.id == tasks.c.run_id).where(below)
    clusters = {row.run_id: row.cluster for row in connection.execute(grouped)}
    cells = {cell.run_id(bench_id): cell for cell in plan.cells()}
    ended = sa.select(runs.c.id, runs.c.status, runs.c.result, runs.c.elapsed).where(below, runs.c.status != "running")
    rows = []
    for child in connection.execute(ended):
        cell = cells[child.id]
        error = None
        if child.status != "completed" and child.result is not None:
            failure = Result.model_validate_json(read_blob(connection, child.result)).error
            error = failure.kind if failure else None
        rows.append(
            CellRow(
                run_id=child.id,
                label=cell.label,
                epoch=cell.epoch,
                task_id=cell.task_id,
                cluster=clusters.get(child.id),
                status=child.status,
                error=error,
                scores=judged.get(child.id, {}),
                tokens=tokens.get(child.id, 0),
                seconds=child.elapsed,
            )
        )
    rows.sort(key=lambda row: cells[row.run_id].number)
    return run, rows, spent


def _spent(connection: sa.Connection, bench_id: str) -> tuple[dict[str, dict[str, Totals]], dict[str, int]]:
    """What was paid, by system and role; and the tokens of each cell. Attempts that failed count as failed calls of unknown usage."""
    names = ("prompt", "cached", "completion", "reasoning", "latent_steps", "money")
    unknown = calls.c.prompt.is_(None) | calls.c.completion.is_(None)
    done = calls.c.state == "done"
    query = (
        sa.select(
            runs.c.id,
            runs.c.system,
            calls.c.name,
            sa.func.sum(sa.case((done, 1), else_=0)).label("replies"),
            sa.func.sum(calls.c.attempts).label("attempts"),
            sa.func.sum(sa.case((done & unknown, 1), else_=0)).label("unknown"),
            sa.func.sum(sa.case((done & calls.c.money.is_(None), 1), else_=0)).label("unpriced"),
            *(sa.func.coalesce(sa.func.sum(calls.c[name]), 0).label(name) for name in names),
        )
        .join(runs, runs.c.id == calls.c.run_id)
        .where(runs.c.parent == bench_id, calls.c.kind == "model")
        .group_by(runs.c.id, runs.c.system, calls.c.name)
    )
    spent: dict[str, dict[str, Totals]] = defaultdict(dict)
    tokens: Counter[str] = Counter()
    for row in connection.execute(query).mappings():
        totals = Totals(
            calls=row["attempts"],
            failed=row["attempts"] - row["replies"],
            unknown=row["unknown"],
            unpriced=row["unpriced"],
            **{name: row[name] for name in names},
        )
        roles = spent[row["system"]]
        roles[row["name"]] = roles.get(row["name"], Totals()) + totals
        tokens[row["id"]] += totals.tokens
    return spent, tokens
