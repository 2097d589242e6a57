"""``ladder``: teams of unequal models, one more at each rung, and what a member of equal ability adds.

Every member is called after its place, alone as in a team, so that what differs between the two is the team.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from pydantic import Field, JsonValue

from motet.studies.figures import point
from motet.studies.findings import Cell, Findings, Grid, Plot, Series, columns
from motet.studies.study import Bench, Setup, Variant
from motet.studies.teams import (
    AVG,
    PASS,
    TeamStudy,
    Work,
    difference,
    over_tasks,
    read_works,
    score_table,
    scored,
    setting,
    work_table,
)

_EQUAL = "equal"


class Ladder(TeamStudy):
    """The study. ``models`` are the members, each rung adding the next; the first is added to itself, and the last to the whole team."""

    name: ClassVar[str] = "ladder"
    question: ClassVar[str] = (
        "What does each member of a team of unequal models gain by it, and what does one more of the same add?"
    )
    tasks: ClassVar[int] = 40

    models: tuple[str, ...] = Field(
        default=("scripted:searcher@0.5", "scripted:searcher", "scripted:searcher@1.5", "scripted:searcher@2"),
        min_length=2,
        max_length=8,
    )

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """Each alone, the rungs, and the two teams with an equal."""
        common = self.common(setup)
        members: list[JsonValue] = [{"name": f"m{place}", "model": model} for place, model in enumerate(self.models, 1)]
        teams: dict[str, list[JsonValue]] = {f"alone m{place}": [member] for place, member in enumerate(members, 1)}
        teams |= {f"m1 to m{size}": members[:size] for size in range(2, len(members) + 1)}
        teams[f"m1 and {_EQUAL}"] = [members[0], {"name": _EQUAL, "model": self.models[0]}]
        teams[f"all and {_EQUAL}"] = [*members, {"name": _EQUAL, "model": self.models[-1]}]
        seen = {label: "notes+read" if len(team) > 1 else "isolated" for label, team in teams.items()}
        return tuple(
            Variant(label, "fugue", {**common, "peers": team, "visibility": seen[label]})
            for label, team in teams.items()
        )

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Each member in each team less alone, what each rung adds, and the scores of teams."""
        bench = benches[0]
        works = read_works(bench)
        teams = {entry.label: peers_of(setting(entry, "peers")) for entry in bench.plan.systems}
        longest = max(teams.values(), key=len)
        return self.findings(
            benches,
            tables=[
                _gains(bench, works, teams),
                _added(bench, works, teams),
                score_table(works, bench),
                work_table(works, bench),
            ],
            plots=[_plot(bench, works, teams)],
            notes=[f"members: {', '.join(f'{name} is {model}' for name, model in longest.items())}"],
        )


def peers_of(setting: JsonValue) -> dict[str, str]:
    """Members by name with their models, as a configuration lists them."""
    listed = setting if isinstance(setting, list) else []
    return {str(peer["name"]): str(peer["model"]) for peer in listed if isinstance(peer, dict)}


def _gains(bench: Bench, works: Mapping[str, Sequence[Work]], teams: Mapping[str, Mapping[str, str]]) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for label, members in teams.items():
        for name, model in members.items() if len(members) > 1 else ():
            alone = next((other for other, team in teams.items() if list(team.values()) == [model]), None)
            if alone is None or not works[alone] or not works[label]:
                continue
            own, by_itself = _member(name), _member(next(iter(teams[alone])))
            before = {work.task: value for work in works[alone] if (value := by_itself(work)) is not None}
            rows.append(
                (
                    label,
                    name,
                    over_tasks(works[alone], by_itself, seed=bench.plan.seed),
                    over_tasks(works[label], own, seed=bench.plan.seed),
                    over_tasks(
                        [work for work in works[label] if work.task in before], _more(own, before), seed=bench.plan.seed
                    ),
                )
            )
    return Grid(
        title="Members in the team and alone",
        columns=columns("team", "member", "alone", "in the team", "gain", percent=("alone", "in the team"), points=("gain",)),
        rows=tuple(rows),
        about=f"{bench.report.headline} of each member's own answer, with 95 % intervals; the gain in points on the same tasks. An equal is compared with its model alone.",
    )  # fmt: skip


def _added(bench: Bench, works: Mapping[str, Sequence[Work]], teams: Mapping[str, Mapping[str, str]]) -> Grid:
    """Every team beside the one that has a member less, or its first member alone."""
    shown = (AVG, "majority", "confident", PASS)
    rows: list[tuple[Cell, ...]] = []
    for label, members in teams.items():
        smaller = dict([*members.items()][:-1])
        base = next((other for other, team in teams.items() if dict(team) == smaller), None)
        if base is not None and smaller:
            found = (difference(works[base], works[label], scored(rule), seed=bench.plan.seed) for rule in shown)
            rows.append((label, base, [*members.values()][-1], *found))
    return Grid(
        title="What the last member adds",
        columns=columns("team", "more than", "the last", *shown, points=shown),
        rows=tuple(rows),
        about=f"{bench.report.headline}, points with 95 % intervals on the same tasks.",
    )


def _plot(bench: Bench, works: Mapping[str, Sequence[Work]], teams: Mapping[str, Mapping[str, str]]) -> Plot:
    rungs = [label for label, members in teams.items() if _EQUAL not in members and works[label]]
    rungs = [label for label in rungs if len(teams[label]) > 1 or label == next(iter(teams))]
    series = tuple(
        Series(
            name=rule,
            points=tuple(
                point(len(teams[label]), over_tasks(works[label], scored(rule), seed=bench.plan.seed), scale=100)
                for label in rungs
            ),
        )
        for rule in (AVG, "majority", PASS)
    )
    return Plot(title="Rungs", x="members", y=f"{bench.report.headline}, %", kind="lines", series=series)


def _member(name: str) -> Callable[[Work], float | None]:
    return lambda work: work.team.peers.get(name)


def _more(own: Callable[[Work], float | None], before: Mapping[str, float]) -> Callable[[Work], float | None]:
    def value(work: Work) -> float | None:
        now = own(work)
        return None if now is None else now - before[work.task]

    return value
