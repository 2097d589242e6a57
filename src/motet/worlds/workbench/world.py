"""WorkBench's office as a world: 27 tools over five tables in memory, copied at no cost and rebuilt on resume.

A copy shares every table until it writes. The fingerprint covers the tables and the sources of the tools. A write reports it, so that a resumed
run that does its writes again sees at once if it did not get the same state.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self, get_args

from pydantic import JsonValue

from motet.canonical import clean_text, digest
from motet.errors import InputError
from motet.settings import nearest
from motet.task import Score
from motet.tools.tool import Delivery, Observation, Tool
from motet.worlds.workbench.actions import write_action
from motet.worlds.workbench.catalogue import Entry, catalogue, tools_version
from motet.worlds.workbench.data import pristine
from motet.worlds.workbench.render import render
from motet.worlds.workbench.scoring import Verdict, judge
from motet.worlds.workbench.tables import Dialect, State
from motet.worlds.world import Write

_MAX_ERROR = 500
_MAX_BITS = 1000  # Python refuses to write longer numbers as text, well beyond this


class WorkBenchWorld:
    """The office at the beginning of a task, in one of the benchmark's dialects.

    ``start`` is a state to begin with, whose dialect then counts, in place of the benchmark's files. ``writes`` are the calls of writing tools that were
    carried out, in their order, under the benchmark's names for the tools.

    Raises InputError for an unknown dialect and where the benchmark's files are missing.
    """

    name = "workbench"
    forkable = True

    def __init__(self, *, dialect: Dialect = "2024", folder: Path | None = None, start: State | None = None) -> None:
        if dialect not in get_args(Dialect):
            raise InputError(f"WorkBench has no dialect {dialect!r}{nearest(str(dialect), get_args(Dialect))}")
        self._pristine = start.copy() if start is not None else pristine(dialect, folder=folder)
        self.dialect = self._pristine.dialect
        self.version = f"{self.dialect}-{tools_version()}"
        self.state = self._pristine.copy()
        self.writes: list[Write] = []

    def tools(self) -> tuple[Tool, ...]:
        """All 27 tools, at work on this world."""
        return tuple(WorkBenchTool(entry, self) for entry in catalogue().values())

    def fingerprint(self) -> str:
        """SHA-256 of every table, its labels and columns included, and of the version."""
        return digest({"version": self.version, "tables": self.state.digests})

    def fork(self) -> Self:
        """A copy with a state and a log of its own."""
        forked = copy.copy(self)
        forked.state = self.state.copy()
        forked.writes = list(self.writes)
        return forked

    def score(self, expected: JsonValue) -> tuple[Score, ...]:
        """Judge the writes done here against ``{"actions": [...], "error": bool, "plot_end_date": bool}`` (the last two may be left out).

        As the benchmark does, the calls are run again from the pristine tables, rather than this world's state looked at; ``details`` says whether both agree.
        """
        right, error, plot_end_date = _read_expected(expected)
        if right is None:
            return verdict_scores(None, reason="what is expected is not {'actions': [text, …]}")
        done = [write_action(write.tool, write.arguments) for write in self.writes]
        verdict, state = judge(self._pristine, done, right, error=error, plot_end_date=plot_end_date)
        agrees = plot_end_date or state.digests == self.state.digests
        return verdict_scores(verdict, writes=len(done), same_state=agrees)


class WorkBenchTool:
    """One of the 27 tools, at work on a world.

    Arguments that are null count as not given. Arguments that the tool does not have are dropped in the 2024 dialect, as its agents' framework did (though its scorer will skip the
    call), and refused in 2026. Whatever goes wrong inside is an observation with ``error`` set, and changes nothing.
    """

    def __init__(self, entry: Entry, world: WorkBenchWorld) -> None:
        self.name = entry.wire
        self.description = entry.description
        self.parameters = entry.schema(world.dialect)
        self.effect = entry.effect
        self.delivery: Delivery = "local" if entry.effect == "write" else "plain"
        self.version = world.version
        self._entry = entry
        self._world = world

    @property
    def upstream_name(self) -> str:
        """The benchmark's name for it, with a dot."""
        return self._entry.name

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """Do the work. What is written carries the fingerprint that it led to."""
        return self.call(arguments)

    def call(self, arguments: Mapping[str, JsonValue]) -> Observation:
        """The same without waiting: nothing here does."""
        world, entry = self._world, self._entry
        given = {
            name: clean_text(value) if isinstance(value, str) else value
            for name, value in arguments.items()
            if value is not None
        }
        unknown = given.keys() - entry.parameters.keys()
        if unknown and world.dialect == "2026":
            name = min(unknown)
            return self._failed(f"it has no argument {name[:60]!r}{nearest(name, entry.parameters)}")
        known = {name: value for name, value in given.items() if name in entry.parameters}
        for name, value in known.items():
            if isinstance(value, list | dict):
                return self._failed(f"{name} must be text, not {type(value).__name__}")
            if isinstance(value, int) and value.bit_length() > _MAX_BITS:
                return self._failed(f"{name} must be text, not a number of more than {_MAX_BITS} bits")
        if world.dialect == "2026":
            known = {name: str(value) for name, value in known.items()}
        try:
            text = render(entry.function(world.state, **known), dialect=world.dialect)
        except Exception as error:  # noqa: BLE001 - whatever a model wrote, the answer is an observation
            return self._failed(f"{type(error).__name__}: {error}")
        if self.effect == "read":
            return Observation(text=text)
        world.writes.append(Write(tool=entry.name, arguments=given))
        return Observation(text=text, data={"fingerprint": world.fingerprint()})

    async def confirm(self, key: str) -> Observation | None:
        """Never asked: nothing leaves this process."""
        return None

    def _failed(self, problem: str) -> Observation:
        return Observation(text=f"{self.name} was not done: {problem}"[:_MAX_ERROR], error=True)


def verdict_scores(verdict: Verdict | None, **details: JsonValue) -> tuple[Score, ...]:
    """A verdict as scores; none for a run that cannot be judged is wrong in everything."""
    values = {
        "correct": verdict is not None and verdict.correct,
        "no_side_effects": verdict is not None and not verdict.unwanted_side_effects,
        "exact_match": verdict is not None and verdict.exact_match,
    }
    return tuple(
        Score(scorer=name, value=float(value), correct=value, details=details if name == "correct" else {})
        for name, value in values.items()
    )


def _read_expected(expected: JsonValue) -> tuple[Sequence[str] | None, bool, bool]:
    if not isinstance(expected, dict):
        return None, False, False
    actions = expected.get("actions")
    if not isinstance(actions, list):
        return None, False, False
    texts = [action for action in actions if isinstance(action, str)]
    right = texts if len(texts) == len(actions) else None
    return right, bool(expected.get("error")), bool(expected.get("plot_end_date"))
