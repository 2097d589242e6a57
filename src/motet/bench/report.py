"""The report of a bench, read from the store alone: it can be made at any time, also of a bench that is still at work.

Scores come with 95 % intervals (Wilson's for independent tasks, a cluster bootstrap where tasks are near-copies), and with the paired difference to the first
system on the tasks that both have ended. A cell that ended without a verdict, because of a bug, counts as 0 for the headline score, and is named.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import JsonValue

from motet.bench.benchmark import CANDIDATE, HasNotes
from motet.bench.calibration import calibration_notes
from motet.bench.evolution import EvolutionRow, evolution_row, read_trials
from motet.bench.plan import Plan, open_benchmark
from motet.bench.runner import JUDGE
from motet.bench.scoring.statistics import Estimate, estimate, paired
from motet.bench.team import TeamRow, read_latencies, read_teams, team_rows
from motet.runs.lease import shown_status
from motet.store.queries import read_lost
from motet.store.schema import calls, runs, scores, tasks
from motet.store.store import Store, read_blob
from motet.task import Result
from motet.usage import Totals
from motet.value import Value

# Keys of which a fair comparison has the same value for every system that has them.
_ALIKE = ("model", "tools", "max_steps", "max_tokens", "sampling")


class CellRow(Value):
    """One cell as it stands. ``error`` is the kind of its failure; ``run_id`` is where to look deeper. ``scores`` holds its candidates' too, under ``candidate:LABEL``."""

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
    """One system's figures. ``scores`` holds an estimate for each scorer, ``difference`` that of the headline score to the first system's.

    ``roles`` and their ``total`` are what the system itself paid; ``judging`` is what its judges cost.
    """

    label: str
    config: JsonValue
    ended: int
    statuses: dict[str, int]
    failures: dict[str, int]
    scores: dict[str, Estimate]
    difference: Estimate | None
    roles: dict[str, Totals]
    total: Totals
    judging: dict[str, Totals]
    seconds: float
    seconds_median: float | None
    paper: dict[str, float]


class Report(Value):
    """A bench's figures. ``cells`` is how many there are in all; those that have ended are in ``rows``.

    ``published`` holds others' figures for the benchmark's whole set of tasks: who → scorer → value in 0..1. ``notes`` is what a reader must know before comparing.
    ``evolutions`` are of those systems that try several candidates, ``teams`` of those whose agents work side by side.
    """

    bench_id: str
    benchmark: str
    version: str
    headline: str
    status: str
    error: str | None
    title: str
    model: str
    scripted: bool
    seed: int
    epochs: int
    tasks: int
    cells: int
    elapsed: float
    plan: Plan
    published: dict[str, dict[str, float]]
    notes: tuple[str, ...]
    systems: tuple[SystemRow, ...]
    rows: tuple[CellRow, ...]
    evolutions: tuple[EvolutionRow, ...] = ()
    teams: tuple[TeamRow, ...] = ()

    @property
    def ended(self) -> int:
        """How many cells have ended."""
        return len(self.rows)


def make_report(store: Store, bench_id: str, plan: Plan) -> Report:
    """The report of ``bench_id`` as it stands now. Raises InputError when its benchmark cannot be opened."""
    benchmark = open_benchmark(plan.benchmark, plan.options)
    run, rows, spent = store.read_now(lambda connection: _read(connection, bench_id, plan))
    trials = store.read_now(lambda connection: read_trials(connection, bench_id, plan))
    teams = store.read_now(lambda connection: read_teams(connection, bench_id, plan, headline=benchmark.headline))
    latencies = store.read_now(lambda connection: read_latencies(connection, bench_id))
    calibrated = store.read_now(lambda connection: [*calibration_notes(connection, bench_id, plan, benchmark.headline)])
    by_label: dict[str, list[CellRow]] = defaultdict(list)
    for row in rows:
        by_label[row.label].append(row)
    first = _headline(by_label[plan.systems[0].label], benchmark.headline)
    systems = []
    for position, entry in enumerate(plan.systems):
        own = by_label[entry.label]
        roles = spent.roles.get(entry.label, {})
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
                judging=spent.judging.get(entry.label, {}),
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
        error=run.error,
        title=run.title,
        model=run.model,
        scripted="scripted:" in run.model,
        seed=plan.seed,
        epochs=plan.epochs,
        tasks=len(plan.tasks),
        cells=plan.size,
        elapsed=run.elapsed,
        plan=plan,
        published={who: dict(figures) for who, figures in benchmark.paper.items()},
        notes=(
            *(benchmark.notes if isinstance(benchmark, HasNotes) else ()),
            *calibrated,
            *_notes(plan, by_label),
        ),
        systems=tuple(systems),
        rows=tuple(rows),
        evolutions=tuple(
            evolution_row(label, of_system, scorer=benchmark.headline, seed=plan.seed)
            for label, of_system in trials.items()
        ),
        teams=team_rows(teams, plan, roles=spent.roles, latencies=latencies, scorer=benchmark.headline),
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


