"""Code judged by tests: verdicts, limits, and every way to cheat that we could think of."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.bench.scoring.asserts import split_asserts
from motet.bench.scoring.code import (
    CODES,
    CallTest,
    CodeLimits,
    CodeVerdict,
    StdinTest,
    check_asserts,
    check_calls,
    check_stdin,
    extract_code,
    pass_at_k,
    same_output,
    same_value,
)
from motet.bench.scoring.inside.plain import decode, encode
from motet.errors import InputError
from motet.tools.sandbox import probe

sandboxed = pytest.mark.skipif(probe().level != "namespaces", reason=f"no namespaces on this machine: {probe().reason}")

SHORT = CodeLimits(seconds=1)


def stdin(program: str | None, *tests: tuple[str, str], limits: CodeLimits = SHORT) -> CodeVerdict:
    return asyncio.run(check_stdin(program, [StdinTest(*test) for test in tests], limits=limits))


def calls(program: str, *tests: tuple[list[JsonValue], JsonValue], name: str = "double") -> CodeVerdict:
    return asyncio.run(
        check_calls(program, name, [CallTest(tuple(given), right) for given, right in tests], limits=SHORT)
    )


def asserts(program: str, *tests: str, setup: str = "") -> CodeVerdict:
    return asyncio.run(check_asserts(program, tests, setup=setup, limits=SHORT))


@sandboxed
@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("print(2 * int(input()))", "passed"),
        ("import sys\nprint(2 * int(input()))\nsys.exit(1)", "passed"),
        (
            "n: List[int] = [int(input())]\nprint(f'{2 * n[0]}.0  ')",
            "passed",
        ),  # names that the prelude brings, and equal numbers
        ("from __future__ import annotations\nprint(2 * int(input()))", "passed"),
        ("if __name__ == '__main__': print(2 * int(input()))", "passed"),
        ("print(3 * int(input()))", "wrong"),
        ("print(2 * int(input()), '\\nmore')", "wrong"),
        ("", "wrong"),
        ("while True: pass", "timeout"),
        ("x = 'a' * (1 << 31)\nprint(x)", "memory"),
        ("1 / 0", "error"),
        ("def (", "error"),
        ("print(2 * int(input()))\nimport os; os._exit(3)", "error"),
        ("print('9' * (5 << 20))", "wrong"),
        ("open('/etc/passwd')", "error"),
    ],
)
def test_a_program_passes_exactly_if_it_prints_what_is_expected(program: str, outcome: str) -> None:
    """Each way to fail has its outcome, at the test where it failed."""
    verdict = stdin(program, ("4\n", "8\n"))
    assert verdict.outcome == outcome
    assert verdict.correct == (outcome == "passed")
    assert verdict.details["code"] == CODES[verdict.outcome]
    assert verdict.failed_at == (None if verdict.correct else 0)


@sandboxed
def test_the_first_failing_test_ends_it() -> None:
    """Tests run in order; what comes after the first failure is not run, and the count says how far it came."""
    verdict = stdin("n = int(input())\nprint(n if n < 3 else 0)", ("1", "1"), ("2", "2"), ("3", "3"), ("4", "4"))
    assert (verdict.outcome, verdict.passed, verdict.failed_at, verdict.tests) == ("wrong", 2, 2, 4)


@sandboxed
def test_all_tests_together_have_a_limit_too() -> None:
    """A solution that is slow on every test, below each one's limit, is stopped by the limit on the whole."""
    limits = CodeLimits(seconds=6, total_seconds=0.2)
    verdict = stdin("import time; time.sleep(3); print(1)", ("", "1"), limits=limits)
    assert verdict.outcome == "total timeout"
    assert CODES[verdict.outcome] == -1


def test_no_code_and_no_tests_are_no_pass() -> None:
    """Without a program, or without a test, nothing was shown."""
    assert stdin(None, ("", "")).outcome == "no code"
    assert stdin("print(1)").outcome == "harness"
    assert asyncio.run(check_asserts(None, ["assert f(1)"])).outcome == "no code"


@sandboxed
def test_functions_are_called_as_livecodebench_calls_them() -> None:
    """A method of Solution or a plain function; a tuple counts as a list, but not inside one."""
    assert calls("class Solution:\n  def double(self, n): return 2 * n", ([4], 8), ([[1]], [1, 1])).correct
    assert calls("def double(n): return (n, n)", ([4], [4, 4])).correct
    assert not calls("def double(n): return [(n, n)]", ([4], [[4, 4]])).correct
    assert calls("def double(n): print('noise'); return 10 ** 6000 * n", ([1], 10**6000)).correct
    assert calls("def double(n): return n(1)", ([4], 8)).outcome == "error"
    assert calls("def treble(n): return 3 * n", ([4], 8)).outcome == "error"
    assert calls("def double(n): return object()", ([4], 8)).outcome == "error"


