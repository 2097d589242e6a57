"""What a bench says of teams: how good each peer and each rule is, what a peer does as the team grows, what goes through the hub, and what it costs.

Everything is read from the store: the histories in the cells' results, the scores that every peer's and every rule's answer was given beside the result, and the ledger.
Source: AgentFugue, measurements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations, pairwise
from statistics import StatisticsError, correlation, fmean
from typing import NamedTuple

import sqlalchemy as sa
import yaml
from pydantic import JsonValue, ValidationError

from motet.bench.benchmark import CANDIDATE
from motet.bench.plan import Entry, Plan
from motet.bench.scoring.statistics import Estimate, estimate, paired_difference
from motet.canonical import digest
from motet.fugue.measures import PeerRow, TeamHistory
from motet.store.schema import calls, runs, scores, tasks
from motet.store.store import read_blob
from motet.task import Result
from motet.usage import Totals
from motet.value import Value

RULE = "rule:"  # of the label of an offered answer
BASE = "best-of-n"

_RESAMPLES = 1000  # of each interval: a report has dozens of them
_PURPOSES = {"hub:write": "hub writes", "hub:read": "hub reads", "team:judge": "judge", "meta": "meta agent"}


class TeamCell(NamedTuple):
    """One cell of a team: what it did, and the headline scores of its result, of each peer's answer and of each rule's. Teams whose members each do a part have only the first."""

    task_id: str
    cluster: str | None
    history: TeamHistory
    result: float
    peers: Mapping[str, float]
    rules: Mapping[str, float]

    @property
    def best(self) -> float:
        """The score of the best peer, as somebody who knows the right answer would choose: Pass@N."""
        return max(self.peers.values(), default=0.0)

    @property
    def mean(self) -> float:
        """The mean score of the peers."""
        return fmean(self.peers.values()) if self.peers else 0.0


class Traffic(Value):
    """What went through the hub, per task. ``notes`` were written by the hub model and ``degraded`` by rule; ``heard`` counts notes times peers that were shown them.

    ``refused`` are claims whose quote was not found, ``disputed`` those that another peer's note contradicts, ``repeats`` calls answered from a teammate's record.
    ``write_seconds`` and ``read_seconds`` are the means of one call.
    """

    closes: float
    notes: float
    degraded: float
    refused: float
    heard: float
    reads: float
    disputed: float
    repeats: float
    write_seconds: float | None = None
    read_seconds: float | None = None


class TeamRow(Value):
    """A team's figures. ``number`` is N; rows of one ``group`` differ in nothing else.

    ``average`` is the mean over peers and ``passed`` Pass@N; ``gap`` is how much better that is than the best rule, ``best_rule``. ``calls`` are per peer and task, as issued, by tool;
    ``all_calls`` is their sum. ``tokens`` are by purpose and ``per_task`` all of them for one task; ``unknown`` counts calls whose usage was not reported. ``equal`` is what best-of-N
    scores with as many tokens, where the bench says.

    ``correlation`` is the mean over pairs of peers of how their correctness goes together over tasks, ``effective`` the N/(1 + (N − 1)ρ) that follows. ``prefix`` is the share of a
    call's prompt that the next one began with, ``rerendered`` what it would be with all notes in the first message.
    """

    label: str
    group: str
    name: str
    number: int
    scorer: str
    cells: int
    result: Estimate
    average: Estimate | None
    passed: Estimate | None
    gap: Estimate | None
    best_rule: str | None
    rules: dict[str, Estimate]
    calls: dict[str, Estimate]
    all_calls: Estimate
    traffic: Traffic
    tokens: dict[str, int]
    unknown: int
    per_task: float
    equal: float | None = None
    duplicates: float | None
    diversity_pages: float | None
    diversity_terms: float | None
    correlation: float | None
    effective: float | None
    prefix: float | None
    rerendered: float | None


@cache
def published() -> dict[str, JsonValue]:
    """What the AgentFugue paper reports."""
    found = yaml.safe_load(files("motet.bench").joinpath("team_paper.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def read_teams(connection: sa.Connection, bench_id: str, plan: Plan, *, headline: str) -> dict[str, list[TeamCell]]:
    """The cells that have ended of each team, in the order of the plan."""
    below = runs.c.parent == bench_id
    scored: dict[str, dict[str, float]] = defaultdict(dict)
    given = sa.select(scores.c.run_id, scores.c.scorer, scores.c.value).join(runs, runs.c.id == scores.c.run_id)
    for run_id, scorer, value in connection.execute(given.where(below)):
        scored[run_id][scorer] = value
    ended = (
        sa.select(runs.c.id, runs.c.result, tasks.c.cluster)
        .join(tasks, tasks.c.run_id == runs.c.id)
        .where(below, runs.c.result.is_not(None))
    )
    rows = {row.id: row for row in connection.execute(ended)}
    found: dict[str, list[TeamCell]] = defaultdict(list)
    for cell in plan.cells():
        row = rows.get(cell.run_id(bench_id))
        told = read_history(Result.model_validate_json(read_blob(connection, row.result))) if row is not None else None
        if row is None or told is None:
            continue
        offered = {
            scorer.removeprefix(CANDIDATE): value
            for scorer, value in scored[row.id].items()
            if scorer.startswith(CANDIDATE)
        }
        found[cell.label].append(
            TeamCell(
                task_id=cell.task_id,
                cluster=row.cluster or (cell.task_id if plan.epochs > 1 else None),
                history=told,
                result=scored[row.id].get(headline, 0.0),
                peers={peer.name: offered[peer.name] for peer in told.peers if peer.name in offered},
                rules={label.removeprefix(RULE): value for label, value in offered.items() if label.startswith(RULE)},
            )
        )
    return dict(found)


def read_latencies(connection: sa.Connection, bench_id: str) -> dict[str, dict[str, float]]:
    """The mean seconds of one call of the hub, by system and role."""
    asked = (
        sa.select(runs.c.system, calls.c.name, sa.func.avg(calls.c.seconds).label("seconds"))
        .join(runs, runs.c.id == calls.c.run_id)
        .where(runs.c.parent == bench_id, calls.c.kind == "model", calls.c.state == "done")
        .where(calls.c.name.in_(["hub:write", "hub:read"]))
        .group_by(runs.c.system, calls.c.name)
    )
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for system, name, seconds in connection.execute(asked):
        if seconds is not None:
            found[system][name] = float(seconds)
    return dict(found)


def read_history(result: Result) -> TeamHistory | None:
    """The history of a team in ``result``; ``None`` where there is none that can be read."""
    told = result.details.get("team")
    try:
        return TeamHistory.model_validate(told) if isinstance(told, dict) else None
    except ValidationError:
        return None


def team_rows(
    cells: Mapping[str, Sequence[TeamCell]],
    plan: Plan,
    *,
    roles: Mapping[str, Mapping[str, Totals]],
    latencies: Mapping[str, Mapping[str, float]],
    scorer: str,
) -> tuple[TeamRow, ...]:
    """A row for each team in ``cells``, each beside what best-of-N scores with as many tokens. ``roles`` has what each system paid."""
    rows = [
        team_row(
            entry,
            cells[entry.label],
            roles=roles.get(entry.label, {}),
            latency=latencies.get(entry.label, {}),
            scorer=scorer,
            seed=plan.seed,
        )
        for entry in plan.systems
        if cells.get(entry.label)
    ]
    points = [(row.per_task, row.result.value or 0.0) for row in rows if row.name == BASE and not row.unknown]
    return tuple(
        row if row.name == BASE or row.unknown else row.model_copy(update={"equal": read_curve(points, row.per_task)})
        for row in rows
    )


def team_row(
    entry: Entry,
    cells: Sequence[TeamCell],
    *,
    roles: Mapping[str, Totals],
    latency: Mapping[str, float],
    scorer: str,
    seed: int,
) -> TeamRow:
    """The figures of one team's ``cells``, of which there must be one."""
    clusters = [cell.cluster for cell in cells]

    def mean(values: Sequence[float]) -> Estimate:
        return estimate(values, clusters=clusters, seed=seed, resamples=_RESAMPLES)

    def amount(values: Sequence[float]) -> Estimate:
        """Of what is no rate: a count that is always 0 has no interval, and is no rate of 0."""
        return difference([0.0] * len(values), values)

    def difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
        return paired_difference(first, second, clusters=clusters, seed=seed, resamples=_RESAMPLES)

    number = team_size(entry.config) or max(len(cell.history.peers) for cell in cells)
    judged = any(cell.peers for cell in cells)
    rules = {
        rule: mean([cell.rules.get(rule, 0.0) for cell in cells])
        for rule in dict.fromkeys(rule for cell in cells for rule in cell.rules)
    }
    best = max(rules, key=lambda rule: rules[rule].value or 0.0) if rules else None
    rho = mean_correlation(_columns(cells))
    used = dict.fromkeys(tool for cell in cells for peer in cell.history.peers for tool in peer.calls)
    return TeamRow(
        label=entry.label,
        group=_group(entry),
        name=entry.name,
        number=number,
        scorer=scorer,
        cells=len(cells),
        result=mean([cell.result for cell in cells]),
        average=mean([cell.mean for cell in cells]) if judged else None,
        passed=mean([cell.best for cell in cells]) if judged else None,
        gap=difference([cell.rules.get(best, 0.0) for cell in cells], [cell.best for cell in cells])
        if judged and best is not None
        else None,
        best_rule=best,
        rules=rules,
        calls={tool: amount([_per_peer(cell, tool) for cell in cells]) for tool in sorted(used)},
        all_calls=amount([sum(_per_peer(cell, tool) for tool in used) for cell in cells]),
        traffic=_traffic(cells, latency),
        tokens=purposes({role: total.tokens for role, total in roles.items()}),
        unknown=sum(total.unknown for total in roles.values()),
        per_task=sum(total.tokens for total in roles.values()) / len(cells),
        duplicates=_known([cell.history.duplicates for cell in cells]),
        diversity_pages=_known([cell.history.diversity_pages for cell in cells]),
        diversity_terms=_known([cell.history.diversity_terms for cell in cells]),
        correlation=rho,
        effective=effective_size(number, rho),
        prefix=_known([peer.prefix for cell in cells for peer in cell.history.peers]),
        rerendered=_known([peer.rerendered for cell in cells for peer in cell.history.peers]),
    )


