"""Figures that several studies share: scores of variants side by side, what each round gained and lost, and edits with what they changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from motet.bench.evolution import Trial, gain, judged_gain, kind_of
from motet.bench.scoring.statistics import Estimate, estimate, paired_difference
from motet.studies.findings import Grid, Mean, Plot, Point, Series, columns
from motet.studies.study import Bench

_WIDE = 16  # letters of a variant's name in a column's head


def per_task(bench: Bench, label: str) -> float | None:
    """The tokens that a variant paid per task; ``None`` where no task has ended."""
    row = bench.system(label)
    return row.total.tokens / row.ended if row.ended else None


def scores(bench: Bench) -> Grid:
    """Each variant's score, how it differs from the first's on the same tasks, and what it cost."""
    first, headline = bench.report.systems[0], bench.report.headline
    delta = f"Δ to {first.label}" if len(first.label) < _WIDE else "Δ to the first"
    rows = []
    for row in bench.report.systems:
        tried = bench.evolution(row.label)
        rows.append(
            (
                row.label,
                row.scores[headline].n,
                Mean.of(row.scores[headline]),
                Mean.of(row.difference) if row.difference is not None else None,
                per_task(bench, row.label),
                tried.control if tried else None,
                tried.saved_worker if tried else None,
            )
        )
    return Grid(
        title="Scores",
        columns=columns(
            "variant", "n", headline, delta, "tokens per task", "control share", "inherited",
            count=("n", "tokens per task"),
            percent=(headline, "control share", "inherited"),
            points=(delta,),
        ),
        rows=tuple(rows),
        about=f"{headline} with 95 % intervals, and paired differences in points on the same tasks, in {first.scores[headline].clusters} clusters; tokens are what was paid, inherited is the share of worker tokens.",
    )  # fmt: skip


def score_rows(bench: Bench, *, title: str = "Score") -> Plot:
    """Each variant's score with its interval, a row each."""
    found = [(place, row.scores[bench.report.headline]) for place, row in enumerate(bench.report.systems)]
    points = tuple(point(place, score, scale=100) for place, score in found if score.value is not None)
    return Plot(
        title=title,
        x="",
        y=f"{bench.report.headline}, % (bars: 95 % interval)",
        kind="rows",
        series=(Series(name="", points=points),),
        ticks=tuple(row.label for row in bench.report.systems),
    )


def ranked_curves(bench: Bench) -> Plot:
    """The score of what would be chosen after each round, a line for each variant."""
    series = []
    for row in bench.report.evolutions:
        points = [point(step.index, step.ranked, scale=100) for step in row.steps if step.ranked.value is not None]
        series.append(Series(name=row.label, points=tuple(points)))
    return Plot(
        title="What would be chosen after each round",
        x="round",
        y=f"{bench.report.headline}, %",
        kind="lines",
        series=tuple(series),
    )


def point(x: float, score: Estimate | Mean, *, scale: float = 1.0, label: str = "") -> Point:
    """A figure, which must have a value, with its interval as a point at ``x``."""
    assert score.value is not None
    low, high = (None if end is None else scale * end for end in (score.low, score.high))
    return Point(x=x, y=scale * score.value, low=low, high=high, label=label)


class Moves(NamedTuple):
    """What a round did to the candidate that would be chosen: in how many cells its score rose and fell, and by how much all cells' scores changed together."""

    round: int
    gained: int
    lost: int
    change: float


def moves(trials: Sequence[Trial]) -> list[Moves]:
    """Every round of ``trials`` against the one before; the first against nothing at all."""
    last = max((item.index for trial in trials for item in trial.history.rounds), default=-1)
    found = []
    for index in range(last + 1):
        steps = [trial.ranked(index) - (trial.ranked(index - 1) if index else 0.0) for trial in trials]
        found.append(Moves(index, sum(step > 0 for step in steps), sum(step < 0 for step in steps), sum(steps)))
    return found


class Changed(NamedTuple):
    """A candidate that was edited from its parent: the share of nodes that the edits could reach, and by how much the true score and the judge's mark changed."""

    kind: str
    affected: float
    gain: float
    judged: int | None
    cluster: str


def changes(trials: Sequence[Trial]) -> Iterator[Changed]:
    """All edited candidates whose own score and whose parent's are known."""
    for trial in trials:
        for item in trial.history.tried:
            gained = gain(trial, item)
            if item.origin == "edit" and gained is not None:
                yield Changed(kind_of(item), item.affected, gained, judged_gain(trial, item), cluster_of(trial))


def cluster_of(trial: Trial) -> str:
    """What a cell's values are one piece of evidence with: its task's near-copies, or all rounds and epochs of its task."""
    return trial.cluster or trial.task_id


def rate(values: Sequence[bool], clusters: Sequence[str], *, seed: int) -> Mean:
    """The share of ``values`` that hold, with its interval."""
    return Mean.of(estimate([float(value) for value in values], clusters=clusters, seed=seed))


def change(values: Sequence[float], clusters: Sequence[str], *, seed: int) -> Mean:
    """The mean of differences with its interval."""
    return Mean.of(paired_difference([0.0] * len(values), values, clusters=clusters, seed=seed))