def test_lines_of_json_become_arguments() -> None:
    """One argument a line, as in LiveCodeBench's files."""
    assert CallTest.from_lines('[1, 2]\n"x"', "[true]") == CallTest(([1, 2], "x"), [True])


@sandboxed
@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("assert double(4) == 8", "passed"),
        ("assert set(pair(2)) == {2, 4}", "passed"),
        ("import math\nassert math.isclose(double(0.1), 0.2, rel_tol=1e-9)", "passed"),
        ("assert math.isclose(double(0.1), 0.2)", "passed"),  # a module that the test forgot to import
        ("assert not double(0)", "passed"),
        ("assert double(double(1)) == double(2)", "passed"),
        ("values = [1, 2]\nassert double(values) == [1, 2, 1, 2]", "passed"),
        ("box = Box(3)\nassert box.value == 3 and box.grow().value == 4", "passed"),
        ("assert pair(1)[0] == 1", "passed"),
        ("assert double(4) == 9", "wrong"),
        ("assert double(4) < 'x'", "wrong"),
        ("assert double() == 8", "error"),
        ("assert nothing(4) == 8", "error"),
    ],
)
def test_assertions_hold_or_not_as_if_run_in_one_piece(test: str, outcome: str) -> None:
    """Taking a test apart does not change what it asserts."""
    program = (
        "def double(n): return 2 * n\ndef pair(n): return (n, 2 * n)\n"
        "class Box:\n  def __init__(self, value): self.value = value\n  def grow(self): return Box(self.value + 1)"
    )
    assert asserts(program, test).outcome == outcome


@pytest.mark.parametrize(
    "test",
    [
        "for n in range(3):\n    assert double(n) == 2 * n",
        "assert all(double(n) == m for n, m in [(1, 2)])",
        "assert check(double(4), 8)",
        "def test(): assert double(4) == 8\ntest()",
        "right = double(4) == 8\nassert right",
        "n, right = 4, 8\nassert double(n) == right",
        "double(4)",
        "assert (",
    ],
)
def test_a_test_that_would_show_its_expectation_is_refused(test: str) -> None:
    """What cannot be taken apart raises in one line, rather than be run beside the solution."""
    with pytest.raises(InputError) as raised:
        split_asserts([test])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "test",
    ["right = 41976\nassert double(4) == right", "assert double(4) == 41976", "assert math.isclose(double(4), 41976)"],
)
def test_what_is_expected_stays_outside(test: str) -> None:
    """No step that goes into the solution's sandbox holds the expected value."""
    assert "41976" not in str(split_asserts([test]).inside)


CHEATS = [
    "print('PASS'); print('passed'); import sys; sys.exit(0)",
    "import os; os._exit(0)",
    "raise SystemExit(0)",
    "def double(n):\n  import os; os._exit(0)",
    "def double(n):\n  raise SystemExit",
    "class Any:\n  def __eq__(self, other): return True\n  def __hash__(self): return 0\ndef double(n): return Any()",
    "class Any(int):\n  def __eq__(self, other): return True\n  def __hash__(self): return 0\ndef double(n): return Any(0)",
    "class Any(list):\n  def __eq__(self, other): return True\n  __hash__ = None\ndef double(n): return Any()",
    "class Any(str):\n  def __eq__(self, other): return True\n  __hash__ = None\ndef double(n): return Any()",
    "import json; json.dumps = lambda *a, **k: '[{\"value\": true}]'\ndef double(n): return 0",
    "import json; json.dumps = lambda *a, **k: '[]'\ndef double(n): return 0",
    "import motet_plain; motet_plain.encode = lambda v: {'any': []}\ndef double(n): return 0",
    "import builtins; builtins.eval = lambda *a: True; builtins.compile = None\ndef double(n): return 0",
    "open('motet_plain.py', 'w').write('def encode(v): return True')\nopen('main.py', 'w').write('print(1)')\ndef double(n): return 0",
    "import os\nfor fd in range(3, 20):\n  try: os.write(fd, b'passed 1 [{\"value\": true}]')\n  except OSError: pass\ndef double(n): return 0",
    "import atexit; atexit.register(print, '[{\"value\": 8}]')\ndef double(n): return 0",
    "import threading, os\nthreading.Thread(target=lambda: [os.write(1, b'1') for _ in range(9)]).start()\ndef double(n): return 0",
    "import sys; sys.modules['motet_plain'] = None\ndef double(n): return 0",
    "import sys; sys.settrace(lambda *a: None); sys.excepthook = print\ndef double(n): return 0",
    "def double(n): return float('nan')",
    "def double(n): return None",
]  # fmt: skip

