"""WorkBench: tasks set up, writes and verdicts per second, and what a copy of its world costs.

    MOTET_DATA_DIR=… python -m benchmarks.workbench [--rounds 7] [--upstream CHECKOUT --upstream-python PYTHON]

Every figure is the median over the rounds, in which the measurements take turns; without any model.

- set-up: the world of one task (the files are read once for a process; the first row tells how long that takes).
- fork: a copy of a world. deep copy: the same tables copied cell by cell, which is what a copy without sharing would cost.
- write: an e-mail sent in a fresh copy, with the fingerprint that it reports (only the table that changed is hashed anew).
- fingerprint: of a world in which nothing changed since the last.
- verdict: the calls of a task judged as right, from text to scores; the mean over all 690 tasks, the twelve-call ones included.
- recorded row: the same for recorded runs, where the recorded files are at hand.
- upstream's evaluator: the first fifty rows of each recorded file, in turn with ours, where a checkout of https://github.com/olly-styles/WorkBench at
  42f1b6d is given, and a Python with its requirements (pandas 2.1.4, langchain 0.1.11, langchain-openai 0.0.8). Both must give the same verdicts.
"""

from __future__ import annotations

import copy
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.common import parser, publish, table
from motet.bench.workbench_questions import read_questions
from motet.bench.workbench_records import read_record
from motet.errors import InputError
from motet.worlds.workbench import WorkBenchTool, WorkBenchWorld
from motet.worlds.workbench.data import pristine, workbench_dir
from motet.worlds.workbench.scoring import judge

ROWS = 50  # of each recorded file, for upstream's evaluator: it takes some tenths of a second for a row
# Run by upstream's Python: rows on standard input, verdicts and seconds on standard output.
UPSTREAM = """
import json, sys, time
sys.path.insert(0, ".")
from src.evals.utils import is_correct
# Upstream's caller writes real newlines out before it asks.
rows = [[[call.replace("\\n", "\\\\n") for call in calls] for calls in row[:2]] + row[2:] for row in json.load(sys.stdin)]
begun = time.perf_counter()
verdicts = [bool(is_correct(*row)) for row in rows]
print(json.dumps({"verdicts": verdicts, "seconds": time.perf_counter() - begun}))
"""
MAIL = {"recipient": "ann.lee@atlas.com", "subject": "Hello", "body": "How are you?"}


def seconds(work: Callable[[], object], times: int) -> float:
    """Seconds for one of ``times`` calls of ``work``."""
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def measurements(folder: Path) -> dict[str, tuple[Callable[[], object], int, int]]:
    """What is measured: the work, how often a round does it, and how many units one call is."""
    world = WorkBenchWorld()
    start = pristine("2024")
    questions = read_questions(folder)
    tables = [(table.columns, table.labels, [list(row) for row in table.rows]) for table in start.written.values()]
    files = [read_record(path, questions) for path in sorted((folder / "results").glob("*/*.csv"))]
    rows = [row for file in files for row in file.rows]

    def send() -> None:
        mine = world.fork()
        tools = {tool.name: tool for tool in mine.tools()}
        send_email = tools["email_send_email"]
        assert isinstance(send_email, WorkBenchTool)
        send_email.call(MAIL)

    def judge_right() -> None:
        for question in questions:
            assert judge(start, question.actions, question.actions).verdict.correct

    def judge_recorded() -> None:
        for row in rows:
            judge(start, row.actions, row.question.actions, error=bool(row.error))

    found: dict[str, tuple[Callable[[], object], int, int]] = {
        "set-up": (WorkBenchWorld, 500, 1),
        "fork": (world.fork, 2000, 1),
        "deep copy": (lambda: copy.deepcopy(tables), 2, 1),
        "write": (send, 50, 1),
        "fingerprint": (world.fingerprint, 500, 1),
        "verdict": (judge_right, 1, len(questions)),
    }
    if rows:
        found["recorded row"] = (judge_recorded, 1, len(rows))
    return found


def beside_upstream(folder: Path, checkout: Path, python: Path) -> tuple[float, float]:
    """Seconds for a row of upstream's evaluator and of ours, on the same rows. Raises ValueError where a verdict differs."""
    questions = read_questions(folder)
    files = [read_record(path, questions) for path in sorted((folder / "results").glob("*/*.csv"))]
    rows = [row for file in files for row in file.rows[:ROWS]]
    asked = json.dumps([[list(row.actions), list(row.question.actions), row.error] for row in rows])
    done = subprocess.run(
        [str(python), "-c", UPSTREAM], input=asked, capture_output=True, text=True, cwd=checkout, check=True
    )
    theirs = json.loads(done.stdout.splitlines()[-1])
    start = pristine("2024")
    begun = time.perf_counter()
    ours = [judge(start, row.actions, row.question.actions, error=bool(row.error)).verdict.correct for row in rows]
    spent = time.perf_counter() - begun
    if ours != theirs["verdicts"]:
        raise ValueError("upstream's evaluator judges some rows otherwise")
    return theirs["seconds"] / len(rows), spent / len(rows)


def main() -> int:
    """Measure and print. Exits with 2 where the benchmark's files are missing."""
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--upstream", type=Path, help="a checkout of the upstream benchmark")
    arguments.add_argument(
        "--upstream-python", type=Path, default=Path(sys.executable), help="a Python that can run it"
    )
    given = arguments.parse_args()
    try:
        begun = time.perf_counter()
        WorkBenchWorld()
        first = time.perf_counter() - begun
        work = measurements(workbench_dir().resolve())
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    taken: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(given.rounds):
        for name, (call, times, units) in work.items():
            taken[name].append(seconds(call, times) / units)
    medians = {"first set-up": first, **{name: statistics.median(values) for name, values in taken.items()}}
    if given.upstream is not None:
        theirs, ours = beside_upstream(workbench_dir().resolve(), given.upstream, given.upstream_python)
        medians |= {"upstream's evaluator, a row": theirs, "ours on the same rows": ours}
    lines = [(name, value * 1e6, round(1 / value)) for name, value in medians.items()]
    publish(
        "workbench",
        as_json=given.json,
        facts={"seconds": medians},
        text=table(("", "microseconds", "per second"), lines),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
