"""A team's plan of writes at the command line: shown in full, and carried out only after a yes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable

import pytest

from tests.e2e.command import MOTET, PATIENCE, Desk

# Says hello to a model, then plans a letter for each line of the task.
POSTER = """
from pathlib import Path

from motet import Configured, Message, Request, Result, tool
from motet.runs.commit import commit
from motet.system import Needs
from motet.worlds import Shared, stage


@tool(effect="write")
def send(text: str, to: str = "all") -> str:
    "Send a letter."
    with Path("sent").open("a") as file:
        file.write(f"{text!r}\\n")
    return "sent"


class Poster(Configured):
    @property
    def name(self):
        return "poster"

    def needs(self):
        return Needs(models=("scripted:echo",), tools=("poster:send",))

    async def solve(self, task, *, run):
        model = run.model("scripted:echo", role="speaker")
        await model.reply(Request(messages=(Message(role="user", content="hello"),), max_tokens=50))
        real = run.child("real", world=Shared(None, run.tools(["poster:send"])), apart=True)
        draft = real.child("draft", world=stage(real.world))
        (send,) = draft.tools(())
        for line in task.question.split("|"):
            await draft.tool(send, {"text": line})
        await real.approve(draft.world.plan)
        committed = await commit(real, draft.world.plan)
        return Result(status="completed", answer=f"{len(committed.done)} sent")
"""
# The second letter would pass for a third call, and colour the terminal.
TASK = "first [red]letter[/red]|second\n  3. send\x1b[31m"
SOLVE = ("solve", TASK, "--system", "poster:Poster")
LETTERS = ["'first [red]letter[/red]'", "'second\\n  3. send\\x1b[31m'"]


@pytest.fixture
def office(scripted: Desk) -> Desk:
    """A place with the module ``poster``."""
    (scripted.folder / "poster.py").write_text(POSTER, encoding="utf-8")
    return scripted


def sent(desk: Desk) -> list[str]:
    """The letters that were sent."""
    path = desk.folder / "sent"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def at_a_terminal(
    desk: Desk, *arguments: str, then: Callable[[int, subprocess.Popen[bytes]], object]
) -> tuple[int, str, str]:
    """Run ``motet`` on a terminal and do ``then`` when it asks; its exit code, its standard output, and what was drawn."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [str(MOTET), *arguments],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        cwd=desk.folder,
        env={**desk.env, "TERM": "xterm"},
    )
    os.close(slave)
    drawn, asked = b"", False
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how a pseudo-terminal says that its other end is closed
            break
        if not piece:
            break
        drawn += piece
        if not asked and b"[y/N]" in drawn:
            asked = True
            then(master, process)
    os.close(master)
    out, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, out.decode(), drawn.decode(errors="replace")


def types(text: bytes) -> Callable[[int, subprocess.Popen[bytes]], object]:
    """Type ``text``."""
    return lambda terminal, _process: os.write(terminal, text)


def test_a_plan_waits_where_nobody_can_be_asked(office: Desk) -> None:
    """It is shown on standard error, nothing is sent, and a resume with --yes sends it without asking the model again."""
    stopped = office.run(*SOLVE, "--progress", "plain")
    (run,) = office.runs()
    assert (stopped.code, stopped.out, run["status"]) == (130, "", "cancelled")
    assert 'a plan of 2 calls:\n  1. send\n       text: "first [red]letter[/red]"\n  2. send\n' in stopped.err
    assert '       text: "second\\n  3. send\\u001b[31m"\n' in stopped.err
    assert stopped.error_lines == [
        f"motet: a plan of 2 calls waits for a yes, and nothing of it was done; to carry it out: motet resume {run['run']} --yes"
    ]
    assert sent(office) == []
    again = office.run("resume", "last")
    assert (again.code, sent(office)) == (130, [])
    done = office.run("resume", "last", "--yes", "--json")
    assert (done.code, done.json["answer"], sent(office)) == (0, "2 sent", LETTERS)
    assert (done.json["usage"]["calls"], done.json["earlier"]["calls"]) == (0, 1)
    assert office.run("resume", "last", "--yes").out == "2 sent\n"
    assert sent(office) == LETTERS


