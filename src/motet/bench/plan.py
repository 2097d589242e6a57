"""The plan of a bench: which benchmark, which systems, which tasks, how often and within what limits.

A plan is what a bench's run stores as its configuration. Its cells (system × epoch × task) are numbered, and each is a run of its own below the bench's, so
that any process can take one up where another left it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field, JsonValue, ValidationError

from motet.bench.benchmark import Benchmark
from motet.errors import InputError
from motet.load import load_object
from motet.models.model import Price
from motet.runs.budget import Budget
from motet.settings import explain, nearest
from motet.system import System
from motet.systems import build, describe
from motet.value import Value
from motet.version import __version__

BENCHMARKS = {
    "workbench": "motet.bench.workbench:WorkBench",
    "hotpotqa": "motet.bench.hotpotqa:HotpotQA",
    "synthweb": "motet.bench.synthweb:SyntheticWeb",
    "browsecomp": "motet.bench.browsecomp:BrowseComp",
    "widesearch": "motet.bench.widesearch:WideSearch",
    "hle": "motet.bench.hle:HLE",
}

# Benchmarks with recorded runs of their own, which can be judged again: the function that does it.
REPLAYS = {"workbench": "motet.bench.workbench_replay:replay"}


class Entry(Value):
    """A system of a bench: ``label`` names it in tables. ``config`` is ``None`` when it holds objects that only Python can give."""

    label: str
    name: str
    config: dict[str, JsonValue] | None


class Plan(Value):
    """A bench as data. ``budget`` is for each cell, ``total`` for the whole bench; ``command`` is how it was begun, if on the command line.

    A ``warm`` bench shares its records of nodes with every other run in the store; else each system has its own in each epoch, empty at the start.
    """

    format: Literal[1] = 1
    benchmark: str
    options: dict[str, JsonValue] = Field(default_factory=dict)
    benchmark_version: str
    systems: tuple[Entry, ...] = Field(min_length=1)
    tasks: tuple[str, ...] = Field(min_length=1)
    epochs: int = Field(default=1, gt=0)
    seed: int = 0
    budget: Budget = Budget()
    total: Budget = Budget()
    price: Price | None = None
    allow_weak_sandbox: bool = False
    warm: bool = False
    motet: str = __version__
    command: str = ""

    def cells(self) -> Iterator[Cell]:
        """All cells, in the order in which they are begun: task by task, so that a bench cut short compares its systems on the same tasks."""
        number = 0
        for epoch in range(1, self.epochs + 1):
            for task in self.tasks:
                for entry in self.systems:
                    number += 1
                    yield Cell(number, entry.label, epoch, task)

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.epochs * len(self.tasks) * len(self.systems)


class Cell(NamedTuple):
    """One system on one task, once. ``number`` counts from 1."""

    number: int
    label: str
    epoch: int
    task_id: str

    def run_id(self, bench_id: str) -> str:
        """The id of the cell's own run."""
        return f"{bench_id}.{self.number}"


def open_benchmark(name: str, options: Mapping[str, object]) -> Benchmark:
    """The benchmark called ``name``, or of the class ``module:Class``, with ``options``.

    Raises InputError for an unknown name or option, naming the nearest right one.
    """
    if name not in BENCHMARKS and ":" not in name:
        raise InputError(f"unknown benchmark {name!r}{nearest(name, BENCHMARKS)}; your own: module:Class")
    path = BENCHMARKS.get(name, name)
    kind: Any = load_object(path)
    try:
        made = kind(**options)
    except ValidationError as error:
        raise InputError(f"benchmark {name}: {explain(error, kind)}") from None
    except TypeError as error:
        raise InputError(f"benchmark {name}: {error}") from None
    if not isinstance(made, Benchmark):
        raise InputError(f"{path} is no Benchmark; see motet.bench.benchmark for what one needs")
    return made


def draw_up(
    benchmark: str,
    systems: Sequence[System],
    *,
    options: Mapping[str, JsonValue] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    **rest: Any,
) -> Plan:
    """The plan of a new bench: ``systems`` on the tasks that ``limit`` or ``sample`` pick. ``rest`` are further fields of Plan.

    Raises InputError for what is wrong with any of it.
    """
    opened = open_benchmark(benchmark, options or {})
    return Plan(
        benchmark=benchmark,
        options=dict(options or {}),
        benchmark_version=opened.version,
        systems=label_systems(systems),
        tasks=pick([task.id for task in opened.tasks()], limit=limit, sample=sample, seed=seed),
        seed=seed,
        **rest,
    )


def pick(ids: Sequence[str], *, limit: int | None = None, sample: int | None = None, seed: int = 0) -> tuple[str, ...]:
    """The first ``limit`` of ``ids``, or a seeded ``sample`` of them in their own order.

    Raises InputError for a number below 1, for a benchmark without tasks, and for one that calls two of them the same.
    """
    for name, value in (("limit", limit), ("sample", sample)):
        if value is not None and value < 1:
            raise InputError(f"--{name} is {value}; it must be at least 1")
    if limit is not None and sample is not None:
        raise InputError("--limit takes the first tasks and --sample a random choice; give one of them")
    if not ids:
        raise InputError("the benchmark has no tasks")
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"the benchmark has two tasks called {twice[0]!r}; each needs an id of its own")
    if sample is not None and sample < len(ids):
        chosen = set(random.Random(seed).sample(range(len(ids)), sample))  # noqa: S311 - a choice of tasks, no secret
        return tuple(name for index, name in enumerate(ids) if index in chosen)
    return tuple(ids[:limit])


def label_systems(systems: Sequence[System]) -> tuple[Entry, ...]:
    """``systems`` with labels: their names, numbered where a name comes twice."""
    entries: list[Entry] = []
    counts: dict[str, int] = {}
    for system in systems:
        counts[system.name] = counts.get(system.name, 0) + 1
        count = counts[system.name]
        label = system.name if count == 1 else f"{system.name}-{count}"
        entries.append(Entry(label=label, **_described(system)))
    return tuple(entries)


def build_systems(plan: Plan, given: Sequence[System] = ()) -> dict[str, System]:
    """The plan's systems by label. ``given`` stands in, by position, for those that only Python can give. Raises InputError."""
    systems: dict[str, System] = {}
    for index, entry in enumerate(plan.systems):
        if entry.config is not None:
            systems[entry.label] = build(entry.name, entry.config)
        elif index < len(given):
            systems[entry.label] = given[index]
        else:
            raise InputError(
                f"system {entry.label} was given as a Python object; resume the bench from Python with systems=…"
            )
    return systems


def _described(system: System) -> dict[str, Any]:
    described = describe(system)
    return {"name": described["name"], "config": described["config"]}
