"""Code judged by tests, in the sandbox. A solution passes if every test does.

Nothing that is expected ever enters a sandbox in which the solution runs: what it printed or returned comes out as plain data and is compared outside
(for assertions: in a second sandbox, see ``asserts.py``). So there is no verdict to forge and no expectation to read: exits, printed verdicts,
objects that equal everything and patched modules only change what the solution is found to have answered.

Rules of comparison are LiveCodeBench's (https://github.com/LiveCodeBench/LiveCodeBench, ``testing_util.py``). Limits are on CPU time, since a limit on wall
time would make verdicts depend on what else the machine does; wall time is bounded more loosely. Solutions have the standard library only.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import anyio
from pydantic import Field, JsonValue

from motet.bench.scoring.asserts import split_asserts
from motet.bench.scoring.inside.plain import decode, encode
from motet.errors import ToolError
from motet.tools.sandbox import Execution, Limits, run_python
from motet.value import Value

Outcome: TypeAlias = Literal["passed", "wrong", "timeout", "memory", "error", "total timeout", "no code", "harness"]

_Test = TypeVar("_Test")

# LiveCodeBench's codes; it counts what is out of memory as a run-time error.
CODES: Mapping[Outcome, int] = {
    "passed": 0,
    "total timeout": -1,
    "wrong": -2,
    "timeout": -3,
    "memory": -4,
    "error": -4,
    "no code": -4,
    "harness": -5,
}

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*(?:```|~~~)[ \t]*$", re.MULTILINE | re.DOTALL)
_LOOKS_LIKE_CODE = re.compile(
    r"\s*(?:from\s+\w|import\s+\w|def\s+\w|class\s+\w|async\s+def|@\w|print\(|[A-Za-z_][\w, ]*=[^=])"
)
_LONGEST = 1 << 20  # characters of a response
_LAST_WORDS = 300


class StdinTest(NamedTuple):
    """What a program reads, and what it must print."""

    input: str
    expected: str


class CallTest(NamedTuple):
    """What a function is called with, and what it must return, both as JSON."""

    arguments: tuple[JsonValue, ...]
    expected: JsonValue

    @classmethod
    def from_lines(cls, input_: str, expected: str) -> CallTest:
        """One argument as JSON on each line, and the expected value as JSON. Raises ValueError for what is no JSON."""
        return cls(tuple(_json(line) for line in input_.split("\n")), _json(expected))


class CodeLimits(Value):
    """Bounds of one test (CPU seconds, bytes) and of all tests of one solution together (wall seconds; ``None``: one more than each test's
    limit, and five).
    """

    seconds: int = Field(default=6, gt=0)
    memory: int = Field(default=1 << 30, ge=64 << 20)
    total_seconds: float | None = Field(default=None, gt=0)


_LIMITS = CodeLimits()


@dataclass(frozen=True)
class CodeVerdict:
    """How a solution fared: the first outcome that is no pass, at which test (from 0), and its last words.

    ``passed`` counts the tests before it; ``details`` is JSON for a Score.
    """

    outcome: Outcome
    passed: int
    tests: int
    failed_at: int | None = None
    message: str = ""

    @property
    def correct(self) -> bool:
        """Whether all tests passed."""
        return self.outcome == "passed"

    @property
    def details(self) -> dict[str, JsonValue]:
        """For a Score's details."""
        return {
            "outcome": self.outcome,
            "code": CODES[self.outcome],
            "passed": self.passed,
            "tests": self.tests,
            "failed_at": self.failed_at,
            "message": self.message,
        }


def extract_code(response: str) -> str | None:
    """The last fenced block of Python (or of no named language) in ``response``; without any fence the whole, where it begins like code."""
    text = response[-_LONGEST:]
    blocks = [match for match in _FENCE.finditer(text) if match[1].lower() in ("", "python", "py", "python3")]
    if blocks:
        return blocks[-1][2] if blocks[-1][2].strip() else None
    return text if "```" not in text and _LOOKS_LIKE_CODE.match(text) else None


async def check_stdin(
    program: str | None,
    tests: Sequence[StdinTest],
    *,
    limits: CodeLimits = _LIMITS,
    allow_weak: bool = False,
) -> CodeVerdict:
    """Run ``program`` once for each test and compare what it printed.

    Raises InputError where there is no sandbox (and ``allow_weak`` is not given); nothing that the program does raises.
    """

    async def check(program: str, test: StdinTest) -> tuple[Outcome, str]:
        room = len(test.expected.encode()) * 2
        execution = await _run("program", program, stdin=test.input, limits=limits, room=room, allow_weak=allow_weak)
        failure = _failure(execution)
        if failure:
            return failure
        if execution.stdout_truncated or not same_output(execution.stdout, test.expected):
            return "wrong", f"printed {_short(execution.stdout)}"
        return "passed", ""

    return await _check_all(program, tests, check, limits)


