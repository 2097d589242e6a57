"""``locality``: whether an edit that reaches little of a team improves it as well as one that reaches much, and whether the judge can tell.

An edit's affected share is the share of nodes that it could change: those that it touches and all that read them, directly or not. An edit is local where that is at
most one half. It improves where the candidate's true score is above that of the one it was made from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from motet.bench.scoring.statistics import rank_correlation
from motet.studies.figures import Changed, change, changes, rate, scores
from motet.studies.findings import Cell, Findings, Grid, Mean, Plot, Point, Series, columns
from motet.studies.study import Bench, Setup, Study, Variant

LOCAL = 0.5
PAPER = 0.30  # Inherit-MAS, "Limitations": about this share of improving edits is strictly local
_SHARES = (0.25, 0.5, 0.75, 1.0)  # the upper ends of the table's rows


class Locality(Study):
    """The study."""

    name: ClassVar[str] = "locality"
    question: ClassVar[str] = "Do edits that reach little of a team improve it, and does the judge see which do?"
    tasks: ClassVar[int] = 90
    labels: ClassVar[tuple[str, ...]] = ("inherit",)

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """``inherit`` as it is."""
        return (Variant("inherit", "inherit", {}),)

    def find(self, benches: Sequence[Bench]) -> Findings:
        """The distribution of affected shares with what came of the edits, the local share, and rank correlations."""
        bench = benches[0]
        edits = list(changes(bench.trials.get("inherit", ())))
        seed = bench.plan.seed
        return self.findings(
            benches,
            tables=[
                local_edits(edits, seed=seed),
                by_share(edits, seed=seed),
                _correlations(edits, seed=seed),
                scores(bench),
            ],
            plots=[
                _scatter(edits, "affected share", bench.report.headline, [edit.affected for edit in edits]),
                _scatter(
                    [edit for edit in edits if edit.judged is not None],
                    "change of the judge's mark",
                    bench.report.headline,
                    [edit.judged for edit in edits if edit.judged is not None],
                ),
            ],
            notes=[
                "an edit is local where it can reach at most half of the nodes; restarts are no edits, and are left out"
            ],
        )


def local_edits(edits: Sequence[Changed], *, seed: int) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for name, members in (
        ("all edits", edits),
        ("edits that improve", [edit for edit in edits if edit.gain > 0]),
        ("edits that make worse", [edit for edit in edits if edit.gain < 0]),
    ):
        local = [edit.affected <= LOCAL for edit in members]
        share = rate(local, [edit.cluster for edit in members], seed=seed)
        rows.append((name, len(members), sum(local), share, PAPER if name == "edits that improve" else None))
    names = ("", "edits", "local", "share that is local", "paper, about")
    return Grid(
        title="Local edits",
        columns=columns(*names, count=("edits", "local"), percent=names[3:]),
        rows=tuple(rows),
        about="Local: at most half of the nodes can be reached by the edit.",
    )


def by_share(edits: Sequence[Changed], *, seed: int) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for low, high in zip((0.0, *_SHARES), _SHARES, strict=False):
        members = [edit for edit in edits if low < edit.affected <= high]
        clusters = [edit.cluster for edit in members]
        judged = [edit for edit in members if edit.judged is not None]
        rows.append(
            (
                f"{100 * low:.0f}–{100 * high:.0f} %",
                len(members),
                sum(edit.gain > 0 for edit in members),
                sum(edit.gain < 0 for edit in members),
                change([edit.gain for edit in members], clusters, seed=seed),
                change([(edit.judged or 0) / 100 for edit in judged], [edit.cluster for edit in judged], seed=seed),
            )
        )
    names = ("affected share", "edits", "better", "worse", "true change", "judge's change")
    return Grid(
        title="Edits by affected share",
        columns=columns(*names, count=names[1:4], points=names[4:]),
        rows=tuple(rows),
        about="Each row without its lower end and with its upper one; mean changes in points, of the true score and of the judge's mark.",
    )


def _correlations(edits: Sequence[Changed], *, seed: int) -> Grid:
    judged = [edit for edit in edits if edit.judged is not None]
    rows: list[tuple[Cell, ...]] = []
    for name, members, values in (
        ("affected share with true change", edits, [edit.affected for edit in edits]),
        ("affected share with judge's change", judged, [edit.affected for edit in judged]),
        ("judge's change with true change", judged, [float(edit.judged or 0) for edit in judged]),
    ):
        others = [
            float(edit.judged or 0) if name.startswith("affected share with judge") else edit.gain for edit in members
        ]
        clusters = [edit.cluster for edit in members]
        found = rank_correlation(values, others, clusters=clusters, seed=seed)
        rows.append((name, found.n, found.clusters, Mean.of(found)))
    names = ("", "edits", "clusters", "rank correlation")
    return Grid(
        title="Rank correlations",
        columns=columns(*names, count=("edits", "clusters"), decimal=("rank correlation",)),
        rows=tuple(rows),
        about="Spearman's, with intervals from seeded resamples of whole clusters.",
    )


def _scatter(edits: Sequence[Changed], what: str, headline: str, values: Sequence[float | int | None]) -> Plot:
    """The true change of each edit against ``values``; equal points are one, the larger the more there are."""
    counted = Counter(
        (float(value), 100 * edit.gain) for value, edit in zip(values, edits, strict=True) if value is not None
    )
    points = tuple(Point(x=x, y=y, weight=number) for (x, y), number in sorted(counted.items()))
    return Plot(
        title=f"True change against {what}",
        x=f"{what} of an edit",
        y=f"change of {headline}, points",
        kind="points",
        series=(Series(name="", points=points),),
    )
