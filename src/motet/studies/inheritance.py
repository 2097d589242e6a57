"""``inheritance``: whether taking nodes' results from records changes anything but the bill.

Both variants are the same in all else and begin with nothing recorded. Their candidates are compared round by round and node by node, as far as both tried the same
teams: a node that was asked the same must have said the same, and a candidate with the same outputs must have the same true score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from motet.bench.evolution import Published, Trial, kind_of, published
from motet.bench.scoring.statistics import estimate, ratio
from motet.inherit.history import Round
from motet.studies.figures import cluster_of, point, scores
from motet.studies.findings import Cell, Findings, Grid, Mean, Plot, Point, Series, columns
from motet.studies.study import Bench, Setup, Study, Variant

ON, OFF = "on", "off"


class Inheritance(Study):
    """The study."""

    name: ClassVar[str] = "inheritance"
    question: ClassVar[str] = (
        "Does inheriting nodes' results change outputs or scores, and how many tokens does it save?"
    )
    tasks: ClassVar[int] = 60
    labels: ClassVar[tuple[str, ...]] = (ON, OFF)

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """Inheritance on and off."""
        return (Variant(ON, "inherit", {"inherit": True}), Variant(OFF, "inherit", {"inherit": False}))

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Sameness, and tokens by role, round and kind of edit."""
        bench = benches[0]
        paper = published(bench.plan.benchmark)
        pairs = list(paired_trials(bench))
        compared = [compare(on, off) for on, off in pairs]
        greedy = is_greedy(bench)
        parted = [one for one in compared if one.parted]
        differing = [one.difference for one in compared if one.difference]
        failures = differing if greedy else []
        if bench.report.scripted:
            # A scripted meta-model says the same when it is asked the same, so it must have been asked something else.
            failures = [*failures, *(one.parted for one in parted)]
        notes = ["also with inheritance off, nodes of one team that are asked the same are asked once"]
        if not greedy:
            notes.append(
                "workers sample (temperature above 0): outputs may differ for that reason alone, and do not count as a failure"
            )
        if parted and not bench.report.scripted:
            notes.append(
                f"in {len(parted)} of {len(pairs)} pairs of cells the meta-model went another way: {parted[0].parted}; what follows is not compared"
            )
        return self.findings(
            benches,
            tables=[
                _sameness(compared),
                scores(bench),
                _by_role(bench, pairs, paper),
                _by_round(bench, pairs),
                _by_kind(bench, pairs, paper),
            ],
            plots=[_saved_by_round(bench, pairs), _saved_by_kind(bench, pairs)],
            notes=notes,
            failures=failures,
        )


class Compared(NamedTuple):
    """How two cells of one task compare: what was compared, where their teams ``parted``, and the first ``difference`` that inheritance must not make."""

    candidates: int
    nodes: int
    reused: int
    parted: str = ""
    difference: str = ""


def paired_trials(bench: Bench) -> Iterator[tuple[Trial, Trial]]:
    """The cells that both variants have ended."""
    off = {(trial.task_id, trial.epoch): trial for trial in bench.trials.get(OFF, ())}
    for trial in bench.trials.get(ON, ()):
        other = off.get((trial.task_id, trial.epoch))
        if other is not None:
            yield trial, other


def is_greedy(bench: Bench) -> bool:
    """Whether every worker of the bench decodes without chance."""
    given = [entry.config.get("sampling") for entry in bench.plan.systems if entry.config is not None]
    return all(isinstance(sampling, dict) and sampling.get("temperature") == 0 for sampling in given)


def compare(on: Trial, off: Trial) -> Compared:
    """Compare two cells round by round, up to where they part or differ."""
    candidates = nodes = reused = 0
    others = {item.index: item for item in off.history.rounds}
    for item in on.history.rounds:
        other = others.get(item.index)
        where = f"task {on.task_id}, round {item.index}"
        if other is None or item.origin != other.origin or item.workflow != other.workflow:
            return Compared(candidates, nodes, reused, parted=f"{where}: the two tried different teams")
        if item.workflow is None:
            continue
        for id_ in item.workflow.order:
            one, two = item.nodes[id_], other.nodes[id_]
            if one.status != "completed" or two.status != "completed":
                if one.status != two.status:
                    return Compared(
                        candidates,
                        nodes,
                        reused,
                        difference=f"{where}, node {id_}: {one.status} with inheritance, {two.status} without",
                    )
                continue
            nodes += 1
            reused += one.how == "reused"
            if (one.key, one.output) != (two.key, two.output):
                what = "says something else" if one.key == two.key else "is asked something else"
                return Compared(
                    candidates, nodes, reused, difference=f"{where}, node {id_} {what} with inheritance than without"
                )
        candidates += 1
        if on.scores.get(item.index) != off.scores.get(item.index):
            told = f"{where}: the candidate scores {on.scores.get(item.index)} with inheritance and {off.scores.get(item.index)} without"
            return Compared(candidates, nodes, reused, difference=told)
    return Compared(candidates, nodes, reused)


def _sameness(compared: Sequence[Compared]) -> Grid:
    same = sum(not one.parted and not one.difference for one in compared)
    row: tuple[Cell, ...] = (
        len(compared),
        same,
        sum(one.candidates for one in compared),
        sum(one.nodes for one in compared),
        sum(one.reused for one in compared),
        sum(bool(one.difference) for one in compared),
        sum(bool(one.parted) for one in compared),
    )
    names = (
        "pairs of cells",
        "the same throughout",
        "candidates",
        "nodes compared",
        "of them inherited",
        "differ",
        "other teams",
    )
    return Grid(title="The same with and without", columns=columns(*names, count=names), rows=(row,))


