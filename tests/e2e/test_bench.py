"""``motet bench`` as its users run it: to a report, through interruptions, and with what they get wrong."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from motet.settings import data_dir
from tests.e2e.command import Desk, Done, interrupt

BENCHMARK = '''
from motet import Configured, Result, Score, Task
from motet.bench.benchmark import Setting
from motet.system import Needs


class Echoes(Configured):
    """Right is who says the question again."""

    size: int = 4

    @property
    def name(self):
        return "echoes"

    @property
    def version(self):
        return "1"

    @property
    def headline(self):
        return "correct"

    @property
    def paper(self):
        return {"a parrot": {"correct": 0.9}}

    def needs(self):
        return Needs()

    def tasks(self):
        return [Task(id=f"word#{n}", question=f"word {n}") for n in range(self.size)]

    def setting(self, task):
        return Setting()

    async def score(self, task, result, *, run):
        return (Score(scorer="correct", value=float(task.question in (result.answer or ""))),)


class Plain:
    """A system that is no pydantic model."""

    name = "plain"

    async def solve(self, task, *, run):
        return Result(status="completed", answer=task.question)
'''
ECHO = ("--model", "scripted:echo")
DATA = data_dir()


@pytest.fixture
def bench(scripted: Desk) -> Desk:
    """A desk with a benchmark of its own."""
    (scripted.folder / "echoes.py").write_text(BENCHMARK, encoding="utf-8")
    return scripted


def table(done: Done) -> list[tuple[str, str, str, dict[str, float]]]:
    """What two runs of one bench must share."""
    return sorted((row["label"], row["task_id"], row["status"], row["scores"]) for row in done.json["rows"])


def test_from_plan_to_report_and_removal(bench: Desk) -> None:
    """Foretold, run, shown again, looked into, written as a page and removed; the list of runs shows one run."""
    systems = ("bench", "echoes:Echoes", "--systems", "react,echoes:Plain,noop", *ECHO)
    told = bench.run(*systems, "--dry-run", "--json")
    assert (told.code, [item["basis"] for item in told.json["systems"]]) == (0, ["limits", "limits", "limits"])
    assert bench.runs() == []

    done = bench.run(*systems, "--html", "report.html")
    assert done.code == 0
    for said in ("100.0 %", "0.0 %", "Δ to react", "-100.0", "a parrot", "scripted policy", "12 of 12 cells"):
        assert said in done.out
    assert "<svg" in (bench.folder / "report.html").read_text(encoding="utf-8")
    (run,) = bench.runs()
    assert (run["kind"], run["status"], run["system"]) == ("bench", "completed", "react, plain, noop")
    assert bench.run(*systems, "--dry-run", "--json").json["systems"][0]["calls"] == 4

    shown = bench.run("show", "last", "--json")
    assert [system["label"] for system in shown.json["systems"]] == ["react", "plain", "noop"]
    assert bench.run("show", f"{run['run']}.1", "--calls", "--json").json["calls"][0]["name"] == "agent"
    again = bench.run("resume", "last", "--json")
    assert (again.code, again.json) == (0, shown.json)
    for wrong in (
        ("show", "last", "--calls"),
        ("resume", "last", "--budget-tokens", "5"),
        ("resume", f"{run['run']}.1"),
    ):
        refused = bench.run(*wrong)
        assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
    assert bench.run("runs", "rm", "last").code == 0
    assert bench.runs() == []


@pytest.mark.parametrize("end", ["interrupt", "kill", "cancel"])
def test_a_bench_cut_short_ends_as_if_it_had_not_been(bench: Desk, end: str) -> None:
    """Ctrl-C, SIGKILL, or a request to stop from elsewhere, with cells at work: resumed, its table is that of a calm one."""
    command = (
        "bench",
        "echoes:Echoes",
        "--systems",
        "noop,team:Waiter",
        *ECHO,
        "--parallel",
        "3",
        "--progress",
        "json",
    )

    def then(process: subprocess.Popen[str]) -> None:
        if end == "interrupt":
            interrupt(process)
        elif end == "kill":
            os.kill(process.pid, signal.SIGKILL)
        else:
            assert bench.run("runs", "cancel", "last").code == 0

    cut = bench.run_until('"status": "completed"', then, *command)
    assert cut.code == {"interrupt": 130, "kill": -9, "cancel": 130}[end]
    bench.go()
    resumed = bench.run("resume", "last", "--json")
    calm = bench.run(*command, "--json")
    assert (resumed.code, calm.code) == (0, 0)
    assert len(table(calm)) == 8
    assert table(resumed) == table(calm)
    # Whatever was answered before the end came back from the journal.
    assert resumed.json["systems"][1]["total"]["calls"] == calm.json["systems"][1]["total"]["calls"] == 8


def test_a_bench_stops_on_its_total_and_goes_on_with_a_higher_one(bench: Desk) -> None:
    """Exit code 3 and the command to go on; as it stands, resuming stops again, and with more it ends."""
    command = ("bench", "echoes:Echoes", *ECHO, "--parallel", "1", "--total-tokens", "20")
    done = bench.run(*command)
    assert done.code == 3
    assert "--total-…" in done.error_lines[-1]
    assert bench.run("resume", "last").code == 3
    assert bench.run("resume", "last", "--total-tokens", "100000").code == 0


def test_a_bench_in_which_nothing_worked_has_failed(bench: Desk) -> None:
    """One failed cell is data; when all failed, exit code 1 and a line say where to look."""
    done = bench.run("bench", "echoes:Echoes", "--systems", "team:Broken", "--limit", "2")
    assert (done.code, "KeyError 2" in done.out) == (1, True)
    assert ".1 says why" in done.error_lines[-1]
    assert bench.run("bench", "echoes:Echoes", "--systems", "team:Broken,noop", "--limit", "2").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("workbnch",), "did you mean 'workbench'?"),
        (("echoes:Echoes", "--systems", "raect"), "did you mean 'react'?"),
        (("echoes:Echoes", "--systems", ","), "names no system"),
        (("echoes:Echoes", "--systems", "noop", *ECHO), "--model: noop takes no settings"),
        (("echoes:Echoes", *ECHO, "-c", "max_step=2"), "did you mean 'max_steps'?"),
        (("echoes:Echoes", *ECHO, "-b", "sise=2"), "did you mean 'size'?"),
        (("echoes:Echoes", *ECHO, "-b", "size=0"), "has no tasks"),
        (("echoes:Echoes", *ECHO, "--limit", "0"), "--limit is 0"),
        (("echoes:Echoes", *ECHO, "--limit", "1", "--sample", "1"), "give one of them"),
        (("echoes:Echoes", *ECHO, "--html", "nowhere/report.html"), "is not there"),
        (("echoes:Echoes", *ECHO, "--html", "."), "is a folder"),
        (("echoes:Echoes", *ECHO, "--workers", "2"), "add --engine ray"),
        (("echoes:Echoes", *ECHO, "--total-money", "-1"), "--total-money"),
        (("echoes:Echoes", "recorded.csv"), "--replay"),
        (("echoes:Echoes", "--model", "m@http://127.0.0.1:9/v1", "--total-money", "1"), "--price IN,OUT"),
        (("workbench", "--systems", "noop"), "MOTET_DATA_DIR is not set"),
        (("workbench", "--systems", "noop", "--subset", "paper13"), "paper130"),
    ],
)
def test_bad_input_is_one_line_and_no_run(bench: Desk, arguments: tuple[str, ...], said: str) -> None:
    """Whatever is wrong, one line says so before anything is run, and no run is written."""
    done = bench.run("bench", *arguments)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("motet: ")
    assert said in done.err
    assert bench.runs() == []


@pytest.mark.skipif(
    DATA is None or not (Path(DATA) / "workbench").is_dir(), reason="WorkBench's files are not in MOTET_DATA_DIR"
)
@pytest.mark.parametrize(("options", "share"), [(("--subset", "paper130"), 25 / 130), ((), 124 / 690)])
def test_doing_nothing_is_the_floor_of_workbench(desk: Desk, options: tuple[str, ...], share: float) -> None:
    """19.2 % of the Inherit-MAS paper's tasks, and 124 of all 690 by upstream's own rule, need no change."""
    done = desk.run("bench", "workbench", "--systems", "noop", *options, "--json", env={"MOTET_DATA_DIR": str(DATA)})
    assert done.code == 0
    (system,) = done.json["systems"]
    assert system["scores"]["correct"]["value"] == pytest.approx(share)
    assert system["scores"]["correct"]["clusters"] * 10 == system["scores"]["correct"]["n"]
