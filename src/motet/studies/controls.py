"""``controls``: what peers share, and how, against other ways of sharing: answers in turns, raw steps, stored notes, notes, and notes that can be questioned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import JsonValue

from motet.studies.findings import Cell, Findings, Grid, columns
from motet.studies.study import Bench, Setup, Variant
from motet.studies.teams import (
    AVG,
    PASS,
    TeamStudy,
    difference,
    difference_plot,
    read_works,
    score_table,
    scored,
    verdict,
    work_table,
)

BASE = "notes+read"


class Controls(TeamStudy):
    """The study."""

    name: ClassVar[str] = "controls"
    question: ClassVar[str] = (
        "Do notes that can be questioned do more than debate, broadcast, notes alone or stored notes?"
    )
    tasks: ClassVar[int] = 40
    labels: ClassVar[tuple[str, ...]] = (BASE, "retrieve", "notes", "broadcast", "debate", "best-of-n")

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """``notes+read`` first, with which the others are compared."""
        peers: dict[str, JsonValue] = {} if "peers" in setup.settings else {"peers": 4}
        own: dict[str, tuple[str, dict[str, JsonValue]]] = {
            BASE: ("fugue", {"visibility": "notes+read"}),
            "retrieve": ("fugue", {"visibility": "notes+read", "synthesis": False}),
            "notes": ("fugue", {"visibility": "notes"}),
            "broadcast": ("fugue", {"visibility": "broadcast"}),
            "debate": ("debate", {}),
            "best-of-n": ("best-of-n", {}),
        }
        return tuple(
            Variant(label, system, self.common(setup, **peers, **settings)) for label, (system, settings) in own.items()
        )

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Scores, what notes+read does more than each, and what each takes."""
        bench = benches[0]
        works = read_works(bench)
        shown = (AVG, "majority", "confident", PASS)
        more = {
            label: {rule: difference(works[label], works[BASE], scored(rule), seed=bench.plan.seed) for rule in shown}
            for label in works
            if label != BASE
        }
        rows: list[tuple[Cell, ...]] = [(label, *found.values(), verdict(found[AVG])) for label, found in more.items()]
        table = Grid(
            title=f"{BASE} against",
            columns=columns("control", *shown, f"more, by {AVG}", points=shown),
            rows=tuple(rows),
            about=f"How much more {BASE} scores, in points with 95 % intervals on the same tasks.",
        )
        plot = difference_plot(
            f"{BASE} against",
            [(label, found[AVG]) for label, found in more.items()],
            y=f"{bench.report.headline}, {AVG}, points more",
        )
        return self.findings(benches, tables=[score_table(works, bench), table, work_table(works, bench)], plots=[plot])
