"""Recorded runs of WorkBench, judged again and lived through again: the check that ours is the same benchmark.

- Each row's calls are judged by our scorer. Where the benchmark's own verdicts are at hand (``verdicts.json`` beside the data), every row is compared.
- Each recorded call is made again, in a pristine office for each row, and what our tools answer is compared with what the agent was told then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import JsonValue

from motet.bench.workbench_questions import read_questions
from motet.bench.workbench_records import File, Row, Step, read_record
from motet.errors import InputError
from motet.settings import data_dir
from motet.value import Value
from motet.worlds.workbench.data import pristine, workbench_dir
from motet.worlds.workbench.render import render
from motet.worlds.workbench.scoring import judge
from motet.worlds.workbench.world import WorkBenchTool, WorkBenchWorld

# ``no such tool``: the agent called a tool that does not exist, and its framework answered in the tools' place.
# ``other answer``: our tool says something else.
Cause: TypeAlias = Literal["no such tool", "other answer"]


class Difference(Value):
    """A recorded observation that ours does not equal."""

    task: str
    step: int
    tool: str
    cause: Cause
    recorded: str
    ours: str


class Replayed(Value):
    """One recorded file. The verdicts are texts of one bit a row; ``upstream`` tells how they compare with the benchmark's own, and ``unequal`` which rows
    differ. ``unrecorded`` rows have no observations, since the framework broke off.
    """

    file: str
    contestant: str
    domain: str
    correct: str
    side_effects: str
    exact_match: str
    upstream: Literal["equal", "different", "unknown"]
    unequal: tuple[str, ...]
    calls: int
    differences: tuple[Difference, ...]
    unrecorded: int

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.correct)


class Tally(Value):
    """The sums over some files."""

    contestant: str
    files: int
    n: int
    correct: int
    side_effects: int
    exact_match: int
    upstream: Literal["equal", "different", "unknown"]
    unequal: tuple[str, ...]
    calls: int
    equal: int
    causes: dict[str, int]
    unrecorded: int

    @property
    def accuracy(self) -> float:
        """The share of correct rows."""
        return self.correct / self.n

    @property
    def observations_equal(self) -> float | None:
        """The share of recorded calls whose observation ours equals; ``None`` where none was recorded."""
        return self.equal / self.calls if self.calls else None


class Replay(Value):
    """What ``replay`` found, file by file."""

    files: tuple[Replayed, ...]

    @property
    def contestants(self) -> tuple[Tally, ...]:
        """The sums for each contestant, in the order in which they appear."""
        names = dict.fromkeys(file.contestant for file in self.files)
        return tuple(tally(name, [file for file in self.files if file.contestant == name]) for name in names)

    @property
    def total(self) -> Tally:
        """The sums over all files."""
        return tally("all", self.files)


def replay(files: Iterable[str | Path]) -> Replay:
    """Judge and live through recorded ``files``, in the 2024 dialect, in which all of them were made.

    Raises InputError that names the file and what is wrong: not there, of another benchmark, given twice, cut.
    """
    paths = [Path(file) for file in files]
    if not paths:
        raise InputError("no recorded file to replay; give some, such as results/email/gpt-4_domains_….csv")
    folder = _folder(paths[0])
    questions = read_questions(folder)
    known = _verdicts(folder)
    office = WorkBenchWorld(folder=folder)
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise InputError(f"recorded file {twice} is given twice")
    return Replay(files=tuple(_replayed(read_record(path, questions), folder, office, known) for path in paths))


def _folder(file: Path) -> Path:
    """The benchmark's data: as configured, else where the recorded ``file`` lies beside them, as upstream keeps it. Raises InputError."""
    if data_dir() is None:
        for above in file.resolve().parents:
            if (above / "processed" / "queries_and_answers").is_dir():
                return above
    return workbench_dir().resolve()


def tally(contestant: str, files: Sequence[Replayed]) -> Tally:
    """The sums over ``files``."""
    causes: dict[str, int] = {}
    for file in files:
        for difference in file.differences:
            causes[difference.cause] = causes.get(difference.cause, 0) + 1
    calls = sum(file.calls for file in files)
    states = {file.upstream for file in files}
    return Tally(
        contestant=contestant,
        files=len(files),
        n=sum(file.n for file in files),
        correct=sum(file.correct.count("1") for file in files),
        side_effects=sum(file.side_effects.count("1") for file in files),
        exact_match=sum(file.exact_match.count("1") for file in files),
        upstream="different" if "different" in states else "unknown" if "unknown" in states else "equal",
        unequal=tuple(row for file in files for row in file.unequal),
        calls=calls,
        equal=calls - sum(causes.values()),
        causes=causes,
        unrecorded=sum(file.unrecorded for file in files),
    )


def _replayed(file: File, folder: Path, office: WorkBenchWorld, known: dict[str, tuple[str, str, str]]) -> Replayed:
    start = pristine("2024", folder=folder)
    verdicts = [judge(start, row.actions, row.question.actions, error=bool(row.error)).verdict for row in file.rows]
    correct, side_effects, exact_match = ("".join("01"[bit] for bit in bits) for bits in zip(*verdicts, strict=True))
    expected = known.get(file.sha256)
    unequal: tuple[str, ...] = ()
    if expected is not None:
        pairs = zip(
            file.rows, zip(correct, side_effects, exact_match, strict=True), zip(*expected, strict=True), strict=True
        )
        unequal = tuple(row.question.id for row, ours, theirs in pairs if ours != theirs)
    return Replayed(
        file=str(file.path),
        contestant=file.contestant,
        domain=file.rows[0].question.domain,
        correct=correct,
        side_effects=side_effects,
        exact_match=exact_match,
        upstream="unknown" if expected is None else "different" if unequal else "equal",
        unequal=unequal,
        calls=sum(len(row.steps or ()) for row in file.rows),
        differences=tuple(difference for row in file.rows for difference in _live_through(row, office)),
        unrecorded=sum(row.steps is None for row in file.rows),
    )


def _live_through(row: Row, office: WorkBenchWorld) -> Iterable[Difference]:
    """Make the calls of one recorded run again, and yield where we answer otherwise."""
    tools = {tool.upstream_name: tool for tool in office.fork().tools() if isinstance(tool, WorkBenchTool)}
    for number, step in enumerate(row.steps or ()):
        recorded = render(step.observation, dialect="2024")
        tool = tools.get(step.tool)
        ours = tool.call(_arguments(tool, step)).text if tool else ""
        if ours != recorded:
            cause: Cause = "other answer" if tool else "no such tool"
            yield Difference(
                task=row.question.id, step=number, tool=step.tool, cause=cause, recorded=recorded, ours=ours
            )


def _arguments(tool: WorkBenchTool, step: Step) -> dict[str, JsonValue]:
    """A call whose whole input is one text gives it to the tool's first parameter, as the framework did."""
    if isinstance(step.arguments, str):
        properties = tool.parameters["properties"]
        assert isinstance(properties, dict)
        return {next(iter(properties)): step.arguments}
    return step.arguments


def _verdicts(folder: Path) -> dict[str, tuple[str, str, str]]:
    """The benchmark's own verdicts by the SHA-256 of the recorded file, where they are at hand."""
    path = folder / "verdicts.json"
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["files"].values()
        return {
            file["sha256"]: (file["correct_bits"], file["side_effect_bits"], file["exact_match_bits"]) for file in found
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} cannot be read: {type(error).__name__}: {error}") from None
