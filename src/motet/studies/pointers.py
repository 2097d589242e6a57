"""``pointers``: what it brings a reader that seldom asks by itself, if the hub says which note bears on what it is doing; and how well reads are aimed.

A read is right if the steps that it looks behind opened a page of the shortest path. A note was worth reading for a peer if it was shown the note, and the steps behind opened a page of
the path that the peer itself had not.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import sqlalchemy as sa
from pydantic import JsonValue

from motet.bench.scoring.statistics import ratio
from motet.fugue.reading import NAME as READ
from motet.fugue.reading import behind
from motet.store.schema import events
from motet.store.store import read_blob
from motet.studies.findings import Cell, Findings, Grid, Mean, columns
from motet.studies.journal import Story, pages_of, read_stories
from motet.studies.revisits import paths_of
from motet.studies.study import Bench, Setup, Variant
from motet.studies.teams import (
    AVG,
    PASS,
    TeamStudy,
    Work,
    difference,
    difference_plot,
    read_works,
    score_table,
    scored,
    verdict,
    work_table,
)

OFF, ON, UNREAD = "without pointers", "with pointers", "notes only"
SHY = "scripted:searcher-shy"


class Pointers(TeamStudy):
    """The study. On the synthetic web, unless another model is named, peers are those that seldom ask."""

    name: ClassVar[str] = "pointers"
    question: ClassVar[str] = "Does a weak reader gain by being told which note to read, and are reads well aimed?"
    tasks: ClassVar[int] = 40
    labels: ClassVar[tuple[str, ...]] = (OFF, ON, UNREAD)

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """``OFF`` first, with which the others are compared."""
        own: dict[str, JsonValue] = {} if "peers" in setup.settings else {"peers": 4}
        if setup.benchmark == "synthweb" and "model" not in setup.settings:
            own["model"] = SHY
        common = self.common(setup, **own)
        return (
            Variant(OFF, "fugue", {**common, "visibility": "notes+read", "pointers": False}),
            Variant(ON, "fugue", {**common, "visibility": "notes+read", "pointers": True}),
            Variant(UNREAD, "fugue", {**common, "visibility": "notes"}),
        )

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Scores, what pointers add, and precision and recall of reads."""
        bench = benches[0]
        works = read_works(bench)
        shown = (AVG, "majority", "confident", PASS)
        gains = {
            label: {rule: difference(works[OFF], works[label], scored(rule), seed=bench.plan.seed) for rule in shown}
            for label in (ON, UNREAD)
        }
        rows: list[tuple[Cell, ...]] = [(label, *found.values(), verdict(found[AVG])) for label, found in gains.items()]
        return self.findings(
            benches,
            tables=[
                score_table(works, bench),
                Grid(
                    title=f"More than {OFF}",
                    columns=columns("variant", *shown, f"more, by {AVG}", points=shown),
                    rows=tuple(rows),
                    about="Points with 95 % intervals on the same tasks.",
                ),
                _aim(bench, works),
                work_table(works, bench),
            ],
            plots=[
                difference_plot(f"More than {OFF}", [(label, found[AVG]) for label, found in gains.items()], y=f"{AVG}, points (bars: 95 % interval)")
            ],
        )  # fmt: skip


class Aim(NamedTuple):
    """The reads of one team: how many there were and were right; how many pairs of peer and note were worth a read, and were read."""

    reads: int
    right: int
    worth: int
    found: int


def aimed(story: Story, path: Collection[str], shown: Mapping[str, Collection[str]]) -> Aim:
    """How well the reads of a team were aimed. ``path`` has the pages that lead to the answer, ``shown`` the notes that each peer was shown."""
    telling = {note.id.removesuffix("r"): pages_of(story, note) & set(path) for _, note in story.notes}
    asked: dict[str, set[str]] = defaultdict(set)
    reads = right = 0
    for call in story.calls:
        refs = call.arguments.get("refs")
        if call.tool != READ or call.error or not isinstance(refs, list):
            continue
        chosen = behind([str(ref) for ref in refs])
        reads += 1
        right += any(telling.get(ref) for ref in chosen)
        asked[call.peer].update(chosen)
    worth = found = 0
    for place, note in story.notes:
        for peer, notes in shown.items():
            opened = {call.page for call in story.calls if call.peer == peer and call.place < place}
            if note.peer != peer and note.id in notes and telling[note.id.removesuffix("r")] - opened:
                worth += 1
                found += note.id.removesuffix("r") in asked[peer]
    return Aim(reads, right, worth, found)


def read_shown(connection: sa.Connection, run_ids: Sequence[str]) -> dict[str, dict[str, set[str]]]:
    """The notes that each peer of each run was shown, whole or by their titles."""
    found: dict[str, dict[str, set[str]]] = {run_id: defaultdict(set) for run_id in run_ids}
    for run_id in run_ids:
        told = sa.select(events.c.payload).where(events.c.run_id == run_id, events.c.kind == "fugue.heard")
        for row in connection.execute(told):
            payload = json.loads(row.payload)
            if "blob" in payload:
                payload = json.loads(read_blob(connection, payload["blob"]))
            found[run_id][payload["peer"]].update([*payload["notes"], *payload["titles"]])
    return found


def _heard(
    run_ids: Sequence[str], connection: sa.Connection
) -> tuple[dict[str, Story], dict[str, dict[str, set[str]]]]:
    return read_stories(connection, run_ids), read_shown(connection, run_ids)


def _pointed(run_ids: Sequence[str], connection: sa.Connection) -> int:
    """How many pointers the peers of some runs were given."""
    counted = sa.select(sa.func.count()).where(events.c.run_id.in_(run_ids), events.c.kind == "fugue.pointed")
    return int(connection.execute(counted).scalar_one())


def _aim(bench: Bench, works: Mapping[str, Sequence[Work]]) -> Grid:
    path = paths_of(bench)
    rows: list[tuple[Cell, ...]] = []
    for label in (OFF, ON):
        stories, shown = bench.store.read_now(partial(_heard, [work.run_id for work in works[label]]))
        known = [(work, path(work.team.task_id)) for work in works[label]]
        aims = [(work, aimed(stories[work.run_id], way, shown[work.run_id])) for work, way in known if way is not None]
        clusters = [work.cluster for work, _ in aims]

        def share(
            part: str, whole: str, aims: Sequence[tuple[Work, Aim]] = aims, clusters: Sequence[str] = clusters
        ) -> Mean:
            parts, wholes = ([float(getattr(aim, key)) for _, aim in aims] for key in (part, whole))
            return Mean.of(ratio(parts, wholes, clusters=clusters, seed=bench.plan.seed))

        rows.append(
            (
                label,
                bench.store.read_now(partial(_pointed, [work.run_id for work in works[label]])),
                sum(aim.reads for _, aim in aims),
                share("right", "reads"),
                sum(aim.worth for _, aim in aims),
                share("found", "worth"),
            )
        )
    names = ("variant", "pointers", "reads", "precision", "worth reading", "recall")
    return Grid(
        title="Aim of reads",
        columns=columns(*names, count=("pointers", "reads", "worth reading"), percent=("precision", "recall")),
        rows=tuple(rows),
        about="Precision: reads that looked behind steps with a page of the shortest path. Recall: notes that a peer was shown, with such a page that it had not opened, that it then asked behind. 95 % intervals.",
    )