def _by_role(bench: Bench, pairs: Sequence[tuple[Trial, Trial]], paper: Published | None) -> Grid:
    clusters = [cluster_of(on) for on, _ in pairs]
    told = {"worker": paper.saved_worker, "all": paper.saved_all} if paper else {}
    rows: list[tuple[Cell, ...]] = []
    for who in ("worker", "meta", "judge", "all"):
        with_, without = (
            ([_tokens(trial, who) for trial in side] for side in zip(*pairs, strict=True)) if pairs else ([], [])
        )
        spared = [before - after for before, after in zip(without, with_, strict=True)]
        saved = Mean.of(ratio(spared, without, clusters=clusters, seed=bench.plan.seed))
        published_ = told.get(who)
        rows.append((who, sum(without), sum(with_), saved, None if published_ is None else published_ / 100))
    names = ("tokens", "off", "on", "saved", "paper")
    return Grid(
        title="Tokens saved",
        columns=columns(*names, count=("off", "on"), percent=("saved", "paper")),
        rows=tuple(rows),
        about=f"Paid in both variants on the same tasks. Paper: {paper.what}."
        if paper
        else "Paid in both variants on the same tasks.",
    )


def _tokens(trial: Trial, who: str) -> int:
    rounds = trial.history.rounds
    parts = {"worker": "live", "meta": "meta", "judge": "judge"}
    return sum(getattr(item, parts[name]) for item in rounds for name in parts if who in (name, "all"))


def _by_round(bench: Bench, pairs: Sequence[tuple[Trial, Trial]]) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for index in _indices(pairs):
        on = [(trial, item) for trial, _ in pairs for item in trial.history.rounds if item.index == index]
        off = [item for _, trial in pairs for item in trial.history.rounds if item.index == index]
        rows.append(
            (
                index,
                sum(item.origin is not None for _, item in on),
                sum(item.live for item in off),
                sum(item.live for _, item in on),
                sum(item.inherited for _, item in on),
                _inherited(bench, on),
            )
        )
    names = ("round", "candidates", "worker tokens, off", "on", "inherited", "saved")
    return Grid(title="By round", columns=columns(*names, count=names[:-1], percent=("saved",)), rows=tuple(rows))


def _by_kind(bench: Bench, pairs: Sequence[tuple[Trial, Trial]], paper: Published | None) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for kind, members in _kinds(bench, pairs):
        rows.append(
            (
                kind,
                len(members),
                estimate([item.affected for _, item in members]).value,
                sum(item.live for _, item in members),
                sum(item.inherited for _, item in members),
                _inherited(bench, members),
                paper.prompt_edits / 100 if paper and paper.prompt_edits is not None and kind == "prompt" else None,
            )
        )
    names = ("kind of round", "rounds", "affected", "live", "inherited", "saved", "paper")
    return Grid(
        title="By kind of edit",
        columns=columns(*names, count=("rounds", "live", "inherited"), percent=("affected", "saved", "paper")),
        rows=tuple(rows),
        about="Worker tokens with inheritance on; affected is the mean share of nodes that the change could reach.",
    )


def _kinds(bench: Bench, pairs: Sequence[tuple[Trial, Trial]]) -> list[tuple[str, list[tuple[Trial, Round]]]]:
    row = bench.evolution(ON)
    tried = [(trial, item) for trial, _ in pairs for item in trial.history.tried]
    found = [
        (kind.kind, [(trial, item) for trial, item in tried if kind_of(item) == kind.kind])
        for kind in (row.kinds if row else ())
    ]
    return [(kind, members) for kind, members in found if members]


def _inherited(bench: Bench, members: Sequence[tuple[Trial, Round]]) -> Mean:
    """The share of worker tokens that rounds inherited."""
    return Mean.of(
        ratio(
            [item.inherited for _, item in members],
            [item.live + item.inherited for _, item in members],
            clusters=[cluster_of(trial) for trial, _ in members],
            seed=bench.plan.seed,
        )
    )


def _indices(pairs: Sequence[tuple[Trial, Trial]]) -> range:
    return range(max((item.index for on, _ in pairs for item in on.history.rounds), default=-1) + 1)


def _saved_by_round(bench: Bench, pairs: Sequence[tuple[Trial, Trial]]) -> Plot:
    points: list[Point] = []
    for index in _indices(pairs):
        share = _inherited(bench, [(on, item) for on, _ in pairs for item in on.history.rounds if item.index == index])
        if share.value is not None:
            points.append(point(index, share, scale=100))
    return Plot(
        title="Worker tokens inherited, by round",
        x="round",
        y="% (band: 95 % interval)",
        kind="lines",
        series=(Series(name="inherit", points=tuple(points)),),
    )


def _saved_by_kind(bench: Bench, pairs: Sequence[tuple[Trial, Trial]]) -> Plot:
    kinds = [(kind, _inherited(bench, members)) for kind, members in _kinds(bench, pairs)]
    known = [(kind, share) for kind, share in kinds if share.value is not None]
    return Plot(
        title="Worker tokens inherited, by kind of round",
        x="",
        y="% (bars: 95 % interval)",
        kind="rows",
        series=(
            Series(name="inherit", points=tuple(point(at, share, scale=100) for at, (_, share) in enumerate(known))),
        ),
        ticks=tuple(kind for kind, _ in known),
    )
