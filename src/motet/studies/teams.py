"""What studies of teams share: their cells with all that is known of each, figures over tasks with intervals, slopes, and curves read between their points."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from math import log2
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

import sqlalchemy as sa
from pydantic import JsonValue

from motet.bench.benchmark import CANDIDATE
from motet.bench.plan import Entry, Plan
from motet.bench.scoring.statistics import estimate, paired_difference
from motet.bench.team import RULE, TeamCell, read_history
from motet.errors import InputError
from motet.fugue.reading import NAME as READ
from motet.store.schema import calls, runs
from motet.store.store import read_blob
from motet.studies.figures import point
from motet.studies.findings import Cell, Grid, Mean, Plot, Series, columns
from motet.studies.study import Bench, Setup, Study
from motet.task import Result

AVG, PASS = "Avg", "Pass@N"

# On the synthetic web pages are short: with the usual room most peers would have answered before they share anything, and with the usual steps one that is alone would be cut off
# before it has an answer, so that its calls could not fall.
_WEB: Mapping[str, JsonValue] = {
    "room": {"close_at": 1500, "keep": 500, "notes": 4000, "hard": 24_000},
    "max_steps": 40,
}
# Raw steps of teammates need more, or they would crowd out a peer's notes on its own.
_RAW = 16_000


class Work(NamedTuple):
    """One cell of a team: its run, its place among the tasks, what it did and what that scored, and the tokens that it took, those of the hub apart."""

    run_id: str
    task: str
    cluster: str
    team: TeamCell
    scores: Mapping[str, float]
    tokens: int
    hub: int

    def score(self, rule: str) -> float:
        """The score by ``rule``, which may be ``AVG`` or ``PASS``."""
        if rule == AVG:
            return self.team.mean
        return self.team.best if rule == PASS else self.team.rules.get(rule, 0.0)

    @property
    def calls(self) -> float:
        """Calls of tools per peer, as they were issued, reads behind notes apart."""
        return fmean(sum(peer.calls.values()) - peer.calls.get(READ, 0) for peer in self.team.history.peers)


class TeamStudy(Study, ABC):
    """A study of ``fugue`` and its kin."""

    benchmark: ClassVar[str] = "synthweb"

    def common(self, setup: Setup, **more: Any) -> dict[str, JsonValue]:
        """What all of its variants set: ``more``, and on the synthetic web what fits its pages, unless the user says otherwise."""
        web = {key: value for key, value in _WEB.items() if setup.benchmark == "synthweb" and key not in setup.settings}
        room = web.get("room")
        if isinstance(room, dict) and more.get("visibility") == "broadcast":
            web["room"] = {**room, "notes": _RAW}
        return {**web, **more}

    def check(self, bench_id: str, plan: Plan) -> None:
        """Raises InputError where a bench is none of this study's."""
        super().check(bench_id, plan)
        if not any(entry.config is not None and "visibility" in entry.config for entry in plan.systems):
            raise InputError(f"bench {bench_id} is none of the study {self.name}: it has no team with a hub")


def read_works(bench: Bench) -> dict[str, list[Work]]:
    """The cells that have ended, by variant, in the order of the plan; those without a team's history are left out."""
    return bench.store.read_now(lambda connection: _read(connection, bench))


def setting(entry: Entry, key: str) -> JsonValue:
    """What a variant sets; ``None`` where it does not."""
    return (entry.config or {}).get(key)


def over_tasks(works: Sequence[Work], value: Callable[[Work], float | None], *, seed: int) -> Mean:
    """The mean of ``value`` over those cells that have one, with its interval."""
    found = [(known, work.cluster) for work in works if (known := value(work)) is not None]
    return Mean.of(estimate([known for known, _ in found], clusters=[cluster for _, cluster in found], seed=seed))


def difference(
    first: Sequence[Work], second: Sequence[Work], value: Callable[[Work], float | None], *, seed: int
) -> Mean:
    """How much more ``value`` is in ``second`` than in ``first``, on the tasks for which both have one."""
    before = {work.task: known for work in first if (known := value(work)) is not None}
    after = {work.task: known for work in second if (known := value(work)) is not None}
    clusters = {work.task: work.cluster for work in (*first, *second)}
    shared = [task for task in before if task in after]
    return Mean.of(
        paired_difference(
            [before[task] for task in shared],
            [after[task] for task in shared],
            clusters=[clusters[task] for task in shared],
            seed=seed,
        )
    )


def slope(sizes: Mapping[int, Sequence[Work]], value: Callable[[Work], float], *, seed: int) -> Mean:
    """By how much ``value`` changes with each doubling of the team: the mean over tasks of the least-squares slope over log2 N, over tasks that every size has ended."""
    by_size = {size: {work.task: work for work in works} for size, works in sizes.items()}
    shared = [task for task in next(iter(by_size.values()), {}) if all(task in works for works in by_size.values())]
    if len(by_size) < 2 or not shared:
        return Mean(value=None)
    slopes = [doubling({size: value(works[task]) for size, works in by_size.items()}) for task in shared]
    clusters = [next(iter(by_size.values()))[task].cluster for task in shared]
    return Mean.of(paired_difference([0.0] * len(slopes), slopes, clusters=clusters, seed=seed))


def doubling(values: Mapping[int, float]) -> float:
    """The least-squares slope of ``values`` over log2 of their keys, of which there are at least two."""
    middle = fmean(map(log2, values))
    spread = sum((log2(size) - middle) ** 2 for size in values)
    return sum((log2(size) - middle) * value for size, value in values.items()) / spread


