"""``revisits``: how much of what a team does was done before by one of it, by what peers are shown of each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar, NamedTuple

from pydantic import Field, JsonValue

from motet.bench.plan import open_benchmark
from motet.bench.synthweb import SyntheticWeb
from motet.fugue.visibility import Visibility
from motet.studies.findings import Cell, Findings, Grid, Mean, columns
from motet.studies.journal import Story, read_stories
from motet.studies.study import Bench, Setup, Variant
from motet.studies.teams import (
    AVG,
    TeamStudy,
    Work,
    difference,
    difference_plot,
    over_tasks,
    read_works,
    scored,
    work_table,
)


class Revisits(TeamStudy):
    """The study. The first setting is that with which the others are compared."""

    name: ClassVar[str] = "revisits"
    question: ClassVar[str] = "How much is explored twice, and does seeing what others ruled out make it less?"
    tasks: ClassVar[int] = 30

    visibility: tuple[Visibility, ...] = Field(
        default=("isolated", "private", "notes", "notes+read", "gated", "broadcast"), min_length=1
    )

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """A team for each setting."""
        peers: dict[str, JsonValue] = {} if "peers" in setup.settings else {"peers": 4}
        return tuple(
            Variant(seen, "fugue", self.common(setup, **peers, visibility=seen))
            for seen in dict.fromkeys(self.visibility)
        )

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Visits, facts and queries that were there before."""
        bench = benches[0]
        works = read_works(bench)
        seen = {label: _all(bench, some) for label, some in works.items()}
        base = next(iter(works))
        rows: list[tuple[Cell, ...]] = []
        less: list[tuple[str, Mean]] = []
        for label, some in works.items():
            known = seen[label]
            rows.append(
                (
                    label,
                    *(over_tasks(some, _of(known, key), seed=bench.plan.seed) for key in Again._fields),
                    over_tasks(some, lambda work: work.team.history.duplicates, seed=bench.plan.seed),
                    over_tasks(some, scored(AVG), seed=bench.plan.seed),
                )
            )
            if label != base:
                both = {**seen[base], **known}
                less.append((label, difference(works[base], some, _of(both, "again"), seed=bench.plan.seed)))
        names = (
            "visibility",
            "visited before",
            "off the path",
            "ruled out by a note",
            "facts found again",
            "same query",
            AVG,
        )
        table = Grid(
            title="Explored twice",
            columns=columns(*names, percent=names[1:]),
            rows=tuple(rows),
            about="Shares with 95 % intervals. Of all visits: those to a page that a teammate had opened before; to such a page that is on no path to an answer; to a page that a teammate's note, "
            "written before, names among what it ruled out. Of all openings of a path's pages: those by another peer than the first. Of all queries: those made before by anyone.",
        )
        return self.findings(
            benches,
            tables=[table, work_table(works, bench)],
            plots=[difference_plot(f"Visited before, less {base}", less, y="points (bars: 95 % interval)")],
        )  # fmt: skip


class Again(NamedTuple):
    """What was done again in one cell; ``None`` where there was nothing of the kind, or the benchmark does not say what leads to the answer."""

    again: float | None
    off_path: float | None
    ruled_out: float | None
    facts: float | None


def explored(story: Story, path: Collection[str] | None) -> Again:
    """How much of a team's exploring was done before, where ``path`` holds the pages that lead to an answer."""
    opened: dict[str, list[str]] = {}
    visits = again = off_path = ruled_out = 0
    for call in story.calls:
        if not call.page:
            continue
        visits += 1
        others = [peer for peer in opened.get(call.page, []) if peer != call.peer]
        again += bool(others)
        off_path += bool(others) and path is not None and call.page not in path
        ruled_out += any(
            place < call.place
            and note.peer != call.peer
            and any(names(line, call.page) for line in note.writing.ruled_out)
            for place, note in story.notes
        )
        opened.setdefault(call.page, []).append(call.peer)
    finders = [len(set(peers)) for page, peers in opened.items() if path is not None and page in path]
    return Again(
        again / visits if visits else None,
        off_path / visits if visits and path is not None else None,
        ruled_out / visits if visits else None,
        1 - len(finders) / sum(finders) if finders else None,
    )


def names(line: str, page: str) -> bool:
    """Whether a line of a note names the page at an address: by all of it, with nothing of a longer one around it."""
    before, found, after = line.partition(page)
    edges = (before[-1:], after[:1])
    return bool(found) and not any(edge.isalnum() or edge in ("-", "/", "_") for edge in edges if edge)


def paths_of(bench: Bench) -> Callable[[str], Collection[str] | None]:
    """The pages that lead to the answer of a task, where the benchmark knows."""
    benchmark = open_benchmark(bench.plan.benchmark, bench.plan.options)
    if not isinstance(benchmark, SyntheticWeb):
        return lambda _: None
    return lambda task_id: {clue.address for path in benchmark.question(task_id).paths for clue in path}


def _all(bench: Bench, works: Sequence[Work]) -> dict[str, Again]:
    ids = [work.run_id for work in works]
    stories = bench.store.read_now(lambda connection: read_stories(connection, ids))
    path = paths_of(bench)
    return {work.run_id: explored(stories[work.run_id], path(work.team.task_id)) for work in works}


def _of(known: Mapping[str, Again], key: str) -> Callable[[Work], float | None]:
    def value(work: Work) -> float | None:
        found: float | None = getattr(known[work.run_id], key)
        return found

    return value