def team_size(config: Mapping[str, JsonValue] | None) -> int | None:
    """How many ``peers`` a configuration asks for; ``None`` where it does not say."""
    peers = (config or {}).get("peers")
    return len(peers) if isinstance(peers, list) else peers if isinstance(peers, int) else None


def mean_correlation(columns: Sequence[Sequence[float]]) -> float | None:
    """The mean over pairs of columns of their correlation, over the pairs of which both vary; ``None`` where there is no such pair."""
    found = []
    for one, other in combinations(columns, 2):
        try:
            found.append(correlation(one, other))
        except StatisticsError:
            continue
    return fmean(found) if found else None


def effective_size(number: int, rho: float | None) -> float | None:
    """How many independent peers ``number`` peers are worth, N/(1 + (N − 1)ρ); ``None`` where that is not known, or has no bound since they make up for each other's mistakes."""
    if number == 1:
        return 1.0
    if rho is None:
        return None
    divisor = 1 + (number - 1) * rho
    return number / divisor if divisor > 1e-9 else None


def purposes(roles: Mapping[str, int]) -> dict[str, int]:
    """Tokens by role as tokens by purpose: what all peers use is one, and roles that are no team's keep their names. The sum stays."""
    found: dict[str, int] = defaultdict(int)
    for role, tokens in roles.items():
        found["peers" if role.startswith("peer:") else _PURPOSES.get(role, role)] += tokens
    order = ["peers", *_PURPOSES.values()]
    return dict(sorted(found.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order)))