def verdict(figure: Mean, *, rises: bool = True) -> str:
    """Whether a difference or a slope ``rises`` above 0, or falls below it, by its interval."""
    if figure.value is None or figure.low is None or figure.high is None:
        return "open: no interval"
    if (figure.low > 0) if rises else (figure.high < 0):
        return "yes"
    return "no, the other way" if ((figure.high < 0) if rises else (figure.low > 0)) else "open: 0 is within"


def rules_of(works: Mapping[str, Sequence[Work]]) -> list[str]:
    """All rules by which answers were scored, with ``AVG`` before and ``PASS`` after them."""
    named = dict.fromkeys(rule for some in works.values() for work in some for rule in work.team.rules)
    return [AVG, *named, PASS]


def scored(rule: str) -> Callable[[Work], float]:
    """The score of a cell by ``rule``."""
    return lambda work: work.score(rule)


def score_table(works: Mapping[str, Sequence[Work]], bench: Bench, *, title: str = "Score by rule") -> Grid:
    """Every variant's score by every rule, with intervals."""
    rules = rules_of(works)
    rows: list[tuple[Cell, ...]] = [
        (label, len(some), *(over_tasks(some, scored(rule), seed=bench.plan.seed) for rule in rules))
        for label, some in works.items()
    ]
    return Grid(
        title=title,
        columns=columns("variant", "n", *rules, count=("n",), percent=rules),
        rows=tuple(rows),
        about=f"{bench.report.headline} with 95 % intervals, copies of a task and tasks of one site counted as one piece of evidence. {AVG}: the mean over peers; {PASS}: the best peer, "
        "as somebody who knows the answer would choose.",
    )


def work_table(works: Mapping[str, Sequence[Work]], bench: Bench) -> Grid:
    """What every variant's peers did, what went through the hub, and what it took."""
    rows: list[tuple[Cell, ...]] = []
    for label, some in works.items():
        histories = [work.team.history for work in some]
        peers = [peer for history in histories for peer in history.peers]
        n = max(len(some), 1)
        rows.append(
            (
                label,
                over_tasks(some, lambda work: work.calls, seed=bench.plan.seed),
                sum(peer.notes + peer.degraded for peer in peers) / n,
                sum(peer.heard for peer in peers) / n,
                sum(peer.reads for peer in peers) / n,
                sum(work.hub for work in some) / n,
                sum(work.tokens for work in some) / n,
                _known([history.duplicates for history in histories]),
                _known([history.diversity_pages for history in histories]),
                _known([history.diversity_terms for history in histories]),
            )
        )
    names = (
        "variant", "calls per peer", "notes", "heard", "reads", "hub tokens", "tokens", "same query", "page diversity",
        "term diversity",
    )  # fmt: skip
    return Grid(
        title="Work and traffic per task",
        columns=columns(
            *names,
            times=("calls per peer", "notes", "heard", "reads"),
            count=("hub tokens", "tokens"),
            percent=names[7:],
        ),
        rows=tuple(rows),
        about="Calls are of search and visit and such, as issued, answered from a record or not; heard are notes times peers that were shown them; tokens are all, the hub's among them; "
        "same query is the share of queries made before by anyone in the team; diversity is the mean over pairs of peers of 1 − Jaccard.",
    )


def difference_plot(title: str, rows: Sequence[tuple[str, Mean]], *, y: str) -> Plot:
    """Differences with their intervals, a row each."""
    points = tuple(
        point(place, figure, scale=100) for place, (_, figure) in enumerate(rows) if figure.value is not None
    )
    return Plot(
        title=title,
        x="",
        y=y,
        kind="rows",
        series=(Series(name="", points=points),),
        ticks=tuple(label for label, _ in rows),
    )


def _known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _read(connection: sa.Connection, bench: Bench) -> dict[str, list[Work]]:
    below = runs.c.parent == bench.id
    hub: dict[str, int] = {}
    asked = (
        sa.select(calls.c.run_id, sa.func.sum(calls.c.prompt), sa.func.sum(calls.c.completion))
        .join(runs, runs.c.id == calls.c.run_id)
        .where(below, calls.c.kind == "model", calls.c.name.like("hub:%"))
        .group_by(calls.c.run_id)
    )
    for run_id, prompt, completion in connection.execute(asked):
        hub[run_id] = (prompt or 0) + (completion or 0)
    results = {
        row.id: read_blob(connection, row.result)
        for row in connection.execute(sa.select(runs.c.id, runs.c.result).where(below, runs.c.result.is_not(None)))
    }
    found: dict[str, list[Work]] = {entry.label: [] for entry in bench.plan.systems}
    for row in bench.report.rows:
        told = read_history(Result.model_validate_json(results[row.run_id])) if row.run_id in results else None
        if told is None:
            continue
        offered = {
            scorer.removeprefix(CANDIDATE): value
            for scorer, value in row.scores.items()
            if scorer.startswith(CANDIDATE)
        }
        cluster = row.cluster or row.task_id
        team = TeamCell(
            task_id=row.task_id,
            cluster=cluster,
            history=told,
            result=row.scores.get(bench.report.headline, 0.0),
            peers={peer.name: offered[peer.name] for peer in told.peers if peer.name in offered},
            rules={label.removeprefix(RULE): value for label, value in offered.items() if label.startswith(RULE)},
        )
        task = f"{row.task_id}/{row.epoch}"
        found[row.label].append(Work(row.run_id, task, cluster, team, row.scores, row.tokens, hub.get(row.run_id, 0)))
    return found
