"""Standard output holds the answer and nothing else, whatever the streams are."""

from __future__ import annotations

import json
import os
import pty
import subprocess

from tests.e2e.command import MOTET, PATIENCE, Desk

SOLVE = ("solve", "say → ü", "--model", "scripted:echo")


def test_standard_output_is_the_answer_alone(scripted: Desk) -> None:
    """What tools and systems print goes to standard error, and progress too."""
    scripted.go()
    done = scripted.run("solve", "say it", "--system", "team:Waiter")
    assert done.out == "say it and again\n"
    assert "careless" in done.err


def test_json_progress_and_json_result_both_parse(scripted: Desk) -> None:
    """With both, standard output is one document and each line of standard error another."""
    done = scripted.run(*SOLVE, "--json", "--progress", "json")
    assert done.json["answer"] == "say → ü"
    events = [json.loads(line) for line in done.err.splitlines()]
    assert [events[0]["kind"], events[-1]["kind"]] == ["run.started", "run.finished"]
    quiet = scripted.run("solve", "say it", "--model", "scripted:echo", "--json", "--progress", "none")
    assert quiet.err == ""


def test_closed_streams_change_neither_the_run_nor_the_store(scripted: Desk) -> None:
    """With standard error or output closed the run completes, and nothing is written into a file that took its number."""
    for closed in ("2>&-", ">&-", "<&-", ">&- 2>&-"):
        command = f"exec '{MOTET}' solve 'say it' --model scripted:echo {closed}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=scripted.folder,
            env=scripted.env,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0
        assert done.stdout == (b"" if ">&- " in f"{closed} " and not closed.startswith("2") else b"say it\n")
    assert [run["status"] for run in scripted.runs()] == ["completed"] * 4
    assert scripted.run("store", "check").code == 0


def test_a_locale_without_the_characters_fails_nothing(scripted: Desk) -> None:
    """In an ASCII locale the task arrives whole, the answer is printed as far as it can be, and JSON holds all of it."""
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = scripted.run(*SOLVE, env=env)
    assert (done.code, done.out) == (0, "say ? ?\n")
    shown = scripted.run("show", "last", "--json", env=env)
    assert json.loads(shown.out)["result"]["answer"] == "say → ü"
    assert scripted.run("runs", env=env).code == 0


def test_a_reader_that_leaves_is_no_error(scripted: Desk) -> None:
    """`motet … | head` ends quietly."""
    scripted.run(*SOLVE)
    command = f"'{MOTET}' show last --json --calls --events | head -c 1; echo \"${{PIPESTATUS[0]}}\""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=scripted.folder,
        env=scripted.env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("{0\n", "")


def test_a_terminal_gets_a_live_view_and_its_cursor_back(scripted: Desk) -> None:
    """On a terminal progress is drawn in place; at the end the view is gone, the cursor is back and the report stands."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [str(MOTET), *SOLVE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        cwd=scripted.folder,
        env={**scripted.env, "TERM": "xterm"},
    )
    os.close(slave)
    drawn = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # how a pseudo-terminal says that its other end is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(master)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out.decode()) == (0, "say → ü\n")
    assert drawn.rfind(b"\x1b[?25h") > drawn.rfind(b"\x1b[?25l") >= 0
    assert b"motet show" in drawn[drawn.rfind(b"\x1b[?25h") :]


def test_help_is_light_and_shows_examples(desk: Desk) -> None:
    """`motet --help` imports neither a client nor a database, and each command's help has an example that names it."""
    code = "import sys; from motet.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    python = MOTET.with_name("python")
    done = subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, env=desk.env, timeout=PATIENCE, check=True
    )
    heavy = {"openai", "sqlalchemy", "pydantic", "rich", "yaml", "aiohttp", "httpx", "torch", "numpy", "asyncio"}
    assert not heavy & set(done.stderr.split())
    for name in ("solve", "resume", "runs", "show", "compare", "models", "store", "doctor"):
        assert name in done.stdout
        assert f"  motet {name}" in desk.run(name, "--help").out
    assert desk.run("--version").out.startswith("motet ")
