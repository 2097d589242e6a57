"""Teams that evolve, at the command line: progress, the rounds, why a node ran, the teams, and what is bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from motet.cli.app import main
from motet.inherit import read_workflow
from tests.e2e.command import CORPUS, Desk, Done
from tests.e2e.players import PLAYERS

Ask: TypeAlias = Callable[..., Done]

SOLVE = ("solve", "How many voices?", "--system", "players:Players", "-c", "candidates=3")
TEAM = """
nodes:
  - {id: find, role: worker, subtask: Find it., prompt: Be exact., tools: [corpus_search]}
  - {id: answer, role: integrator, subtask: Answer., prompt: Be brief., inputs: [find]}
"""
WRONG = """
nodes:
  - {id: find, role: wrker, subtask: Find it., prompt: " ", tools: [corpus_serch]}
  - {id: answer, role: integrator, subtask: Answer., prompt: Be brief., inputs: [fnd]}
"""


@pytest.fixture
def studio(scripted: Desk) -> Desk:
    """A place with the module ``players``."""
    (scripted.folder / "players.py").write_text(PLAYERS, encoding="utf-8")
    return scripted


@pytest.fixture
def ask(desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Runs commands that only read in this process, which is quicker."""
    monkeypatch.chdir(desk.folder)
    monkeypatch.setenv("MOTET_HOME", str(desk.home))
    monkeypatch.delenv("MOTET_STORE", raising=False)

    def run(*arguments: str) -> Done:
        code = main(arguments)
        return Done(code, *capsys.readouterr())

    return run


