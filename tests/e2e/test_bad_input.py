"""Bad input: one line that says what and how to fix it, exit code 2, and no run."""

from __future__ import annotations

import pytest

from tests.e2e.command import Desk

SCRIPTED = ("--model", "scripted:echo")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("solve", "hi", "--system", "raect"), "unknown system 'raect'; did you mean 'react'?"),
        (("solve", "hi", "--model", "opnai:gpt-4o"), "did you mean 'openai'?"),
        (("solve", "hi", *SCRIPTED, "--tools", "pyton"), "unknown tool 'pyton'; did you mean 'python'?"),
        (("solve", "hi", "--model", "openai:gpt-4o"), "OPENAI_API_KEY"),
        (("solve", "hi", *SCRIPTED, "-c", "max_step=3"), "did you mean 'max_steps'?"),
        (("solve", "hi", *SCRIPTED, "--config", "bad.yaml"), "bad.yaml:2: system react has no key 'max_step'"),
        (("solve", "hi", "--model", "m@http://127.0.0.1:9/v1"), "is the server running"),
        (("solve", "hi", "--model", "m@http://127.0.0.1:9/v1", "--budget-money", "1"), "--price IN,OUT"),
        (("solve", "@missing.txt", *SCRIPTED), "task file missing.txt cannot be read: No such file"),
        (("solve", "", *SCRIPTED), "is empty"),
        (("solve", "-", *SCRIPTED), "standard input is empty"),
        (("solve", "hi", *SCRIPTED, "--tools", "corpus:nowhere"), "nowhere"),
        (("solve", "hi", *SCRIPTED, "--budget-tokens", "0"), "--budget-tokens"),
        (("solve", "hi", "--modle", "x"), "--model"),
        (("show", "last"), "there is no run yet"),
    ],
)
def test_bad_input_is_one_line_and_no_run(desk: Desk, arguments: tuple[str, ...], said: str) -> None:
    """Whatever is wrong with what the user gave, one line says so, nothing is printed as an answer and no run is written."""
    (desk.folder / "bad.yaml").write_text("model: scripted:echo\nmax_step: 3\n", encoding="utf-8")
    done = desk.run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("motet: ")
    assert said in done.err
    assert desk.runs() == []


@pytest.mark.parametrize("command", [("solve", "hi", *SCRIPTED), ("runs",), ("show", "last"), ("store", "check")])
def test_a_damaged_store_is_named_and_left_alone(desk: Desk, command: tuple[str, ...]) -> None:
    """A file that is no store is bad input for every command, and is not changed."""
    path = desk.home / "motet.db"
    content = b"this was a database once" * 100
    path.write_bytes(content)
    done = desk.run(*command)
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert str(path) in done.err
    assert path.read_bytes() == content


def test_a_key_is_in_no_error_and_no_store(desk: Desk) -> None:
    """A key in the environment is in no message, no JSON and no file, also when the call fails."""
    key = "sk-very-secret-0123456789"
    env = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "MOTET_DEBUG": "1"}
    for arguments in (("solve", "hi", "--model", "openai:gpt-4o"), ("doctor",), ("doctor", "--json"), ("models",)):
        done = desk.run(*arguments, env=env)
        assert key not in done.out + done.err
    for path in desk.home.glob("motet.db*"):
        assert key.encode() not in path.read_bytes()


def test_a_bug_is_called_a_bug(scripted: Desk) -> None:
    """A system that raises something of its own gives one line, exit code 1, a failed run, and a traceback only when asked for."""
    done = scripted.run("solve", "hi", "--system", "team:Broken", "--progress", "none")
    assert (done.code, done.out, len(done.error_lines)) == (1, "", 1)
    assert "KeyError" in done.err
    assert "a bug" in done.err
    assert "Traceback" not in done.err
    assert "\x1b" not in done.err
    assert [run["status"] for run in scripted.runs()] == ["failed"]
    debug = scripted.run("solve", "hi", "--system", "team:Broken", env={"MOTET_DEBUG": "1"})
    assert "Traceback" in debug.err
