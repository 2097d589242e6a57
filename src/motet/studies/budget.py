"""``budget``: every way of evolving teams at its own cost, and at the cost of ``inherit``.

The first bench (``native``) has no limit: each system does the rounds of its paper. In the second (``equal-budget``) no task may take more tokens than ``inherit`` took per task on
average in the first, ``inherit`` itself included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from motet.bench.evolution import published
from motet.bench.plan import Plan
from motet.models.model import Sampling
from motet.runs.budget import Budget
from motet.studies.figures import per_task, point
from motet.studies.findings import Cell, Findings, Grid, Mean, Plot, Series, columns
from motet.studies.study import Bench, Setup, Study, Variant

MODES = ("native", "equal-budget")
_SYSTEMS = ("inherit", "inherit-initial", "react", "evoagent", "evomas", "tacomas")


class EqualBudget(Study):
    """The study."""

    name: ClassVar[str] = "budget"
    question: ClassVar[str] = "What does each system reach for its tokens, and what at equal tokens?"
    tasks: ClassVar[int] = 15
    labels: ClassVar[tuple[str, ...]] = _SYSTEMS

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """``inherit`` first, with which the others are compared."""
        # An agent by itself leaves its decoding to the provider; among teams that decode greedily it does so too.
        alone = {} if "sampling" in setup.settings else {"sampling": Sampling(temperature=0.0).model_dump(mode="json")}
        return tuple(Variant(name, name, alone if name == "react" else {}) for name in _SYSTEMS)

    def go_on(self, benches: Sequence[Bench]) -> Plan | None:
        """The same again, within what ``inherit`` took; nothing where it took nothing."""
        spent = per_task(benches[0], "inherit")
        if len(benches) > 1 or not spent:
            return None
        return benches[0].plan.model_copy(update={"budget": Budget(tokens=round(spent))})

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Score and tokens of each system in both modes."""
        notes = []
        if len(benches) > 1:
            allowed = benches[1].plan.budget.tokens or 0
            notes.append(
                f"equal-budget: at most {allowed:,} tokens a task, what inherit took on average; before a call its prompt and longest reply are "
                "reserved, so that systems stop below it, with their best so far; smaller control_tokens and max_tokens bring them closer"
            )
        modes = list(zip(MODES, benches, strict=False))
        return self.findings(
            benches,
            tables=[_table(mode, bench, benches[0]) for mode, bench in modes],
            plots=[_plot(modes)],
            notes=notes,
        )


def _table(mode: str, bench: Bench, native: Bench) -> Grid:
    base = per_task(native, "inherit")
    paper = published(bench.plan.benchmark)
    headline = bench.report.headline
    rows: list[tuple[Cell, ...]] = []
    for row in bench.report.systems:
        spent = per_task(bench, row.label)
        told = paper.tokens.get(row.label) if paper and mode == MODES[0] else None
        rows.append(
            (
                row.label,
                row.scores[headline].n,
                Mean.of(row.scores[headline]),
                Mean.of(row.difference) if row.difference is not None else None,
                spent,
                spent / base if spent is not None and base else None,
                row.statuses.get("budget", 0),
                told,
            )
        )
    names = ("system", "n", headline, "Δ to inherit", "tokens per task", "× inherit", "stopped", "paper, ×")
    return Grid(
        title=mode,
        columns=columns(
            *names,
            count=("n", "tokens per task", "stopped"),
            percent=(headline,),
            points=("Δ to inherit",),
            times=("× inherit", "paper, ×"),
        ),
        rows=tuple(rows),
        about="Multiples of what inherit takes where nothing is limited; stopped: tasks that the budget ended.",
    )


def _plot(modes: Sequence[tuple[str, Bench]]) -> Plot:
    series = []
    for mode, bench in modes:
        points = []
        for row in bench.report.systems:
            score, spent = row.scores[bench.report.headline], per_task(bench, row.label)
            if score.value is not None and spent is not None:
                points.append(point(spent, score, scale=100, label=row.label))
        series.append(Series(name=mode, points=tuple(points)))
    return Plot(
        title="Score against tokens",
        x="tokens per task",
        y=f"{modes[0][1].report.headline}, % (bars: 95 % interval)",
        kind="points",
        series=tuple(series),
    )
