"""What a bench says of systems that try several candidates: how good each round's are, what choosing among them is worth, and what rounds cost and inherit.

Everything is read from the store: the histories in the cells' results, and the scores that every candidate was given beside the result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import sqlalchemy as sa
import yaml
from pydantic import Field

from motet.bench.benchmark import CANDIDATE
from motet.bench.plan import Plan
from motet.bench.scoring.statistics import Estimate, estimate, spearman
from motet.inherit.evolution import read_history
from motet.inherit.history import History, Round
from motet.store.schema import runs, scores, tasks
from motet.store.store import read_blob
from motet.task import Result
from motet.value import Value

_RESAMPLES = 1000  # of each interval: a report has dozens of them


class Trial(NamedTuple):
    """One cell of an evolving system: its history, and the true score of each of its candidates by round."""

    task_id: str
    cluster: str | None
    history: History
    scores: Mapping[int, float]
    epoch: int = 1

    @property
    def chosen(self) -> float:
        """The score of the candidate that became the result."""
        return self.scores.get(self.history.chosen, 0.0) if self.history.chosen is not None else 0.0

    @property
    def last(self) -> float:
        """The score of the last candidate."""
        return self.scores.get(self.history.tried[-1].index, 0.0) if self.history.tried else 0.0

    @property
    def oracle(self) -> float:
        """The score of the best candidate, as somebody who knows the right answer would choose."""
        return max(self.scores.values(), default=0.0)

    def ranked(self, index: int) -> float:
        """The score of what would have been chosen after round ``index``."""
        choices = [
            choice for item, choice in zip(self.history.tried, self.history.ranked, strict=True) if item.index <= index
        ]
        return self.scores.get(choices[-1], 0.0) if choices else 0.0


class Step(Value):
    """A round over all cells: the mean score of its candidates (``raw``, of ``candidates`` of them), and of what would be chosen after it (``ranked``, over all cells)."""

    index: int
    candidates: int
    raw: Estimate
    ranked: Estimate


class Kind(Value):
    """All rounds of one kind: ``initial``, ``restart``, the kind of the edit, or what other methods call theirs.

    ``live`` and ``inherited`` are worker tokens. Of the rounds that have a parent: ``better`` and ``worse`` by the true score, ``judged_better`` by the judge's quality.
    ``affected`` is the mean share of nodes that the change could reach.
    """

    kind: str
    rounds: int
    live: int
    inherited: int
    affected: float
    better: int
    worse: int
    judged_better: int

    @property
    def saved(self) -> float | None:
        """The share of worker tokens that were inherited."""
        whole = self.live + self.inherited
        return self.inherited / whole if whole else None


class EvolutionRow(Value):
    """An evolving system's figures. ``last``, ``chosen`` and ``oracle`` are the scores of the last candidate, of the one that was chosen, and of the best. ``restarts`` is the share of restarts among the rounds after the first that gave a candidate; ``spent`` counts those that gave none.

    ``live`` and ``inherited`` are worker tokens; ``meta`` and ``judge`` control tokens. ``agreement`` is the rank correlation of the judge's quality with the true score over all
    candidates, ``None`` where either never varies.
    """

    label: str
    scorer: str
    cells: int
    steps: tuple[Step, ...]
    last: Estimate
    chosen: Estimate
    oracle: Estimate
    kinds: tuple[Kind, ...]
    restarts: float | None
    spent: int
    live: int
    inherited: int
    meta: int
    judge: int
    agreement: float | None

    @property
    def saved_worker(self) -> float | None:
        """The share of worker tokens that were inherited."""
        whole = self.live + self.inherited
        return self.inherited / whole if whole else None

    @property
    def saved_all(self) -> float | None:
        """The share of all tokens that were inherited."""
        whole = self.live + self.inherited + self.meta + self.judge
        return self.inherited / whole if whole else None

    @property
    def control(self) -> float | None:
        """The share of what was paid that went to meta-model and judge."""
        paid = self.live + self.meta + self.judge
        return (self.meta + self.judge) / paid if paid else None


class Published(Value):
    """A paper's own figures, in percent."""

    what: str
    raw: tuple[float, ...] = ()
    last: float | None = None
    ranked: float | None = None
    oracle: float | None = None
    saved_worker: float | None = None
    saved_all: float | None = None
    restarts: float | None = None
    prompt_edits: float | None = None
    tokens: dict[str, float] = Field(default_factory=dict)


