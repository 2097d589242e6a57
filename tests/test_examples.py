"""The examples run as they stand, as scripts and through the command, as their own first lines say."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"


def run(*command: str, home: Path) -> subprocess.CompletedProcess[str]:
    """``command`` from the project's root, by this interpreter and with warnings as errors."""
    environment = {**os.environ, "MOTET_HOME": str(home), "PYTHONWARNINGS": "error"}
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )


def lines(name: str, *, home: Path) -> dict[str, str]:
    """What an example prints, as ``before the colon: after it``."""
    done = run(f"examples/{name}.py", home=home)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)


def test_own_tool_is_called_with_checked_arguments(home: Path) -> None:
    """A wrong argument comes back to the model as a complaint, the right one reaches the function."""
    done = run("examples/own_tool.py", home=home)
    assert done.returncode == 0, done.stderr
    complaint, value, answer = done.stdout.splitlines()
    assert complaint.startswith("Nothing was run: argument 'last'")
    assert value == "357"
    assert answer == "answer: 357 days."


def test_own_system_answers_with_one_of_its_choices(home: Path) -> None:
    """Three voices are asked, each answer is one of the choices, and one with the most votes is the answer."""
    said = lines("own_system", home=home)
    votes = eval(said["votes"], {"__builtins__": {}})
    assert set(votes) <= {"sung", "danced"}
    assert sum(votes.values()) == 3
    assert votes[said["answer"]] == max(votes.values())


def test_a_corpus_question_is_answered_over_its_document(home: Path) -> None:
    """The embedded model looks the question up, finds the document that holds the answer, and says something.

    What it says is not tested: the likeliest word can differ between processors.
    """
    done = run("examples/corpus_question.py", home=home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("answer: ")
    assert "\nsource: thomas-tallis.md#" in done.stdout


def test_a_budgeted_run_keeps_its_best_answer(home: Path) -> None:
    """The run makes the calls it may, stops with status ``budget``, says why, and has an answer."""
    done = run("examples/budgeted_run.py", home=home)
    assert done.returncode == 0, done.stderr
    assert "status: budget\nbecause: the calls budget of the run is used up" in done.stdout
    assert "\nbest answer so far: None" not in done.stdout
    assert "\n3 calls, " in done.stdout


def test_own_benchmark_judges_the_state_that_was_left(home: Path) -> None:
    """Nine of twelve tasks are done by a script that moves three of the four books, one more needs nothing done, and doing nothing does four."""
    said = lines("own_benchmark", home=home)
    assert said["react"] == "83.3 % of 12 tasks, 21 calls"
    assert said["noop"] == "33.3 % of 12 tasks, 0 calls"
    assert said["difference"].startswith("-50.0 points, 95 % interval -")


def test_the_bench_command_of_own_benchmark_works(home: Path) -> None:
    """Its ``motet bench`` line runs as written, with a script as the model."""
    text = (EXAMPLES / "own_benchmark.py").read_text(encoding="utf-8")
    (line,) = [line.strip() for line in text.splitlines() if line.startswith("    motet bench")]
    code = "from motet.cli import main; raise SystemExit(main())"
    done = run("-c", code, *shlex.split(line)[1:], "--model", "scripted:echo", home=home)
    assert done.returncode == 0, done.stderr
    assert "12 of 12 cells" in done.stdout


def test_a_killed_run_resumes_to_the_same_end_and_pays_nothing_twice(home: Path) -> None:
    """SIGKILL in the middle: two replies come back from the journal, one is made, and all figures equal those of an undisturbed run."""
    said = lines("resumed_run", home=home)
    assert said["killed"].endswith("ended with SIGKILL")
    assert said["resumed"].startswith("2 calls came back from the journal, 1 were made; ")
    assert "forty voices" in said["resumed"]


def test_a_team_of_ones_own_inherits_in_the_next_run(home: Path) -> None:
    """In the first run both nodes work, one of them without a model; in the second both results come from the store."""
    said = run("examples/inherit_team.py", home=home)
    assert said.returncode == 0, said.stderr
    ran, reused = "ran (no record has its key)", "reused (the store has a record of it)"
    first, second = said.stdout.splitlines()[:3], said.stdout.splitlines()[3:]
    assert first[1:] == [f"  catalogue: {ran}", f"  answer: {ran}"]
    assert second[1:] == [f"  catalogue: {reused}", f"  answer: {reused}"]
    assert first[0].endswith(" tokens paid, 0 inherited")
    assert not second[0].endswith(" 0 inherited")


@pytest.mark.parametrize(
    ("name", "models"),
    [
        ("own_tool", ["--model", "scripted:echo"]),
        ("own_system", []),
        ("corpus_question", ["--model", "scripted:reader"]),
        ("own_benchmark", ["--model", "scripted:echo"]),
    ],
)
def test_the_command_in_an_examples_docstring_works(name: str, models: list[str], home: Path) -> None:
    """The ``motet solve`` line in the docstring runs as written (with a script where the model's own words are not the point)."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    (line,) = [line.strip() for line in text.splitlines() if line.startswith("    motet solve")]
    done = run("-c", "from motet.cli import main; main()", *shlex.split(line)[1:], *models, home=home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_every_example_is_tested_and_listed() -> None:
    """No example is without a test here, and the list in the folder's README is complete."""
    here = Path(__file__).read_text(encoding="utf-8")
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for example in EXAMPLES.glob("*.py"):
        assert f'"{example.stem}"' in here or f"examples/{example.name}" in here
        assert f"]({example.name})" in listed