def rows(text: str) -> list[list[str]]:
    """The words of the table of rounds."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("round  how"))
    return [line.split() for line in lines[start + 1 : lines.index("", start)]]


def test_an_evolution_is_told_as_it_goes_and_afterwards(studio: Desk, ask: Ask) -> None:
    """Standard output has the answer alone; standard error a line for each outcome, the rounds and the final difference, and `show` has them again."""
    done = studio.run(*SOLVE, "--progress", "plain")
    assert (done.code, done.out) == (0, "forty voices\n"), done.err
    for said in (
        "round-0  round 0, initial: a team of ",
        "round-0/team/find  runs: no record has its key",
        "round-1  round 1, edit prompt: prompt of 'answer': “Be brief.” → “Be sharper.”",
        "round-1/team/check  reused: the last candidate has it",
        "round-1/team/answer  runs: what determines it changed: node.prompt",
        "round-1  the judge: quality 80",
        "round-2  round 2 gave no team (edit): ",
        "  chose the team of round 1 (quality 80)",
    ):
        assert said in done.err
    assert done.err.count("best answer so far: forty voices") == 1
    assert "step 1" not in done.err
    first, second, third = rows(done.err)
    assert first[:7] == ["0", "initial", "3", "0", "0", "yes", "40"]
    assert second[:8] == ["★", "1", "edit", "prompt", "1", "2", "0", "yes"]
    assert third[:2] == ["2", "spent"]
    final = "from the first team to the chosen one\n  prompt of 'answer': “Be brief.” → “Be sharper.”\n"
    assert final in done.err
    shown = ask("show", "last")
    # How much of the last column there is room for depends on the terminal.
    assert [row[:8] for row in rows(shown.out)] == [row[:8] for row in rows(done.err)]
    assert final in shown.out
    history = ask("show", "last", "--json").json["evolution"]
    assert (history["version"], history["chosen"], history["ranked"]) == (1, 1, [0, 1])
    assert [item["origin"] for item in history["rounds"]] == ["initial", "edit", None]
    assert ask("show", "last", "--calls").out.count("round  how") == 0


def test_why_a_node_ran_or_was_reused(studio: Desk, ask: Ask) -> None:
    """What changed is named with old and new; an inherited result says which run and scope computed it, in this run or in an earlier one."""
    studio.run(*SOLVE, "--progress", "none")
    ran = ask("show", "last", "--why", "1:answer")
    assert 'node.prompt: "Be brief." → "Be sharper."' in ran.out
    assert "changed since round 0" in ran.out
    (first,) = studio.runs()
    reused = ask("show", "last", "--why", "1:find", "--json").json
    assert set(reused) == {
        "run", "round", "node", "how", "status", "why", "key", "compared_with", "changed", "tokens", "from"
    }  # fmt: skip
    assert (reused["how"], reused["why"], reused["changed"]) == ("reused", "the last candidate has it", [])
    assert (reused["from"]["run"], reused["from"]["round"], reused["from"]["node"]) == (first["run"], 0, "find")
    assert reused["from"]["usage"]["tokens"] == reused["tokens"] > 0
    studio.run(*SOLVE, "--progress", "none", "-c", "max_calls=8")
    again = ask("show", "last", "--why", "0:find")
    assert f"run {first['run']}, round 0, node find" in again.out
    assert "the store has a record of it" in again.out
    studio.run(*SOLVE, "--progress", "none", "--refresh", "find")
    assert "a fresh result was asked for" in ask("show", "last", "--why", "0:find").out


def test_a_team_comes_back_as_a_document_and_as_pictures(studio: Desk, ask: Ask) -> None:
    """What `--workflow` prints is read back as the same team in YAML and in JSON, and can be the start of another run."""
    studio.run(*SOLVE, "--progress", "none")
    history = ask("show", "last", "--json").json["evolution"]
    for which, index in (("0", 0), ("1", 1), ("chosen", 1)):
        expected = read_workflow(history["rounds"][index]["workflow"])
        for format in ((), ("--format", "yaml"), ("--format", "json"), ("--json",)):
            text = ask("show", "last", "--workflow", which, *format).out
            assert read_workflow(text) == expected
    assert ask("show", "last", "--workflow", "1", "--format", "mermaid").out.startswith("flowchart TD\n")
    assert ask("show", "last", "--workflow", "1", "--format", "dot").out.startswith("digraph workflow {\n")
    assert ":::changed" in ask("show", "last", "--workflow", "0..chosen", "--format", "mermaid").out
    words = ask("show", "last", "--workflow", "0..1")
    assert words.out == "prompt of 'answer': “Be brief.” → “Be sharper.”\n"
    assert ask("show", "last", "--workflow", "0..1", "--json").json["changed"][0]["field"] == "prompt"
    chosen = ask("show", "last", "--workflow", "chosen").out
    (studio.folder / "team.yaml").write_text(chosen, encoding="utf-8")
    done = studio.run(*SOLVE[:-1], "candidates=1", "-c", "start=team.yaml", "--progress", "none")
    assert (done.code, done.out) == (0, "forty voices\n"), done.err
    assert rows(done.err)[0][:5] == ["★", "0", "initial", "0", "3"], "all of it is inherited, and nobody designed it"
    assert "meta" not in ask("show", "last", "--json").json["ledger"]["role"]


def test_a_run_that_was_killed_shows_its_rounds(studio: Desk, ask: Ask) -> None:
    """After SIGKILL while the second team is judged, that team, its change, what it inherited and why a node ran are shown from the store."""
    (studio.folder / "die").touch()
    killed = studio.run(*SOLVE, "--progress", "none")
    assert killed.code == -9
    first, second = rows(ask("show", "last").out)
    assert first[:7] == ["0", "initial", "3", "0", "0", "yes", "40"]
    # Whether its last events were written is left to chance; what was decided was written before the last reply was used.
    assert (second[:3], second[4]) == (["1", "edit", "prompt"], "2")
    assert 'node.prompt: "Be brief." → "Be sharper."' in ask("show", "last", "--why", "1:answer").out
    assert "Be sharper." in ask("show", "last", "--workflow", "1").out
    assert "no team is chosen yet" in ask("show", "last", "--workflow", "chosen").error_lines[0]


def test_questions_that_cannot_be_answered_are_bad_input(studio: Desk, ask: Ask) -> None:
    """Each is one line that says what would be right, and exit code 2."""
    studio.run(*SOLVE, "--progress", "none")
    for arguments, said in (
        (("--why", "7:answer"), "there is no round 7; rounds: 0, 1, 2"),
        (("--why", "1:anser"), "round 1 has no node 'anser'; did you mean 'answer'?"),
        (("--why", "2:answer"), "round 2 gave no team: edit: "),
        (("--why", "answer"), "a round and a node as K:NODE, such as 1:answer"),
        (("--why", "x:answer"), "a round and a node as K:NODE, such as 1:answer"),
        (("--workflow", "best"), "'best' is no round: give K, K1..K2 or 'chosen'"),
        (("--workflow", "0..9"), "there is no round 9; rounds: 0, 1, 2"),
        (("--workflow", "0..1", "--format", "dot"), "told in words, or with --format mermaid or json"),
        (("--workflow", "0", "--why", "0:find"), "give one of them"),
        (("--format", "dot"), "--format dot is for --workflow"),
    ):
        ended = ask("show", "last", *arguments)
        assert (ended.code, ended.out, len(ended.error_lines)) == (2, "", 1)
        assert said in ended.error_lines[0]
    studio.run("solve", "say it", "--model", "scripted:echo", "--progress", "none")
    none = ask("show", "last", "--why", "0:find")
    assert (none.code, "has no rounds" in none.err) == (2, True)
    assert ask("show", "last", "--json").json["evolution"] is None


def test_models_of_a_team_are_given_by_role(scripted: Desk, ask: Ask) -> None:
    """Each flag sets its key; a system that is no team refuses it by name, and an unknown model is bad input."""
    solve = ("solve", "say it", "--model", "scripted:echo", "--progress", "none")
    for flag, key in (
        ("--meta-model", "meta_model"),
        ("--judge-model", "judge_model"),
        ("--worker-model", "worker_model"),
    ):
        refused = ask(*solve, flag, "scripted:echo")
        assert (refused.code, f"system react takes no {flag}; its keys: " in refused.err) == (2, True)
        twice = ask(*solve, "--system", "inherit", flag, "scripted:echo", "-c", f"{key}=scripted:echo")
        assert (twice.code, f"{key} is given twice" in twice.err) == (2, True)
        unknown = ask(*solve, "--system", "inherit", flag, "scripted:ech")
        assert (unknown.code, "did you mean 'echo'?" in unknown.err) == (2, True)
        bench = ask("bench", "workbench", "--systems", "noop", flag, "scripted:echo")
        assert (bench.code, f"{flag}: " in bench.err) == (2, True)
    # The echo designs no team, so the run fails, and has its configuration.
    failed = ask(*solve, "--system", "inherit", "--judge-model", "scripted:reader", "-c", "candidates=1")
    assert failed.code == 1
    config = ask("show", "last", "--json").json["config"]["system"]["config"]
    assert (config["judge_model"], config["meta_model"]) == ("scripted:reader", None)


def test_a_workflow_file_is_checked_before_any_call(studio: Desk, ask: Ask) -> None:
    """A right one is shown as outline and picture; of a wrong one every fault is named with rule, node and what is allowed, and a run refuses it."""
    (studio.folder / "team.yaml").write_text(TEAM, encoding="utf-8")
    (studio.folder / "wrong.yaml").write_text(WRONG, encoding="utf-8")
    tools = ("--tools", f"corpus:{CORPUS}")
    right = ask("inherit", "check", "team.yaml", *tools)
    assert (right.code, right.err) == (0, "")
    assert right.out.startswith("find: worker, reads nothing, tools corpus_search\n")
    assert "flowchart TD" in right.out
    wrong = ask("inherit", "check", "wrong.yaml", *tools)
    assert wrong.code == 2
    assert "is no valid workflow with the roles of 'general': 6 problems" in wrong.error_lines[0]
    for said in (
        "[role] 'find' has the role 'wrker', which is none; did you mean 'worker'? (allowed: worker, critic, ",
        "[empty-prompt] the prompt of 'find' is empty",
        "[unknown-input] 'answer' reads 'fnd', which is no node",
        "[unknown-tool] 'find' has the tool 'corpus_serch'",
    ):
        assert said in wrong.out
    document = ask("inherit", "check", "wrong.yaml", *tools, "--json").json
    assert set(document) == {"file", "hash", "roles", "tools", "valid", "problems"}
    assert (document["valid"], document["problems"][0]["rule"], document["problems"][0]["node"]) == (
        False,
        "role",
        "find",
    )
    assert "[unknown-tool]" in ask("inherit", "check", "team.yaml").out, "without the tool it is not valid"
    refused = studio.run(*SOLVE, "-c", "start=wrong.yaml", *tools)
    assert (refused.code, refused.out) == (2, "")
    assert "'find' has the role 'wrker'" in refused.error_lines[0]
    assert "[role]" in refused.error_lines[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.yaml",), "workflow file none.yaml cannot be read: No such file"),
        (("list.yaml",), "workflow file list.yaml: the workflow is no mapping"),
        (("team.yaml", "--roles", "generel"), "there is no role set 'generel'; did you mean 'general'?"),
        (("team.yaml", "--tools", "corpus:nowhere"), "nowhere"),
        (("team.yaml", "--world", "none"), "none"),
    ],
    ids=range(5),
)
def test_what_cannot_be_checked_is_bad_input(desk: Desk, ask: Ask, arguments: tuple[str, ...], said: str) -> None:
    """One line, exit code 2."""
    (desk.folder / "team.yaml").write_text(TEAM, encoding="utf-8")
    (desk.folder / "list.yaml").write_text("[1, 2]", encoding="utf-8")
    ended = ask("inherit", "check", *arguments)
    assert (ended.code, ended.out, len(ended.error_lines)) == (2, "", 1)
    assert said in ended.error_lines[0]
