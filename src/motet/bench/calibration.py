"""The calibration of a bench's systems, from the confidence that the details of its stored scores tell.

A benchmark takes part by putting ``confidence``, in 0..1, and ``confidence_stated`` into the details of its headline score, which must be right or wrong.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import sqlalchemy as sa

from motet.bench.benchmark import JUDGE_FAILED
from motet.bench.plan import Plan
from motet.bench.scoring.calibration import BIN, calibration_error
from motet.store.schema import runs, scores


@dataclass(frozen=True)
class Calibration:
    """One system's calibration over ``n`` answers, ``unstated`` of which came without a confidence. ``error``, ``confidence`` (the mean) and ``right`` are in 0..1."""

    n: int
    unstated: int
    error: float
    confidence: float
    right: float


def read_calibration(connection: sa.Connection, bench_id: str, scorer: str) -> dict[str, Calibration]:
    """The calibration of each system that gave answers with a confidence, by its label. Answers that a judge failed to judge are left out."""
    query = (
        sa.select(runs.c.system, scores.c.correct, scores.c.details)
        .join(runs, runs.c.id == scores.c.run_id)
        .where(runs.c.parent == bench_id, runs.c.status != "running", scores.c.scorer == scorer)
        .where(scores.c.details.contains('"confidence":'))
    )
    answers: dict[str, list[tuple[float, bool, bool]]] = defaultdict(list)
    for label, correct, text in connection.execute(query):
        details = json.loads(text)
        confidence = details.get("confidence")
        usable = isinstance(confidence, int | float) and not isinstance(confidence, bool) and 0 <= confidence <= 1
        if usable and correct is not None and JUDGE_FAILED not in details:
            answers[label].append((float(confidence), bool(correct), bool(details.get("confidence_stated", True))))
    found: dict[str, Calibration] = {}
    for label, rows in answers.items():
        confidences, rights, stated = zip(*rows, strict=True)
        error = calibration_error(confidences, rights)
        assert error is not None
        found[label] = Calibration(len(rows), stated.count(False), error, fmean(confidences), fmean(rights))
    return found


def calibration_notes(connection: sa.Connection, bench_id: str, plan: Plan, scorer: str) -> Iterator[str]:
    """A line for each of the plan's systems of which there is something to say."""
    found = read_calibration(connection, bench_id, scorer)
    for entry in plan.systems:
        row = found.get(entry.label)
        if row is None:
            continue
        bins = max(row.n // BIN, 1)
        unstated = f"; {row.unstated} of them stated none, which counts as 100 %" if row.unstated else ""
        yield (
            f"{entry.label}: RMS calibration error {100 * row.error:.1f} points over {row.n:,} answers in {bins} {'bin' if bins == 1 else 'bins'} "
            f"(mean confidence {100 * row.confidence:.1f} %, right {100 * row.right:.1f} %){unstated}"
        )
