"""Runs that stop before their end: Ctrl-C, a request from elsewhere, a budget."""

from __future__ import annotations

import signal
import subprocess

import pytest

from tests.e2e.command import Desk, Done, interrupt

WAITER = ("solve", "say it", "--system", "team:Waiter", "--progress", "plain")


def uninterrupted(desk: Desk) -> str:
    """The answer when nothing stops the run."""
    calm = desk.fresh_copy("calm")
    calm.go()
    done = calm.run(*WAITER)
    assert done.code == 0, done.err
    return done.out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_resumes_to_the_same_answer(scripted: Desk, number: signal.Signals) -> None:
    """Ctrl-C leaves a run that is shown as interrupted, says how to go on, and resumes to the answer of an uninterrupted run
    without asking again what was answered.
    """
    desk = scripted
    stopped = desk.run_until("waiter.waits", lambda process: process.send_signal(number), *WAITER)
    (run,) = desk.runs()
    assert (stopped.code, stopped.out) == (130, "")
    assert f"motet resume {run['run']}" in stopped.error_lines[-1]
    assert "Traceback" not in stopped.err
    assert run["status"] == "interrupted"
    assert [found["run"] for found in desk.run("runs", "--status", "interrupted", "--json").json] == [run["run"]]
    assert desk.run("runs", "--status", "running", "--json").json == []
    assert "interrupted" in desk.run("show", "last").out
    desk.go()
    resumed = desk.run("resume", "last", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.json["answer"] == uninterrupted(desk).strip()
    assert (resumed.json["usage"]["calls"], resumed.json["earlier"]["calls"]) == (1, 1)


def test_a_second_signal_ends_the_process_at_once(scripted: Desk) -> None:
    """A system that does not let itself be cancelled is ended by the second Ctrl-C, and its run can be resumed."""
    desk = scripted

    def twice(process: subprocess.Popen[str]) -> None:
        interrupt(process)
        assert process.stderr is not None
        for line in process.stderr:
            if "once more" in line:
                break
        interrupt(process)

    done = desk.run_until("waiter.waits", twice, *WAITER, "-c", "stubborn=true")
    assert done.code == 130
    assert [run["status"] for run in desk.runs()] == ["interrupted"]
    desk.go()
    assert desk.run("resume", "last").code == 0


def test_a_run_is_refused_to_a_second_process_and_stops_when_asked(scripted: Desk) -> None:
    """While a process works on a run, another is refused with the owner named, and may not remove it; `runs cancel` stops it."""
    desk = scripted
    pids: list[int] = []
    seen: list[Done] = []

    def from_elsewhere(process: subprocess.Popen[str]) -> None:
        pids.append(process.pid)
        commands = (("resume", "last"), ("runs", "rm", "last"), ("runs", "cancel", "last"))
        seen.extend(desk.run(*command) for command in commands)

    done = desk.run_until("waiter.waits", from_elsewhere, *WAITER)
    refused, kept, cancelled = seen
    assert (refused.code, kept.code, cancelled.code) == (1, 1, 0)
    assert f"process {pids[0]} on" in refused.err
    assert (done.code, done.out) == (130, "say it\n"), "the best answer so far is printed"
    (run,) = desk.runs()
    assert run["status"] == "cancelled"
    assert f"motet resume {run['run']}" in done.error_lines[-1]
    assert desk.run("runs", "cancel", "last").code == 2


def test_a_budget_stops_with_the_best_answer(scripted: Desk) -> None:
    """A run that meets a budget prints its best answer, says which limit it was, ends with 3, and goes on with a higher limit."""
    desk = scripted
    desk.go()
    stopped = desk.run(*WAITER, "--budget-calls", "1")
    assert (stopped.code, stopped.out) == (3, "say it\n")
    assert "the calls budget" in stopped.error_lines[-1]
    (run,) = desk.runs()
    assert run["status"] == "budget"
    assert "budget calls: 1 of 1" in desk.run("show", "last").out
    again = desk.run("resume", run["run"], "--budget-calls", "5")
    assert (again.code, again.out) == (0, uninterrupted(desk))


def test_a_write_that_nobody_can_confirm_needs_a_word(desk: Desk) -> None:
    """After `kill -9` between sending and confirmation, resuming stops and shows the call; `--assume` says what to do with it."""
    sender = ("solve", "one letter", "--system", "team:Sender", "--progress", "plain")
    killed = desk.run_until("sent", lambda process: process.kill(), *sender)
    assert killed.code == -signal.SIGKILL
    assert [run["status"] for run in desk.runs()] == ["interrupted"]
    refused = desk.run("resume", "last")
    assert (refused.code, refused.out) == (1, "")
    assert 'send({"text":"one letter"})' in refused.error_lines[-1]
    assert "--assume done|redo" in refused.error_lines[-1]
    assert [run["status"] for run in desk.runs()] == ["unconfirmed"]
    desk.go()
    done = desk.run("resume", "last", "--assume", "done")
    assert done.code == 0, done.err
    assert (desk.folder / "sent").read_text(encoding="utf-8") == "one letter\n"
