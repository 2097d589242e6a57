"""``peers``: teams of every size under every setting of visibility and every rule, and the three claims of the AgentFugue paper about them.

The claims: each peer does less as the team grows; the score rises with the team under every rule; and it stands above that of best-of-N at equal tokens. Best-of-N is the
setting ``isolated``; its score at a team's tokens is read from the line through its sizes, and there is none beyond its ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import ClassVar, Final, NamedTuple

from pydantic import Field, field_validator

from motet.bench.plan import Plan
from motet.bench.scoring.statistics import bootstrap
from motet.bench.team import read_curve
from motet.errors import InputError
from motet.fugue.visibility import Visibility
from motet.studies.figures import point
from motet.studies.findings import Cell, Findings, Grid, Mean, Plot, Series, columns
from motet.studies.study import Bench, Setup, Variant
from motet.studies.teams import (
    AVG,
    PASS,
    TeamStudy,
    Work,
    over_tasks,
    read_works,
    rules_of,
    score_table,
    scored,
    setting,
    slope,
    verdict,
    work_table,
)

ISOLATED: Final = "isolated"
FUGUE: Final = "notes+read"
MAIN = "majority"  # the rule that is shown where there is room for one
Sizes = Mapping[int, Sequence[Work]]

_RESAMPLES = 1000


class Peers(TeamStudy):
    """The study. The rule is the judge's, so that this one is scored beside the others, which are always."""

    name: ClassVar[str] = "peers"
    question: ClassVar[str] = (
        "What do more peers bring, by what they are shown of each other and by how their answers become one?"
    )
    tasks: ClassVar[int] = 12

    peers: tuple[int, ...] = Field(default=(1, 2, 4, 8, 16), min_length=1)
    visibility: tuple[Visibility, ...] = Field(
        default=(ISOLATED, "private", "notes", FUGUE, "gated", "broadcast"), min_length=1
    )

    @field_validator("peers")
    @classmethod
    def _in_order(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if any(size < 1 for size in value):
            raise ValueError("a team needs at least one peer")
        return tuple(sorted(set(value)))

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """Every setting with every size."""
        rule = {} if "rule" in setup.settings else {"rule": "judge"}
        return tuple(
            Variant(f"{seen} {size}", "fugue", self.common(setup, visibility=seen, peers=size, **rule))
            for seen in dict.fromkeys(self.visibility)
            for size in self.peers
        )

    def check(self, bench_id: str, plan: Plan) -> None:
        """Raises InputError where a bench is none of this study's."""
        super().check(bench_id, plan)
        if not all(isinstance(setting(entry, "peers"), int) for entry in plan.systems):
            raise InputError(f"bench {bench_id} is none of the study {self.name}: its peers are not all alike")

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Scores by rule, work, traffic, slopes, scores at equal tokens, and what becomes of the claims."""
        bench = benches[0]
        works = read_works(bench)
        teams = by_visibility(bench, works)
        rules = rules_of(works)
        levels = {
            (seen, size): {rule: at_equal_tokens(teams[ISOLATED], {size: sizes[size]}, rule, seed=bench.plan.seed) for rule in (MAIN, AVG, PASS)}
            for seen, sizes in teams.items()
            for size in sizes
            if seen != ISOLATED and ISOLATED in teams and size > 1
        }  # fmt: skip
        tables = [
            score_table(works, bench),
            work_table(works, bench),
            _slopes(teams, rules, bench),
            _fewer_calls(teams, bench),
            *([_equal(levels, teams)] if levels else []),
            *([_claims(teams, rules, bench)] if FUGUE in teams else []),
        ]
        return self.findings(benches, tables=tables, plots=_plots(teams, bench))


class Level(NamedTuple):
    """Teams beside best-of-N at their tokens: what those teams score, what best-of-N does there, and how much less."""

    tokens: float
    base: float | None
    more: Mean


def by_visibility(bench: Bench, works: Mapping[str, Sequence[Work]]) -> dict[str, dict[int, Sequence[Work]]]:
    """The cells by setting and size, of those that have any."""
    found: dict[str, dict[int, Sequence[Work]]] = {}
    for entry in bench.plan.systems:
        size = setting(entry, "peers")
        if works.get(entry.label):
            assert isinstance(size, int)
            found.setdefault(str(setting(entry, "visibility")), {})[size] = works[entry.label]
    return found


def at_equal_tokens(base: Sizes, teams: Sizes, rule: str, *, seed: int) -> Level:
    """The score of ``teams`` by ``rule`` less that of ``base`` at the same tokens, the mean over those sizes for which the line of ``base`` reaches far enough.

    Over the tasks that all have ended. The interval is from resamples of whole clusters, in each of which tokens, line and scores are those of its tasks.
    """
    sides = [{work.task: work for work in works} for works in (*base.values(), *teams.values())]
    shared = [task for task in (sides[0] if sides else {}) if all(task in side for side in sides)]
    if not base or not shared:
        return Level(0.0, None, Mean(value=None))
    taken = [[(side[task].tokens, side[task].score(rule)) for task in shared] for side in sides]
    below, above = taken[: len(base)], taken[len(base) :]

    def level(cells: Sequence[tuple[int, float]], places: Sequence[int]) -> tuple[float, float]:
        tokens, scores = zip(*(cells[place] for place in places), strict=True)
        return fmean(tokens), fmean(scores)

    def lines(places: Sequence[int]) -> list[tuple[float, float]]:
        curve = [level(cells, places) for cells in below]
        reached = [level(cells, places) for cells in above]
        return [(score, at) for tokens, score in reached if (at := read_curve(curve, tokens)) is not None]

    def more(places: Sequence[int]) -> float | None:
        found = lines(places)
        return fmean(score - at for score, at in found) if found else None

    everything = range(len(shared))
    found = bootstrap(
        more, len(shared), clusters=[sides[0][task].cluster for task in shared], seed=seed, resamples=_RESAMPLES
    )
    read = [at for _, at in lines(everything)]
    tokens = fmean(level(cells, everything)[0] for cells in above)
    return Level(tokens, fmean(read) if read else None, Mean.of(found))


def _slopes(teams: Mapping[str, Sizes], rules: Sequence[str], bench: Bench) -> Grid:
    rows: list[tuple[Cell, ...]] = [
        (seen if not place else "", rule, slope(sizes, scored(rule), seed=bench.plan.seed))
        for seen, sizes in teams.items()
        for place, rule in enumerate(rules)
    ]
    return Grid(
        title="Score per doubling of the team",
        columns=columns("visibility", "rule", "points", points=("points",)),
        rows=tuple(rows),
        about="Slopes over log2 N with 95 % intervals.",
    )


def _fewer_calls(teams: Mapping[str, Sizes], bench: Bench) -> Grid:
    seed = bench.plan.seed
    rows: list[tuple[Cell, ...]] = [
        (
            seen,
            slope(sizes, lambda work: work.calls, seed=seed),
            slope(sizes, lambda work: float(work.hub), seed=seed),
            slope(sizes, lambda work: float(work.tokens), seed=seed),
        )
        for seen, sizes in teams.items()
    ]
    names = ("visibility", "calls per peer", "hub tokens", "tokens")
    return Grid(
        title="Work per doubling of the team",
        columns=columns(*names, decimal=names[1:2], count=names[2:]),
        rows=tuple(rows),
        about="Slopes over log2 N with 95 % intervals.",
    )


def _equal(levels: Mapping[tuple[str, int], Mapping[str, Level]], teams: Mapping[str, Sizes]) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for (seen, size), found in levels.items():
        base = found[MAIN].base
        rows.append((seen, size, found[MAIN].tokens, base, found[MAIN].more, found[AVG].more, found[PASS].more))
    more = (f"more, {MAIN}", f"more, {AVG}", f"more, {PASS}")
    names = ("visibility", "N", "tokens", f"best-of-N, {MAIN}", *more)
    return Grid(
        title="More than best-of-N at equal tokens",
        columns=columns(*names, count=("N", "tokens"), percent=names[3:4], points=more),
        rows=tuple(rows),
        about=f"Points more than the line through isolated teams of {', '.join(map(str, teams[ISOLATED]))} at the team's total tokens, the hub's among them; – where that line does not reach so far.",
    )


def _claims(teams: Mapping[str, Sizes], rules: Sequence[str], bench: Bench) -> Grid:
    sizes, seed = teams[FUGUE], bench.plan.seed
    # Pass@N rises by itself with any N, and is no rule that a team could follow.
    real = [rule for rule in rules if rule != PASS]
    rows: list[tuple[Cell, ...]] = []
    calls = slope(sizes, lambda work: work.calls, seed=seed)
    rows.append(("calls per peer fall with N", "", verdict(calls, rises=False), calls.value, calls.low, calls.high))
    for rule in real:
        found = slope(sizes, scored(rule), seed=seed)
        rows.append(("score rises with N", rule, verdict(found), *_points(found)))
    if ISOLATED in teams:
        larger = {size: works for size, works in sizes.items() if size > 1}
        for rule in real:
            found = at_equal_tokens(teams[ISOLATED], larger, rule, seed=seed).more
            rows.append(("above best-of-N at equal tokens", rule, verdict(found), *_points(found)))
    return Grid(
        title="The paper's claims here",
        columns=columns("claim", "rule", "holds", "figure", "from", "to", decimal=("figure", "from", "to")),
        rows=tuple(rows),
        about=f"Of {FUGUE}, with 95 % intervals: calls and points per doubling, and points more than best-of-N, the mean over sizes from 2 on.",
    )


def _points(figure: Mean) -> tuple[float | None, ...]:
    return tuple(None if value is None else 100 * value for value in (figure.value, figure.low, figure.high))


def _plots(teams: Mapping[str, Sizes], bench: Bench) -> list[Plot]:
    seed, headline = bench.plan.seed, bench.report.headline

    def lines(value: Callable[[Work], float], scale: float) -> tuple[Series, ...]:
        return tuple(
            Series(
                name=seen,
                points=tuple(point(size, over_tasks(works, value, seed=seed), scale=scale) for size, works in sizes.items()),
            )
            for seen, sizes in teams.items()
        )  # fmt: skip

    against = tuple(
        Series(
            name=seen,
            points=tuple(
                point(
                    fmean(work.tokens for work in works),
                    over_tasks(works, scored(MAIN), seed=seed),
                    scale=100,
                    label=str(size),
                )
                for size, works in sizes.items()
            ),
        )
        for seen, sizes in teams.items()
    )
    return [
        Plot(title="Score by majority", x="peers", y=f"{headline}, %", kind="lines", series=lines(scored(MAIN), 100)),
        Plot(title="Calls per peer", x="peers", y="calls of a peer", kind="lines", series=lines(lambda work: work.calls, 1)),
        Plot(title="Hub tokens", x="peers", y="tokens per task", kind="lines", series=lines(lambda work: float(work.hub), 1)),
        Plot(title="Score by majority against tokens", x="tokens per task", y=f"{headline}, %", kind="points", series=against),
    ]  # fmt: skip
