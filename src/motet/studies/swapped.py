"""``swapped``: a negative control. If what teammates share is worth anything, notes on another task must be worth nothing.

The first bench has teams that share notes, teams whose notes stay their own, and best-of-N. In the second, teams are the same as those that share notes, but whatever a teammate
wrote is shown to others as what a note of the first bench says on another task. Their own notes, what the hub writes and what it costs stay as they are. Disputes are off in both,
since marks would point at claims that nobody was shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import sqlalchemy as sa
from pydantic import Field, JsonValue

from motet.bench.plan import Entry, Plan
from motet.fugue.note import Note, Writing
from motet.fugue.system import Fugue
from motet.fugue.team import Team
from motet.runs.run import Run
from motet.store.store import Store
from motet.studies.findings import Cell, Findings, Grid, Mean, columns
from motet.studies.journal import read_inputs
from motet.studies.study import Bench, Setup, Variant
from motet.studies.teams import (
    AVG,
    PASS,
    TeamStudy,
    Work,
    difference,
    difference_plot,
    read_works,
    rules_of,
    score_table,
    scored,
    verdict,
    work_table,
)
from motet.systems import build, describe
from motet.task import Result, Task

ISOLATED, PRIVATE, NOTES, FOREIGN = "best-of-n", "private", "notes", "swapped"


class SwappedNotes(Fugue):
    """A ``fugue`` whose peers are shown notes on other tasks: ``foreign`` says for each task the run whose notes are taken."""

    foreign: dict[str, str] = Field(default_factory=dict)

    @property
    def name(self) -> str:
        """``swapped-notes``."""
        return "swapped-notes"

    async def solve(self, task: Task, *, run: Run) -> Result:
        """As the team would, but for what it is told."""
        team: Team = self.team(task, run=run)
        source = self.foreign.get(task.id)
        if team.hub is not None and source is not None:
            team.hub.foreign = await run.store.read(lambda connection: read_writings(connection, source))
        return await team.work()


class Swapped(TeamStudy):
    """The study."""

    name: ClassVar[str] = "swapped"
    question: ClassVar[str] = "Is it what notes say that helps a team, or would any notes do?"
    tasks: ClassVar[int] = 40
    labels: ClassVar[tuple[str, ...]] = ()

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """Best-of-N first, with which the others are compared."""
        common = self.common(setup, dispute=False)
        peers: dict[str, JsonValue] = {} if "peers" in setup.settings else {"peers": 4}
        seen = {ISOLATED: "isolated", PRIVATE: "private", NOTES: "notes"}
        return tuple(Variant(label, "fugue", {**common, **peers, "visibility": how}) for label, how in seen.items())

    def go_on(self, benches: Sequence[Bench]) -> Plan | None:
        """Teams that share notes once more, with the notes of the first bench's teams on other tasks."""
        first = benches[0]
        if len(benches) > 1:
            return None
        entry = next(entry for entry in first.plan.systems if entry.label == NOTES)
        foreign = partners(read_works(first)[NOTES], first.store)
        system = build(
            f"{SwappedNotes.__module__}:{SwappedNotes.__qualname__}", {**(entry.config or {}), "foreign": foreign}
        )
        described = describe(system)
        again = Entry.model_validate({"label": FOREIGN, **described})
        return first.plan.model_copy(update={"systems": (again,)})

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Scores of all four, and what notes add and foreign notes do not."""
        works = {label: some for bench in benches for label, some in read_works(bench).items()}
        bench = benches[0]
        rows = _compared(works, bench)
        return self.findings(
            benches,
            tables=[_table(rows, bench), score_table(works, bench), work_table(works, bench)],
            plots=[
                difference_plot(
                    f"What is gained, {AVG}",
                    [(f"{label} − {base}", figures[AVG]) for label, base, figures in rows],
                    y=f"{bench.report.headline}, points (bars: 95 % interval)",
                )
            ],
        )


def partners(works: Sequence[Work], store: Store) -> dict[str, str]:
    """For each task the run of another one, of another cluster if there is one, whose team wrote notes: the next such in turn, beginning half way round."""

    def writes(work: Work) -> bool:
        return bool(store.read_now(lambda connection: read_writings(connection, work.run_id)))

    written = list(filter(writes, works))
    found: dict[str, str] = {}
    for place, work in enumerate(works):
        turn = [*works[place + 1 :], *works[:place]]
        half = len(turn) // 2
        others = [
            other
            for other in (*turn[half:], *turn[:half])
            if other in written and other.team.task_id != work.team.task_id
        ]
        apart = [other for other in others if other.cluster != work.cluster]
        chosen = next(iter([*apart, *others]), None)
        if chosen is not None:
            found.setdefault(work.team.task_id, chosen.run_id)
    return found


def read_writings(connection: sa.Connection, run_id: str) -> list[Writing]:
    """What the notes of a run say, in the order in which they came."""
    rows = read_inputs(connection, [run_id], "note ")
    notes = [value["note"] for _, value in rows if isinstance(value, dict) and "note" in value]
    return [Note.model_validate(note).writing for note in notes]


def _compared(works: Mapping[str, Sequence[Work]], bench: Bench) -> list[tuple[str, str, dict[str, Mean]]]:
    pairs = ((NOTES, ISOLATED), (NOTES, PRIVATE), (FOREIGN, ISOLATED), (FOREIGN, PRIVATE), (NOTES, FOREIGN))
    return [
        (
            label,
            base,
            {
                rule: difference(works[base], works[label], scored(rule), seed=bench.plan.seed)
                for rule in rules_of(works)
            },
        )
        for label, base in pairs
        if label in works and base in works
    ]


def _table(rows: Sequence[tuple[str, str, Mapping[str, Mean]]], bench: Bench) -> Grid:
    shown = (AVG, "majority", PASS)
    cells: list[tuple[Cell, ...]] = [
        (label, base, *(figures[rule] for rule in shown), verdict(figures[AVG])) for label, base, figures in rows
    ]
    return Grid(
        title="What notes are worth",
        columns=columns("teams", "more than", *shown, f"more, by {AVG}", points=shown),
        rows=tuple(cells),
        about=f"{bench.report.headline}, points with 95 % intervals on the same tasks. The control holds where swapped is not above best-of-N and notes are above swapped.",
    )
