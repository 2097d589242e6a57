"""``models``: what the score owes to the model of each role, by changing one role's model at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import JsonValue

from motet.errors import InputError
from motet.studies.figures import ranked_curves, score_rows, scores
from motet.studies.findings import Cell, Findings, Grid, columns
from motet.studies.study import Bench, Setup, Study, Variant

_STRENGTHS = ("0.5", "1", "2")  # of the scripted workers' mistakes


class Models(Study):
    """The study. ``worker_models``, ``meta_models`` and ``judge_models`` are tried one after the other, the other roles having the model of all.

    Without any, a scripted model's workers are tried at half, once and twice as many mistakes.
    """

    name: ClassVar[str] = "models"
    question: ClassVar[str] = (
        "How much does the score depend on the model of the workers, of the meta-model and of the judge?"
    )
    tasks: ClassVar[int] = 40

    worker_models: tuple[str, ...] = ()
    meta_models: tuple[str, ...] = ()
    judge_models: tuple[str, ...] = ()

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """A variant for each model of each role. Raises InputError where there is nothing to compare."""
        workers = self.worker_models
        if not (workers or self.meta_models or self.judge_models):
            if setup.model not in ("scripted:office", "scripted:scholar"):
                raise InputError(
                    "the study models compares models: name them with --worker-models, --meta-models or --judge-models A,B"
                )
            workers = tuple(f"{setup.model}@{factor}" for factor in _STRENGTHS)
        found: list[Variant] = []
        for role, names in (("worker", workers), ("meta", self.meta_models), ("judge", self.judge_models)):
            for name in dict.fromkeys(names):
                own: dict[str, JsonValue] = {f"{role}_model": name}
                found.append(Variant(f"{role}={name}", "inherit", own))
        if len(found) == 1:
            found.insert(0, Variant(f"all={setup.model}", "inherit", {}))
        return tuple(found)

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Scores, and what each variant's choices were worth."""
        bench = benches[0]
        return self.findings(
            benches, tables=[scores(bench), _choices(bench)], plots=[score_rows(bench), ranked_curves(bench)]
        )


def _choices(bench: Bench) -> Grid:
    rows: list[tuple[Cell, ...]] = [
        (
            row.label,
            row.steps[0].raw.value,
            row.last.value,
            row.chosen.value,
            row.oracle.value,
            None if row.oracle.value is None or row.chosen.value is None else row.oracle.value - row.chosen.value,
            row.agreement,
            row.restarts,
            row.spent,
        )
        for row in bench.report.evolutions
    ]
    names = (
        "variant",
        "first team",
        "last",
        "ranked",
        "oracle",
        "gap to oracle",
        "judge's rank correlation",
        "restarts",
        "rounds spent",
    )
    return Grid(
        title="Teams and the choice among them",
        columns=columns(
            *names,
            percent=("first team", "last", "ranked", "oracle", "restarts"),
            points=("gap to oracle",),
            decimal=("judge's rank correlation",),
            count=("rounds spent",),
        ),
        rows=tuple(rows),
    )  # fmt: skip