async def check_calls(
    program: str | None,
    name: str,
    tests: Sequence[CallTest],
    *,
    limits: CodeLimits = _LIMITS,
    allow_weak: bool = False,
) -> CodeVerdict:
    """Call ``Solution().name``, or the function ``name``, once for each test in a fresh process, and compare what it returned.

    A returned tuple counts as a list. Raises InputError as ``check_stdin`` does.
    """

    async def check(program: str, test: CallTest) -> tuple[Outcome, str]:
        step: JsonValue = ["call", name, encode(list(test.arguments))]
        room = len(json.dumps(encode(test.expected))) * 4
        results = await _values(program, [step], limits=limits, room=room, allow_weak=allow_weak)
        if isinstance(results, tuple):
            return results
        [result] = results
        if "raised" in result:
            return "error", f"raised {result['raised']}"
        return (
            ("passed", "")
            if same_value(result["value"], test.expected)
            else ("wrong", f"returned {_short(json.dumps(result['value']))}")
        )

    return await _check_all(program, tests, check, limits)


async def check_asserts(
    program: str | None,
    tests: Sequence[str],
    *,
    setup: str = "",
    names: Collection[str] | None = None,
    limits: CodeLimits = _LIMITS,
    allow_weak: bool = False,
) -> CodeVerdict:
    """Judge ``program`` by ``tests``, each a piece of Python with one or more assertions (as in MBPP). One process calls the solution for
    all of them, with the time of one test; another compares.

    ``names`` are what the solution must define (``split_asserts`` says what is assumed without). Raises InputError for tests that cannot be taken
    apart, and as ``check_stdin`` does.
    """
    split = split_asserts(tests, setup=setup, names=names)
    count = len(split.needs)
    if program is None:
        return CodeVerdict("no code", 0, count, 0)
    steps: list[JsonValue] = [[kind, source] for kind, source in split.inside]
    try:
        results = await _values(program, steps, limits=limits, room=1 << 20, allow_weak=allow_weak)
        if isinstance(results, tuple):
            return CodeVerdict(results[0], 0, count, 0, results[1])
        raised = next((result["raised"] for result in results if "raised" in result), None)
        values = [result["value"] for result in results if "value" in result]
        wanted = sum(kind == "eval" for kind, _ in split.inside)
        ready = sum(needed <= len(values) for needed in split.needs)  # assertions whose values are all there
        held = await _held(
            split.outside, [*values, *[None] * (wanted - len(values))], limits=limits, allow_weak=allow_weak
        )
    except ToolError as error:
        return CodeVerdict("harness", 0, count, 0, str(error))
    if held < min(ready, count):
        return CodeVerdict("wrong", held, count, held)
    if raised is not None or ready < count:
        return CodeVerdict("error", ready, count, ready, f"raised {raised}" if raised else "gave no value")
    return CodeVerdict("passed", count, count)


def same_output(printed: str, expected: str) -> bool:
    """Whether two outputs are the same: line by line without outer blanks, each line as text or as numbers."""
    one, other = ([line.strip() for line in text.strip().split("\n")] for text in (printed, expected))
    return len(one) == len(other) and all(
        left == right or _same_numbers(left, right) for left, right in zip(one, other, strict=True)
    )


def same_value(encoded: JsonValue, expected: JsonValue) -> bool:
    """Whether a value that came out of the sandbox equals ``expected``, by Python's own equality of builtin types."""
    try:
        value = decode(encoded)
        return bool((list(value) if isinstance(value, tuple) else value) == expected)
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return False


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """The unbiased estimate of the chance that one of ``k`` samples is correct (Chen et al., 2021). Raises ValueError for fewer than ``k`` samples."""
    if not 0 <= correct <= samples or not 1 <= k <= samples:
        raise ValueError(f"pass@{k} cannot be told from {correct} correct of {samples}")
    return 1.0 - math.comb(samples - correct, k) / math.comb(samples, k)


