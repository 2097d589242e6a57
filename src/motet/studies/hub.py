"""``hub``: how much the hub's model may see, how much a peer's context holds before it is written down, and whether that adapts.

One thing is changed at a time. A small window cuts an episode before it is read; a large write budget shares late, and puts much into one note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic import Field, JsonValue

from motet.studies.figures import point
from motet.studies.findings import Cell, Findings, Grid, Plot, Series, columns
from motet.studies.study import Bench, Setup, Variant
from motet.studies.teams import AVG, TeamStudy, Work, over_tasks, read_works, score_table, scored, setting, work_table

BASE = "base"


class HubSizes(TeamStudy):
    """The study. ``hub_windows`` and ``close_at`` are in tokens."""

    name: ClassVar[str] = "hub"
    question: ClassVar[str] = (
        "How large should the hub's window and the peers' write budget be, and does it help if that adapts?"
    )
    tasks: ClassVar[int] = 20
    labels: ClassVar[tuple[str, ...]] = (BASE,)

    hub_windows: tuple[int, ...] = Field(default=(2100, 2600, 3500, 8000), min_length=1)
    close_at: tuple[int, ...] = Field(default=(750, 3000, 6000, 12_000), min_length=1)

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """The base, with which the others are compared, and one change to it in each of the others."""
        peers: dict[str, JsonValue] = {} if "peers" in setup.settings else {"peers": 4}
        base = self.common(setup, visibility="notes+read", **peers)
        room = base.get("room", {})
        assert isinstance(room, dict)
        variants = [Variant(BASE, "fugue", base)]
        variants += [
            Variant(f"window {size}", "fugue", {**base, "hub_window": size}) for size in dict.fromkeys(self.hub_windows)
        ]
        for size in dict.fromkeys(self.close_at):
            sized = {**room, "close_at": size, "keep": size // 3}
            variants.append(Variant(f"close at {size}", "fugue", {**base, "room": sized}))
        # Where no step is large nothing is to be adapted to: the limit is brought near.
        tight: dict[str, JsonValue] = {"close_at": 6000, "keep": 2000, "notes": 2000, "hard": 8000}
        variants.append(Variant("tight", "fugue", {**base, "room": tight}))
        variants.append(Variant("tight, adaptive", "fugue", {**base, "room": {**tight, "adaptive": True}}))
        return tuple(variants)

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Scores and work of each, and what became of notes."""
        bench = benches[0]
        works = read_works(bench)
        return self.findings(
            benches,
            tables=[score_table(works, bench), _notes(bench, works), work_table(works, bench)],
            plots=[
                _plot(bench, works, "window", "hub_window", "tokens that the hub's model is shown"),
                _plot(bench, works, "close at", "close_at", "raw tokens that close an episode"),
            ],
        )


def _notes(bench: Bench, works: Mapping[str, Sequence[Work]]) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for label, some in works.items():
        peers = [peer for work in some for peer in work.team.history.peers]
        n = max(len(some), 1)
        written = sum(peer.notes for peer in peers)
        rows.append(
            (
                label,
                sum(peer.closes for peer in peers) / n,
                written / n,
                sum(peer.degraded for peer in peers) / n,
                sum(peer.refused for peer in peers) / n,
                sum(work.hub for work in some) / written if written else None,
                over_tasks(some, scored(AVG), seed=bench.plan.seed),
            )
        )
    names = ("variant", "closes", "notes", "by rule", "refused claims", "hub tokens per note", AVG)
    return Grid(
        title="Notes per task",
        columns=columns(*names, times=names[1:5], count=names[5:6], percent=names[6:]),
        rows=tuple(rows),
        about="By rule: at the hard limit, where the hub's note was late or failed. Hub tokens are of writes and reads.",
    )


def _plot(bench: Bench, works: Mapping[str, Sequence[Work]], kind: str, key: str, told: str) -> Plot:
    found: list[tuple[int, str]] = []
    for entry in bench.plan.systems:
        room = setting(entry, "room")
        size = setting(entry, key) if key == "hub_window" else room.get(key) if isinstance(room, dict) else None
        if (entry.label.startswith(kind) or entry.label == BASE) and isinstance(size, int) and works[entry.label]:
            found.append((size, entry.label))
    points = tuple(
        point(size, over_tasks(works[label], scored(AVG), seed=bench.plan.seed), scale=100)
        for size, label in sorted(found)
    )
    return Plot(
        title=f"{AVG} by {told}",
        x=told,
        y=f"{bench.report.headline}, %",
        kind="lines",
        series=(Series(name="", points=points),),
    )