@cache
def published(benchmark: str) -> Published | None:
    """What the Inherit-MAS paper reports on ``benchmark``, if anything."""
    text = files("motet.bench").joinpath("evolution_paper.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text).get(benchmark)
    return Published.model_validate(found) if found else None


def read_trials(connection: sa.Connection, bench_id: str, plan: Plan) -> dict[str, list[Trial]]:
    """The cells that have ended of each system that tried candidates, in the order of the plan."""
    below = runs.c.parent == bench_id
    scored: dict[str, dict[int, float]] = defaultdict(dict)
    given = sa.select(scores.c.run_id, scores.c.scorer, scores.c.value).join(runs, runs.c.id == scores.c.run_id)
    for run_id, scorer, value in connection.execute(given.where(below, scores.c.scorer.startswith(CANDIDATE))):
        label = scorer.removeprefix(CANDIDATE)
        if label.isdecimal():
            scored[run_id][int(label)] = value
    ended = (
        sa.select(runs.c.id, runs.c.result, tasks.c.cluster)
        .join(tasks, tasks.c.run_id == runs.c.id)
        .where(below, runs.c.result.is_not(None))
    )
    rows = {row.id: row for row in connection.execute(ended) if row.id in scored}
    found: dict[str, list[Trial]] = defaultdict(list)
    for cell in plan.cells():
        row = rows.get(cell.run_id(bench_id))
        if row is None:
            continue
        told = read_history(Result.model_validate_json(read_blob(connection, row.result)))
        if told is not None:
            found[cell.label].append(Trial(cell.task_id, row.cluster, told, scored[row.id], cell.epoch))
    return dict(found)


def evolution_row(label: str, trials: Sequence[Trial], *, scorer: str, seed: int) -> EvolutionRow:
    """The figures of one system's ``trials``, of which there must be one, by the scores of ``scorer``."""
    rounds = [(trial, item) for trial in trials for item in trial.history.rounds]
    tried = [(trial, item) for trial, item in rounds if item.origin is not None]
    after = [item for trial, item in tried if item.index != trial.history.tried[0].index]

    def mean(values: Sequence[float], of: Sequence[Trial]) -> Estimate:
        return estimate(values, clusters=[trial.cluster for trial in of], seed=seed, resamples=_RESAMPLES)

    steps = []
    for index in range(max(item.index for _, item in rounds) + 1):
        have = [trial for trial in trials if index in trial.scores]
        steps.append(
            Step(
                index=index,
                candidates=len(have),
                raw=mean([trial.scores[index] for trial in have], have),
                ranked=mean([trial.ranked(index) for trial in trials], trials),
            )
        )
    return EvolutionRow(
        label=label,
        scorer=scorer,
        cells=len(trials),
        steps=tuple(steps),
        last=mean([trial.last for trial in trials], trials),
        chosen=mean([trial.chosen for trial in trials], trials),
        oracle=mean([trial.oracle for trial in trials], trials),
        kinds=tuple(_kinds(tried)),
        restarts=sum(item.origin == "restart" for item in after) / len(after) if after else None,
        spent=len(rounds) - len(tried),
        live=sum(item.live for _, item in tried),
        inherited=sum(item.inherited for _, item in tried),
        meta=sum(item.meta for _, item in rounds),
        judge=sum(item.judge for _, item in rounds),
        agreement=_agreement(tried),
    )


def kind_of(item: Round) -> str:
    """What a round is counted under."""
    return " + ".join(item.edits) if item.origin == "edit" else str(item.origin)


def gain(trial: Trial, item: Round) -> float | None:
    """By how much the true score of a round's candidate differs from its parent's; ``None`` where one of them has none."""
    if item.parent is None or not {item.index, item.parent} <= trial.scores.keys():
        return None
    return trial.scores[item.index] - trial.scores[item.parent]


def _kinds(tried: Sequence[tuple[Trial, Round]]) -> Iterator[Kind]:
    by_kind: dict[str, list[tuple[Trial, Round]]] = defaultdict(list)
    for trial, item in tried:
        by_kind[kind_of(item)].append((trial, item))
    order = Counter({kind: len(members) for kind, members in by_kind.items()})
    for kind, number in sorted(order.items(), key=lambda entry: (entry[0] != "initial", -entry[1], entry[0])):
        members = by_kind[kind]
        gains = [found for trial, item in members if (found := gain(trial, item)) is not None]
        yield Kind(
            kind=kind,
            rounds=number,
            live=sum(item.live for _, item in members),
            inherited=sum(item.inherited for _, item in members),
            affected=sum(item.affected for _, item in members) / number,
            better=sum(found > 0 for found in gains),
            worse=sum(found < 0 for found in gains),
            judged_better=sum((judged_gain(trial, item) or 0) > 0 for trial, item in members),
        )


def judged_gain(trial: Trial, item: Round) -> int | None:
    """By how much the judge's quality of a round's candidate differs from its parent's; ``None`` where one of them has none."""
    parent = next((other for other in trial.history.rounds if other.index == item.parent), None)
    if item.verdict is None or parent is None or parent.verdict is None:
        return None
    return item.verdict.quality_score - parent.verdict.quality_score


def _agreement(tried: Sequence[tuple[Trial, Round]]) -> float | None:
    pairs = [
        (item.verdict.quality_score, trial.scores[item.index])
        for trial, item in tried
        if item.verdict is not None and item.index in trial.scores
    ]
    return spearman([mark for mark, _ in pairs], [score for _, score in pairs])
