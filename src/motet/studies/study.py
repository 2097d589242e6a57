"""What a study consists of: variants of systems on the same tasks, perhaps further benches after the first, and what is made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from pydantic import Field, JsonValue

from motet.bench.evolution import EvolutionRow, Trial, read_trials
from motet.bench.plan import Entry, Plan, open_benchmark, pick
from motet.bench.report import Report, SystemRow, make_report
from motet.errors import InputError
from motet.settings import nearest
from motet.store.store import Store
from motet.studies.findings import Findings, Grid, Plot
from motet.systems import build, describe, fields
from motet.value import Value

# What a study works on where nothing else is said: the options of each benchmark, and a model, with which it needs nothing from elsewhere.
OFFLINE: Mapping[str, tuple[Mapping[str, JsonValue], str]] = {
    "hotpotqa": ({"questions": "invented"}, "scripted:scholar"),
    "workbench": ({"subset": "paper130"}, "scripted:office"),
    "synthweb": ({}, "scripted:searcher"),
}


class Variant(NamedTuple):
    """A system of a study's bench, and what the study sets in it."""

    label: str
    system: str
    settings: Mapping[str, JsonValue]


class Setup(Value):
    """What the user gave. ``settings`` are for every system that has the key; ``rest`` are further fields of the plan. Without ``limit`` and ``sample`` a study takes a sample of its own size."""

    benchmark: str = "hotpotqa"
    options: dict[str, JsonValue] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    rest: dict[str, Any] = Field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model of all roles that have none of their own. Raises InputError where none is given and the benchmark has none by default."""
        given = self.settings.get("model") or OFFLINE.get(self.benchmark, ({}, ""))[1]
        if not given:
            raise InputError(f"no model is given, and there is none by default for {self.benchmark}: add --model NAME")
        return str(given)

    def plan(self, variants: Sequence[Variant], *, tasks: int) -> Plan:
        """The plan of a bench of ``variants`` on ``tasks`` tasks, or on as many as were asked for. Raises InputError for a setting that no variant has, or that is the study's own."""
        options = {**OFFLINE.get(self.benchmark, ({}, ""))[0], **self.options}
        opened = open_benchmark(self.benchmark, options)
        settings = {**self.settings, "model": self.model}
        for key in self.settings:
            own = next((variant.label for variant in variants if key in variant.settings), None)
            if own is not None:
                raise InputError(f"{key} is what this study sets itself, as in its variant {own!r}; leave it out")
            known = {name for variant in variants for name in fields(variant.system)}
            if key not in known:
                raise InputError(f"no system of this study has the key {key!r}{nearest(key, known)}")
        entries = []
        for variant in variants:
            known = set(fields(variant.system))
            mine = {key: value for key, value in settings.items() if key in known}
            described: Any = describe(build(variant.system, {**mine, **variant.settings}))
            entries.append(Entry(label=variant.label, **described))
        sample = tasks if self.limit is None and self.sample is None else self.sample
        return Plan(
            benchmark=self.benchmark,
            options=options,
            benchmark_version=opened.version,
            systems=tuple(entries),
            tasks=pick([task.id for task in opened.tasks()], limit=self.limit, sample=sample, seed=self.seed),
            seed=self.seed,
            **self.rest,
        )


@dataclass(frozen=True)
class Bench:
    """A bench of a study as it stands in the store, and the candidates that its evolving systems tried."""

    id: str
    plan: Plan
    report: Report
    trials: Mapping[str, Sequence[Trial]]
    store: Store

    def system(self, label: str) -> SystemRow:
        """The figures of the variant ``label``."""
        return next(row for row in self.report.systems if row.label == label)

    def evolution(self, label: str) -> EvolutionRow | None:
        """What the variant ``label`` tried, if it tries candidates and any cell has ended."""
        return next((row for row in self.report.evolutions if row.label == label), None)


def read_bench(store: Store, bench_id: str, plan: Plan) -> Bench:
    """The bench ``bench_id`` as it stands."""
    trials = store.read_now(lambda connection: read_trials(connection, bench_id, plan))
    return Bench(bench_id, plan, make_report(store, bench_id, plan), trials, store)


class Study(Value, ABC):
    """A question, the benches that answer it, and the answer. Its fields are its own options.

    ``benchmark`` is what it works on by default, and ``tasks`` how many of its tasks it takes; ``labels`` are the variants without which its first bench is none of this study.
    """

    name: ClassVar[str]
    question: ClassVar[str]
    benchmark: ClassVar[str] = "hotpotqa"
    tasks: ClassVar[int]
    labels: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def variants(self, setup: Setup) -> tuple[Variant, ...]:
        """The systems of the first bench. Raises InputError."""

    def begin(self, setup: Setup) -> Plan:
        """The plan of the first bench. Raises InputError."""
        return setup.plan(self.variants(setup), tasks=self.tasks)

    def go_on(self, benches: Sequence[Bench]) -> Plan | None:
        """The plan of the bench that comes after ``benches``, all of which have ended; ``None`` after the last."""
        return None

    @abstractmethod
    def find(self, benches: Sequence[Bench]) -> Findings:
        """What is found in ``benches``, of which there is one at least. They need not be finished."""

    def check(self, bench_id: str, plan: Plan) -> None:
        """Raises InputError where a bench is none of this study's."""
        missing = [label for label in self.labels if label not in {entry.label for entry in plan.systems}]
        if missing:
            raise InputError(f"bench {bench_id} is none of the study {self.name}: it has no variant {missing[0]!r}")

    def findings(
        self,
        benches: Sequence[Bench],
        *,
        tables: Sequence[Grid],
        plots: Sequence[Plot],
        notes: Sequence[str] = (),
        failures: Sequence[str] = (),
    ) -> Findings:
        """The findings, with what is the same for every study."""
        first = benches[0].report
        models = dict.fromkeys(name for bench in benches for name in bench.report.model.split(", ") if name)
        told = dict.fromkeys(note for bench in benches for note in bench.report.notes)
        ids = tuple(bench.id for bench in benches)
        return Findings(
            study=self.name,
            question=self.question,
            benches=ids,
            complete=all(bench.report.ended == bench.report.cells for bench in benches),
            tasks=first.tasks,
            seed=first.seed,
            epochs=first.epochs,
            models=tuple(models),
            scripted=any(bench.report.scripted for bench in benches),
            tables=tuple(tables),
            plots=tuple(plots),
            notes=(*notes, *told),
            failures=tuple(failures),
            begun=benches[0].plan.command,
            again=f"motet study {self.name} --from {','.join(ids)}",
        )
