"""``control``: what it costs to steer a team, with the compact view of it and with the naive one, which shows everything in every call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from pydantic import JsonValue

from motet.bench.evolution import Trial
from motet.bench.runner import JUDGE as BENCH_JUDGE
from motet.bench.scoring.statistics import ratio
from motet.canonical import canonical
from motet.inherit.judge import ROLE as JUDGE
from motet.inherit.meta import ROLE as META
from motet.store.queries import call_list
from motet.studies.figures import cluster_of, score_rows, scores
from motet.studies.findings import Cell, Findings, Grid, Mean, Plot, Point, Series, columns
from motet.studies.study import Bench, Setup, Study, Variant

_VIEWS = ("compact", "naive")
_PAPER = {"workbench": 0.86, "hotpotqa": 0.58}  # of all tokens, estimated from the prompts in the paper's released code


class Control(Study):
    """The study."""

    name: ClassVar[str] = "control"
    question: ClassVar[str] = "What do meta-model and judge cost, and does showing them less change the score?"
    tasks: ClassVar[int] = 40
    labels: ClassVar[tuple[str, ...]] = _VIEWS

    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """``compact`` first, with which ``naive`` is compared."""
        return tuple(Variant(view, "inherit", {"control": view}) for view in _VIEWS)

    def find(self, benches: Sequence[Bench]) -> Findings:
        """Scores, control tokens, and calls by role."""
        bench = benches[0]
        share = _PAPER.get(bench.plan.benchmark)
        notes = [
            "shared prefix: the share of a call's characters that are, from its first one on, those of the same role's call before it in the task"
        ]
        if share is not None:
            notes.append(
                f"the paper's released code spends about {100 * share:.0f} % of all tokens on control here, by our estimate from its prompts"
            )
        return self.findings(
            benches,
            tables=[_tokens(bench), _calls(bench), scores(bench)],
            plots=[score_rows(bench), _bars(bench)],
            notes=notes,
        )


def _tokens(bench: Bench) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for label, trials in bench.trials.items():
        paid = [_paid(trial) for trial in trials]
        clusters = [cluster_of(trial) for trial in trials]
        share = ratio(
            [meta + judge for _, meta, judge in paid],
            [sum(parts) for parts in paid],
            clusters=clusters,
            seed=bench.plan.seed,
        )
        workers, meta, judge = (sum(column) for column in zip(*paid, strict=True))
        rows.append((label, len(trials), workers, meta, judge, (meta + judge) / len(trials), Mean.of(share)))
    names = ("view", "tasks", "worker", "meta", "judge", "control tokens per task", "share of all paid")
    return Grid(title="Control tokens", columns=columns(*names, count=names[1:6], percent=names[6:]), rows=tuple(rows))


def _paid(trial: Trial) -> tuple[int, int, int]:
    """Worker, meta and judge tokens."""
    rounds = trial.history.rounds
    return sum(item.live for item in rounds), sum(item.meta for item in rounds), sum(item.judge for item in rounds)


def _calls(bench: Bench) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for system in bench.report.systems:
        prefixes = shared_prefixes(bench, system.label)
        for place, (role, total) in enumerate(
            sorted(system.roles.items(), key=lambda entry: (entry[0] not in (META, JUDGE), entry[0]))
        ):
            known = total.calls - total.failed - total.unknown
            shared = prefixes.get(role)
            rows.append(
                (
                    system.label if not place else "",
                    role,
                    total.calls,
                    total.prompt / known if known > 0 else None,
                    total.completion / known if known > 0 else None,
                    shared.shared / shared.whole if shared is not None and shared.whole else None,
                    total.cached / total.prompt if total.cached and total.prompt else None,
                )
            )
    names = ("view", "role", "calls", "prompt tokens a call", "reply tokens a call", "shared prefix", "prompt cached")
    return Grid(
        title="Calls by role",
        columns=columns(*names, count=names[2:5], percent=names[5:]),
        rows=tuple(rows),
        about="Prompt cached: what the provider says that it had read before; blank where it says nothing.",
    )


class Shared(NamedTuple):
    """Characters of prompts, and how many of them the call before began with as well."""

    shared: int
    whole: int


def shared_prefixes(bench: Bench, label: str) -> Mapping[str, Shared]:
    """For meta-model and judge, over all ended cells of the variant ``label``: how much of each prompt is a prefix of the role's call before it in the same task.

    Workers have none: those of a team may work side by side, and no call comes before another.
    """
    found = {role: Shared(0, 0) for role in (META, JUDGE)}
    for row in bench.report.rows:
        if row.label != label:
            continue
        before: dict[str, str] = {}
        for call in call_list(bench.store, row.run_id):
            aside = call.superseded or f"/{BENCH_JUDGE}" in call.scope
            if call.kind != "model" or call.state != "done" or call.name not in found or aside:
                continue
            prompt = _written(call.messages)
            same = alike(before.get(call.name, ""), prompt)
            found[call.name] = Shared(found[call.name].shared + same, found[call.name].whole + len(prompt))
            before[call.name] = prompt
    return found


def alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _written(messages: Sequence[JsonValue]) -> str:
    """Messages as one text, each from its role to its end."""
    parts = []
    for message in messages:
        assert isinstance(message, dict)
        rest = {key: value for key, value in message.items() if key not in ("role", "content") and value}
        parts.append(f"{message.get('role')}: {message.get('content')}\n{canonical(rest).decode() if rest else ''}")
    return "\n".join(parts)


def _bars(bench: Bench) -> Plot:
    labels = list(bench.trials)
    series = []
    for name, place in (("worker", 0), ("meta", 1), ("judge", 2)):
        points = [
            Point(x=at, y=sum(_paid(trial)[place] for trial in bench.trials[label]) / len(bench.trials[label]))
            for at, label in enumerate(labels)
        ]
        series.append(Series(name=name, points=tuple(points)))
    return Plot(
        title="Tokens per task", x="", y="tokens per task", kind="rows", series=tuple(series), ticks=tuple(labels)
    )