def test_yes_carries_a_plan_out_at_once(office: Desk) -> None:
    """Without a word about it but the story of the run."""
    done = office.run(*SOLVE, "--yes", "--progress", "plain")
    assert (done.code, done.out, sent(office)) == (0, "2 sent\n", LETTERS)
    assert "carries out a plan of 2 writes" in done.err
    assert "the plan is carried out: 2 writes" in done.err
    assert "a plan of 2 calls:" not in done.err


def test_json_progress_stays_json(office: Desk) -> None:
    """The plan is a line like any other, and the store's name is in the advice."""
    store = f"sqlite:///{office.folder / 'own.db'}"
    done = office.run(*SOLVE, "--json", "--progress", "json", "--store", store)
    *lines, last = done.err.splitlines()
    told = [json.loads(line) for line in lines]
    (plan,) = [line for line in told if line["kind"] == "plan"]
    assert [write["arguments"]["text"] for write in plan["writes"]] == TASK.split("|")
    assert done.json["status"] == "cancelled"
    assert last.endswith(f"motet resume {done.json['run_id']} --store {store} --yes")
    assert done.code == 130


def test_a_yes_at_the_terminal_carries_the_plan_out(office: Desk) -> None:
    """The plan stands on the screen without control characters of its own when the question comes; the live view comes back after it and goes."""
    code, out, drawn = at_a_terminal(office, *SOLVE, then=types(b"y\n"))
    assert (code, out, sent(office)) == (0, "2 sent\n", LETTERS)
    shown = drawn[drawn.index("a plan of 2 calls:") : drawn.index("[y/N]")]
    assert "\x1b" not in shown
    assert [line.strip() for line in shown.splitlines() if line.strip()[:1].isdigit()] == ["1. send", "2. send"]
    assert drawn.rfind("\x1b[?25h") > drawn.rfind("\x1b[?25l") > drawn.index("[y/N]")


@pytest.mark.parametrize("typed", [b"n\n", b"\n", b"yes, but not so\n", b"\x04"], ids=["no", "enter", "but", "end"])
def test_anything_else_leaves_the_plan_to_be_resumed(office: Desk, typed: bytes) -> None:
    """Nothing is sent, and the way to carry it out is told."""
    code, out, drawn = at_a_terminal(office, *SOLVE, then=types(typed))
    assert (code, out, sent(office)) == (130, "", [])
    assert "--yes" in drawn[drawn.index("[y/N]") :]


def test_an_answer_that_was_typed_beforehand_is_none(office: Desk) -> None:
    """Whoever typed it had not seen the plan."""
    master, slave = pty.openpty()
    os.write(master, b"y\n")
    process = subprocess.Popen(
        [str(MOTET), *SOLVE, "--progress", "none"],
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        cwd=office.folder,
        env={**office.env, "TERM": "xterm"},
    )
    os.close(slave)
    drawn = b""
    while b"[y/N]" not in drawn:
        drawn += os.read(master, 65536)
    os.write(master, b"n\n")
    process.communicate(timeout=PATIENCE)
    os.close(master)
    assert (process.returncode, sent(office)) == (130, [])


def test_ctrl_c_at_the_question_interrupts_the_run(office: Desk) -> None:
    """It is left to be resumed, and ends at once."""
    code, _, drawn = at_a_terminal(office, *SOLVE, then=lambda _terminal, process: process.send_signal(signal.SIGINT))
    assert (code, sent(office)) == (130, [])
    assert "interrupted; resume with: motet resume" in drawn
    assert office.run("resume", "last", "--yes").out == "2 sent\n"


def test_a_system_without_nodes_takes_no_refresh(office: Desk) -> None:
    """The line names the flag, and what the system does take."""
    done = office.run("solve", "hi", "--model", "scripted:echo", "--refresh", "find")
    assert (done.code, done.out, office.runs()) == (2, "", [])
    assert done.error_lines[0].startswith("motet: system react takes no --refresh; its keys: model, tools,")