def read_curve(points: Sequence[tuple[float, float]], at: float) -> float | None:
    """The height at ``at`` of the line through ``points``; ``None`` beyond its ends."""
    ordered = sorted(points)
    for (left, low), (right, high) in pairwise(ordered):
        if left <= at <= right:
            return low + (high - low) * (at - left) / (right - left) if right > left else max(low, high)
    return next((height for place, height in ordered if place == at), None)


def _group(entry: Entry) -> str:
    """The same for teams that differ only in how many they are."""
    config = {key: value for key, value in (entry.config or {}).items() if key != "peers"}
    return digest({"name": entry.name, "config": config if entry.config is not None else entry.label})[:12]


def _columns(cells: Sequence[TeamCell]) -> list[list[float]]:
    """Each peer's scores over those cells in which all have one."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.peers))
    full = [cell for cell in cells if len(cell.peers) == len(names)]
    return [[cell.peers[name] for cell in full] for name in names]


def _per_peer(cell: TeamCell, tool: str) -> float:
    peers = cell.history.peers
    return sum(peer.calls.get(tool, 0) for peer in peers) / len(peers) if peers else 0.0


def _traffic(cells: Sequence[TeamCell], latency: Mapping[str, float]) -> Traffic:
    def per_task(count: Callable[[PeerRow], int]) -> float:
        return sum(count(peer) for cell in cells for peer in cell.history.peers) / len(cells)

    return Traffic(
        closes=per_task(lambda peer: peer.closes),
        notes=per_task(lambda peer: peer.notes),
        degraded=per_task(lambda peer: peer.degraded),
        refused=per_task(lambda peer: peer.refused),
        heard=per_task(lambda peer: peer.heard),
        reads=per_task(lambda peer: peer.reads),
        disputed=sum(cell.history.disputed for cell in cells) / len(cells),
        repeats=sum(cell.history.repeats for cell in cells) / len(cells),
        write_seconds=latency.get("hub:write"),
        read_seconds=latency.get("hub:read"),
    )


def _known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