# Looks for numbers of the expected one's form in everything that can be reached: frames, objects, files, processes, the environment.
SEARCH = """
import gc, glob, re, sys
def found():
    frame, seen = sys._getframe(), []
    while frame:
        seen += [repr(frame.f_locals), repr(frame.f_globals)]
        frame = frame.f_back
    seen += [repr(item) for item in gc.get_objects() if isinstance(item, (list, dict, tuple, str, int, bytes))]
    for path in glob.glob('*') + glob.glob('/proc/*/cmdline') + glob.glob('/proc/*/environ') + glob.glob('/tmp/**', recursive=True):
        try: seen.append(open(path, errors='replace').read())
        except OSError: pass
    matches = [match for text in seen for match in re.findall(r'7812345\\d{4}', text)]
    return int(matches[0]) if matches else 0
def double(n): return found()
if __name__ == '__main__': n = input(); print(found())
"""


@sandboxed
@pytest.mark.parametrize("cheat", CHEATS, ids=range(len(CHEATS)))
def test_a_cheat_is_no_pass(cheat: str) -> None:
    """Exits, forged verdicts, objects that equal everything, patched modules and overwritten files earn nothing, in each mode."""
    assert not calls(cheat, ([4], 8)).correct
    assert not asserts(cheat, "assert double(4) == 8").correct
    assert not stdin(cheat, ("4", "8")).correct


@sandboxed
def test_what_is_expected_cannot_be_found() -> None:
    """A solution that searches all it can reach finds what it was called with, and never what is expected."""
    right = 78123456789
    assert calls(SEARCH, ([right], right)).correct
    assert not calls(SEARCH, ([4], right)).correct
    assert asserts(SEARCH, f"assert double({right}) == {right}").correct
    assert not asserts(SEARCH, f"right = {right}\nassert double(4) == right").correct
    assert stdin(SEARCH, (f"{right}", f"{right}")).correct
    assert not stdin(SEARCH, ("4", f"{right}")).correct


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ("Here:\n```python\nx = 1\n```\nDone.", "x = 1\n"),
        ("```\nx = 1\n```\nBetter:\n```py\nx = 2\n```", "x = 2\n"),
        ("```python\nx = 1\n```\nOutput:\n```text\n1\n```", "x = 1\n"),
        ("import os\nprint(1)", "import os\nprint(1)"),
        ("I cannot do this.", None),
        ("```python\n\n```", None),
        ("```python\nx = 1", None),
        ("", None),
        ("```" * 100_000, None),
        ("a" * 1_000_000, None),
    ],
)
def test_code_is_the_last_block(response: str, code: str | None) -> None:
    """The last Python block counts, blocks in other languages do not, and prose is no code."""
    assert extract_code(response) == code


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("1 2\n3\n", "1 2\n3", True),
        ("  1.0 2 \n", "1 2.00", True),
        ("1\n\n2", "1\n2", False),
        ("0.1", "0.10000000001", False),
        ("nan", "nan", True),
        ("sNaN", "1", False),
        ("a b", "a  b", False),
        ("", "0", False),
        ("1e999999999 1", "1 1", False),
        ("passed", "1", False),
    ],
)
def test_outputs_are_compared_line_by_line_and_as_numbers(printed: str, expected: str, same: bool) -> None:
    """Outer blanks do not count; a line is equal as text, or number by number, exactly."""
    assert same_output(printed, expected) is same


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.complex_numbers(allow_nan=False) | st.fractions(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(JSONISH)
def test_plain_values_come_back_with_their_types(value: object) -> None:
    """What is encoded, written as JSON and decoded is equal and of the same type."""
    back = decode(json.loads(json.dumps(encode(value))))
    assert back == value
    assert type(back) is type(value)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["int", "dict", "tuple", "set", "range", "any"]), x)))  # fmt: skip
def test_forged_values_are_compared_without_an_exception(encoded: JsonValue) -> None:
    """Whatever a solution sends instead of an encoded value, comparing it gives an answer."""
    assert same_value(encoded, {"never": 1}) is False


def test_pass_at_k_is_the_unbiased_estimate() -> None:
    """The share of k-subsets with a correct sample: none, all, and a value counted by hand."""
    assert pass_at_k(5, 0, 3) == 0
    assert pass_at_k(5, 5, 1) == 1
    assert pass_at_k(5, 2, 2) == pytest.approx(1 - 3 / 10)
    assert pass_at_k(10, 3, 1) == pytest.approx(0.3)
    with pytest.raises(ValueError, match="pass@3"):
        pass_at_k(2, 1, 3)
