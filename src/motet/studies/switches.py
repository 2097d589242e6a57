"""``switches``: what each part of ``inherit`` is worth, by leaving it out or doing more of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import JsonValue

from motet.studies.figures import moves, ranked_curves, score_rows, scores
from motet.studies.findings import Cell, Findings, Grid, columns
from motet.studies.study import Bench, Setup, Study, Variant

# What each variant sets, and no more: everything else is as the user has it.
VARIANTS: Mapping[str, Mapping[str, JsonValue]] = {
    "full": {},
    "no-select": {"select": False},
    "edit-only": {"select": False, "restart": "never"},
    "two-edits": {"edits": 2},
    "redesign": {"refine": "redesign"},
    "no-inheritance": {"inherit": False},
}

_KINDS = 12  # of a variant that are told apart


class Switches(Study):
    """The study."""

    name: ClassVar[str] = "switches"
    question: ClassVar[str] = (
        "What are Select, restarts, single edits, and inheriting instead of designing anew, each worth?"
    )
    tasks: ClassVar[int] = 30
    labels: ClassVar[tuple[str, ...]] = tuple(VARIANTS)

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """``full`` first, with which the others are compared."""
        return tuple(Variant(label, "inherit", settings) for label, settings in VARIANTS.items())

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Scores and tokens, what each round gained and lost, and what each kind of edit did."""
        bench = benches[0]
        return self.findings(
            benches,
            tables=[scores(bench), gained_and_lost(bench), better_and_worse(bench)],
            plots=[score_rows(bench), ranked_curves(bench)],
        )


def gained_and_lost(bench: Bench) -> Grid:
    """What would be chosen after each round against what would have been chosen before it, a row for each variant and round."""
    rows: list[tuple[Cell, ...]] = []
    for label, trials in bench.trials.items():
        for move in moves(trials):
            first = move.round == 0
            rows.append(
                (
                    label if first else "",
                    move.round,
                    move.gained,
                    None if first else move.lost,
                    move.change / len(trials),
                    sum(trial.ranked(move.round) for trial in trials) / len(trials),
                )
            )
    names = ("variant", "round", "gained", "lost", "change", "score after it")
    return Grid(
        title="Tasks gained and lost per round",
        columns=columns(*names, count=("round", "gained", "lost"), points=("change",), percent=("score after it",)),
        rows=tuple(rows),
        about="Tasks whose score rose or fell, if what is chosen after the round is compared with what was chosen before it; round 0 is compared with nothing.",
    )


def better_and_worse(bench: Bench) -> Grid:
    """Candidates that are truly better or worse than the one they were made from, by what was done to it; the rarer kinds of a variant are one row."""
    rows: list[tuple[Cell, ...]] = []
    for row in bench.report.evolutions:
        kinds = [kind for kind in row.kinds if kind.kind != "initial"]
        groups = [(kind.kind, [kind]) for kind in kinds[:_KINDS]]
        if len(kinds) > _KINDS:
            groups.append((f"{len(kinds) - _KINDS} other kinds", kinds[_KINDS:]))
        for place, (name, members) in enumerate(groups):
            rounds, better, worse = (
                sum(getattr(kind, field) for kind in members) for field in ("rounds", "better", "worse")
            )
            inherited = sum(kind.inherited for kind in members)
            whole = inherited + sum(kind.live for kind in members)
            rows.append(
                (
                    row.label if not place else "",
                    name,
                    rounds,
                    better,
                    worse,
                    rounds - better - worse,
                    inherited / whole if whole else None,
                )
            )
    names = ("variant", "kind of round", "rounds", "better", "worse", "neither", "inherited")
    return Grid(
        title="Candidates beside their parents, by kind of edit",
        columns=columns(*names, count=names[2:6], percent=names[6:]),
        rows=tuple(rows),
        about="By the true score; inherited is the share of worker tokens.",
    )
