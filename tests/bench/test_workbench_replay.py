"""Recorded runs of WorkBench: every verdict is the benchmark's own, and the tools say again what they said then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.bench.workbench_questions import read_questions
from motet.bench.workbench_records import read_record
from motet.bench.workbench_replay import Replay, replay
from motet.errors import InputError
from motet.settings import data_dir
from motet.worlds.workbench import WorkBenchTool, WorkBenchWorld
from motet.worlds.workbench.data import workbench_dir
from tests.worlds.workbench.office import needs_files

pytestmark = needs_files


def recorded(pattern: str) -> list[Path]:
    """The recorded files whose names fit, in order."""
    base = data_dir()
    assert base is not None
    return sorted((base / "workbench" / "results").glob(pattern))


@pytest.fixture(scope="module")
def whole() -> Replay:
    """All recorded files."""
    return replay(recorded("*/*.csv"))


def test_every_verdict_is_the_benchmarks_own(whole: Replay) -> None:
    """Right, side effects and exact match of all 1380 rows."""
    base = data_dir()
    assert base is not None
    theirs = json.loads((base / "workbench" / "verdicts.json").read_text())["files"]
    assert len(whole.files) == len(theirs) == 12
    for file in whole.files:
        bits = theirs["/".join(Path(file.file).parts[-3:])]
        ours = (file.correct, file.side_effects, file.exact_match)
        assert ours == (bits["correct_bits"], bits["side_effect_bits"], bits["exact_match_bits"])
        assert (file.upstream, file.unequal) == ("equal", ())


def test_the_sums_are_the_published_ones(whole: Replay) -> None:
    """GPT-4 with the tools of a domain: 49.28 %; Claude 2 with all tools: 24.49 %."""
    claude, gpt = whole.contestants
    assert (gpt.contestant, gpt.n, gpt.correct, gpt.side_effects, gpt.exact_match) == (
        "gpt-4_domains",
        690,
        340,
        138,
        318,
    )
    assert f"{gpt.accuracy:.2%}" == "49.28%"
    assert (claude.contestant, claude.correct, claude.side_effects, claude.exact_match) == (
        "claude-2_all",
        169,
        235,
        175,
    )
    assert whole.total.upstream == "equal"


def test_the_tools_say_again_what_they_said_then(whole: Replay) -> None:
    """All of 3724 recorded observations; three calls more were of tools that do not exist, and were answered by the agents' framework."""
    assert whole.total.calls == 3727
    assert whole.total.causes == {"no such tool": 3}
    assert whole.total.observations_equal is not None
    assert whole.total.observations_equal > 0.998
    assert whole.total.unrecorded == 34


def test_a_run_that_is_lived_through_again_is_judged_as_the_benchmark_judged_it(whole: Replay) -> None:
    """A live run's verdict comes from the writes that its world logged: the same as from the recorded list of calls, for every row with recorded steps."""
    office = WorkBenchWorld()
    questions = read_questions(workbench_dir().resolve())
    for file, path in zip(whole.files, recorded("*/*.csv"), strict=True):
        for index, row in enumerate(read_record(path, questions).rows):
            if row.steps is None:
                continue
            world = office.fork()
            tools = {tool.upstream_name: tool for tool in world.tools() if isinstance(tool, WorkBenchTool)}
            for step in row.steps:
                if step.tool in tools and isinstance(step.arguments, dict):
                    tools[step.tool].call(step.arguments)
            correct, no_side_effects, _ = world.score({"actions": list(row.question.actions), "error": bool(row.error)})
            assert (correct.value, 1 - no_side_effects.value) == (
                int(file.correct[index]),
                int(file.side_effects[index]),
            ), row.question.id


def test_a_file_that_is_unknown_to_the_benchmark_is_judged_without_comparison(tmp_path: Path) -> None:
    """A recording of one's own, or the beginning of one."""
    (path,) = recorded("email/gpt-4*.csv")
    lines = path.read_text().splitlines(keepends=True)
    mine = tmp_path / "mine_all_2026.csv"
    mine.write_text("".join(lines[:1]) + lines[1])
    (file,) = replay([mine]).files
    assert (file.n, file.upstream, file.contestant) == (1, "unknown", "mine_all")


HEAD = "query,function_calls,full_response,error\n"
FIRST = "Delete my last email from nadia"
BAD = {
    "not a table": ("\x00\x01", "no recorded file of WorkBench"),
    "empty": ("", "no column 'query'"),
    "another benchmark": ("question,answer\nWhere?,There\n", "no column 'query'"),
    "no rows": (HEAD, "has no rows"),
    "other questions": (HEAD + "Where is it?,[],,\n", "opens none of the six domains"),
    "another order": (HEAD + f"{FIRST},[],,\n{FIRST},[],,\n", "row 1: the query is not that of email#0001"),
    "calls that are none": (HEAD + f"{FIRST},delete it,,\n", "row 0: expected a list of calls"),
    "code in place of calls": (HEAD + f"{FIRST},__import__('os').getcwd(),,\n", "row 0: expected a list of calls"),
    "code in place of a response": (HEAD + f"{FIRST},[],open('x'),\n", "row 0: full_response cannot be read"),
    "a response of another shape": (HEAD + f"{FIRST},[],{{}},\n", "row 0: full_response cannot be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_no_recording_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    """It is named, and so is what is wrong with it."""
    text, problem = BAD[name]
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem) as caught:
        replay([path])
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_missing_or_given_twice_are_refused(tmp_path: Path) -> None:
    """Before anything is judged."""
    with pytest.raises(InputError, match="cannot be read"):
        replay([tmp_path / "none.csv"])
    (path,) = recorded("email/gpt-4*.csv")
    with pytest.raises(InputError, match="given twice"):
        replay([path, path])
    with pytest.raises(InputError, match="no recorded file"):
        replay([])