async def _check_all(
    program: str | None,
    tests: Sequence[_Test],
    check: Callable[[str, _Test], Awaitable[tuple[Outcome, str]]],
    limits: CodeLimits,
) -> CodeVerdict:
    """Run tests in order up to the first that does not pass."""
    if program is None:
        return CodeVerdict("no code", 0, len(tests), 0)
    total = limits.total_seconds or (limits.seconds + 1) * len(tests) + 5
    passed = 0
    with anyio.move_on_after(total) as scope:
        for test in tests:
            try:
                outcome, message = await check(program, test)
            except ToolError as error:
                outcome, message = "harness", str(error)
            if outcome != "passed":
                return CodeVerdict(outcome, passed, len(tests), passed, message)
            passed += 1
    if scope.cancelled_caught:
        return CodeVerdict(
            "total timeout", passed, len(tests), passed, f"all tests together took more than {total:g} s"
        )
    # No test at all shows nothing.
    return (
        CodeVerdict("passed", passed, len(tests)) if tests else CodeVerdict("harness", 0, 0, None, "there are no tests")
    )


async def _run(
    program: str,
    solution: str,
    *,
    stdin: str,
    limits: CodeLimits,
    room: int,
    allow_weak: bool,
    wall: float | None = None,
) -> Execution:
    """Run one of the programs in ``inside`` with the solution beside it; ``room`` is the output in bytes beyond the usual."""
    sandbox = Limits(
        wall_seconds=wall or 3 * limits.seconds + 5,
        cpu_seconds=limits.seconds,
        memory=limits.memory,
        output=(1 << 20) + room,
    )
    beside: dict[str, bytes | str] = {
        "solution.py": solution,
        "motet_plain.py": _source("plain"),
        "motet_prelude.py": _source("prelude"),
    }
    return await run_python(_source(program), files=beside, stdin=stdin, limits=sandbox, allow_weak=allow_weak)


async def _values(
    solution: str, steps: list[JsonValue], *, limits: CodeLimits, room: int, allow_weak: bool
) -> list[dict[str, JsonValue]] | tuple[Outcome, str]:
    """What the calls in ``steps`` returned, or why they did not. Whatever came out was written by the solution, so its form is checked."""
    stdin = json.dumps({"steps": steps})
    execution = await _run("values", solution, stdin=stdin, limits=limits, room=room, allow_weak=allow_weak)
    failure = _failure(execution)
    if failure:
        return failure
    try:
        results = json.loads(execution.stdout)
    except (ValueError, RecursionError):
        return "error", "it ended without a result"
    wanted = sum(isinstance(step, list) and step[0] != "exec" for step in steps)
    if (
        not isinstance(results, list)
        or not all(_is_result(result) for result in results)
        or not 0 < len(results) <= wanted
    ):
        return "error", "it ended without a result"
    if len(results) < wanted and "raised" not in results[-1]:
        return "error", "it ended without a result"
    return results


async def _held(
    steps: Sequence[tuple[str, str]], values: Sequence[JsonValue], *, limits: CodeLimits, allow_weak: bool
) -> int:
    """How many assertions hold, up to the first that does not. A comparison that cannot be made does not hold."""
    stdin = json.dumps({"values": list(values), "steps": [[kind, source] for kind, source in steps]})
    execution = await _run("verdict", "", stdin=stdin, limits=limits, room=0, allow_weak=allow_weak)
    last = execution.stdout.rstrip().rpartition("\n")[2]
    return int(last) if execution.ok and last.isdecimal() else 0


def _json(text: str) -> JsonValue:
    """``text`` as JSON, also with integers of more digits than Python reads by itself."""
    value: JsonValue = json.loads(
        text, parse_int=lambda digits: int(digits if len(digits) < 4_000 else Decimal(digits))
    )
    return value


def _is_result(result: object) -> bool:
    return (
        isinstance(result, dict) and len(result) == 1 and ("value" in result or isinstance(result.get("raised"), str))
    )


def _failure(execution: Execution) -> tuple[Outcome, str] | None:
    """How a run failed, or ``None``."""
    if execution.ok:
        return None
    words = execution.stderr.strip().rpartition("\n")[2]
    if execution.timed_out:
        return "timeout", "it ran longer than its limit"
    if execution.out_of_memory:
        return "memory", words[:_LAST_WORDS]
    ending = f"ended by {execution.signal}" if execution.signal else f"exit code {execution.exit_code}"
    return "error", words[:_LAST_WORDS] or ending


def _same_numbers(left: str, right: str) -> bool:
    try:
        return [Decimal(word) for word in left.split()] == [Decimal(word) for word in right.split()]
    except (InvalidOperation, ValueError):
        return False


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 100 else f"{text[:99]}…")


@cache
def _source(name: str) -> str:
    return files("motet.bench.scoring.inside").joinpath(f"{name}.py").read_text(encoding="utf-8")
