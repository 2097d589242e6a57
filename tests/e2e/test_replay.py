"""``motet inherit replay`` from the command line: what it prints and keeps, a break in the middle, and bad input."""

from __future__ import annotations

import re
import signal

import pytest

from tests.e2e.command import Desk

REPLAY = ("inherit", "replay", "--model", "scripted:echo", "--benchmark", "none", "--edits", "3", "--progress", "plain")


def hashes(text: str) -> list[str]:
    """The hash over all outputs of each arm."""
    return re.findall(r"^  all, .*?([0-9a-f]{64})$", text, flags=re.MULTILINE)


def test_a_replay_prints_its_figures_and_keeps_them_as_a_run(scripted: Desk) -> None:
    """The report and an estimate are printed, and `show` has the report and the figures of a run of its own kind."""
    shown = scripted.run(*REPLAY, "--tasks", "3")
    assert shown.code == 0, shown.err
    assert len(hashes(shown.out)) == 4
    assert len(set(hashes(shown.out))) == 1
    assert "holds: outputs byte-identical" in shown.out
    assert re.search(r"motet: at most \d+ nodes are run", shown.err)
    assert "task 3 of 3: every output is the same" in shown.err
    kept = scripted.run("show", "last", "--json").json
    assert kept["kind"] == "replay"
    assert kept["result"]["answer"] == shown.out.rstrip("\n")
    assert kept["result"]["details"]["problems"] == []
    assert [arm["name"] for arm in kept["result"]["details"]["arms"]] == ["full", "again", "store", "localised"]


def test_a_killed_replay_resumes_to_the_same_figures_and_pays_nothing_twice(scripted: Desk) -> None:
    """After `kill -9` between two tasks, `resume` gives the figures of an undisturbed check, with all that was answered read back."""
    command = (*REPLAY, "--tasks", "4")
    killed = scripted.run_until("task 2 of 4", lambda process: process.kill(), *command)
    assert killed.code == -signal.SIGKILL
    resumed = scripted.run("resume", "last", "--json")
    assert resumed.code == 0, resumed.err
    calm = scripted.fresh_copy("calm").run(*command, "--json")
    assert resumed.json["details"] == calm.json["details"]
    assert resumed.json["earlier"]["calls"] > 0
    assert resumed.json["usage"]["calls"] + resumed.json["earlier"]["calls"] == calm.json["usage"]["calls"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--benchmark", "hotpot"), "there are no replay tasks of 'hotpot'; did you mean 'hotpotqa'?"),
        (("--benchmark", "workbench"), "MOTET_DATA_DIR is not set"),
        (("--benchmark", "none", "--tasks", "99"), "--tasks 99: none has 24 short questions"),
        (("--benchmark", "none", "--model", "embeded"), "unknown model 'embeded'"),
    ],
    ids=["benchmark", "data", "tasks", "model"],
)
def test_bad_input_is_one_line_and_leaves_nothing(desk: Desk, options: tuple[str, ...], message: str) -> None:
    """What cannot be replayed is told in one line with what would be right; no run is written."""
    done = desk.run("inherit", "replay", "--progress", "none", *options)
    assert done.code == 2, done.err
    (line,) = done.error_lines
    assert message in line
    assert desk.runs() == []