def _notes(plan: Plan, by_label: Mapping[str, Sequence[CellRow]]) -> Iterator[str]:
    """What makes the systems' figures hard to compare, or incomplete."""
    for key in _ALIKE:
        given = {entry.label: entry.config[key] for entry in plan.systems if entry.config and key in entry.config}
        if len({json.dumps(value, sort_keys=True) for value in given.values()}) > 1:
            told = ", ".join(f"{label} {_short(value)}" for label, value in given.items())
            yield f"the systems do not have the same {key}: {told}"
    ended = {entry.label: {_pair(row) for row in by_label[entry.label]} for entry in plan.systems}
    if len({frozenset(pairs) for pairs in ended.values()}) > 1:
        told = ", ".join(f"{label} {len(pairs)}" for label, pairs in ended.items())
        yield f"scores are over different tasks, because not the same cells have ended: {told}; differences are over shared ones"
    for entry in plan.systems:
        statuses = Counter(row.status for row in by_label[entry.label])
        failed = statuses["failed"] + statuses["unconfirmed"] + statuses["cancelled"]
        if failed:
            yield f"{entry.label}: {failed} of {len(by_label[entry.label])} cells failed; they count, without a verdict as 0, and a resume takes them up again"
        if statuses["budget"]:
            yield f"{entry.label}: {statuses['budget']} of {len(by_label[entry.label])} cells stopped on a task's budget; they count as they were judged"


def _short(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _estimates(rows: Sequence[CellRow], headline: str, plan: Plan) -> dict[str, Estimate]:
    names = list(dict.fromkeys([headline, *(name for row in rows for name in row.scores)]))
    names = [name for name in names if not name.startswith(CANDIDATE)]
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


def _read(connection: sa.Connection, bench_id: str, plan: Plan) -> tuple[Any, list[CellRow], _Spent]:
    run = connection.execute(sa.select(runs).where(runs.c.id == bench_id)).one()
    below = runs.c.parent == bench_id
    judged: dict[str, dict[str, float]] = defaultdict(dict)
    verdicts = sa.select(scores.c.run_id, scores.c.scorer, scores.c.value).join(runs, runs.c.id == scores.c.run_id)
    for run_id, scorer, value in connection.execute(verdicts.where(below)):
        judged[run_id][scorer] = value
    spent = _spent(connection, bench_id)
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
                tokens=spent.tokens[child.id],
                seconds=child.elapsed,
            )
        )
    rows.sort(key=lambda row: cells[row.run_id].number)
    return run, rows, spent


class _Spent(NamedTuple):
    """What cells cost: by system and role, that of judging apart; and the systems' own tokens of each cell."""

    roles: dict[str, dict[str, Totals]]
    judging: dict[str, dict[str, Totals]]
    tokens: Counter[str]


def _spent(connection: sa.Connection, bench_id: str) -> _Spent:
    """What was paid. As in the ledger, an attempt that failed after it may have been billed counts as a failed call."""
    judging = calls.c.scope.contains(f"/{JUDGE}").label("judging")
    key = (runs.c.id, runs.c.system, calls.c.name, judging)
    names = ("prompt", "cached", "completion", "reasoning", "latent_steps", "money")
    unknown = calls.c.prompt.is_(None) | calls.c.completion.is_(None)
    below = (runs.c.parent == bench_id, calls.c.kind == "model", calls.c.origin == "paid")
    done = (
        sa.select(
            *key,
            sa.func.count().label("calls"),
            sa.func.sum(sa.case((unknown, 1), else_=0)).label("unknown"),
            sa.func.sum(sa.case((calls.c.money.is_(None), 1), else_=0)).label("unpriced"),
            *(sa.func.coalesce(sa.func.sum(calls.c[name]), 0).label(name) for name in names),
        )
        .join(runs, runs.c.id == calls.c.run_id)
        .where(*below, calls.c.state == "done")
        .group_by(*key)
    )
    lost = sa.select(*key, calls.c.lost).join(runs, runs.c.id == calls.c.run_id).where(*below, calls.c.lost != "[]")
    spent = _Spent(defaultdict(dict), defaultdict(dict), Counter())

    def add(row: Any, totals: Totals) -> None:
        roles = (spent.judging if row.judging else spent.roles)[row.system]
        roles[row.name] = roles.get(row.name, Totals()) + totals
        if not row.judging:
            spent.tokens[row.id] += totals.tokens

    for row in connection.execute(done):
        add(row, Totals(**{name: getattr(row, name) for name in ("calls", "unknown", "unpriced", *names)}))
    for row in connection.execute(lost):
        for usage, money in read_lost(row.lost):
            add(row, Totals().plus(usage, money=money, failed=True))
    return spent
