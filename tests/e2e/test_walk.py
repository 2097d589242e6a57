"""A user's way through the command, from a first question to moving the store."""

from __future__ import annotations

from tests.e2e.command import CORPUS, Desk

QUESTION = "For how many voices is Spem in alium?"
READER = ("--model", "scripted:reader", "--tools", f"corpus:{CORPUS}")


def test_from_question_to_export(scripted: Desk) -> None:
    """Solve, look inside, list, compare, resume, export, import, check and prune: each works on what the others left."""
    desk = scripted
    solved = desk.run("solve", QUESTION, *READER)
    assert solved.code == 0, solved.err
    assert solved.out.count("\n") == 1
    assert "forty" in solved.out
    (first,) = desk.runs()
    for said in ("spem-in-alium.md", "agent", "paid", "earlier", "inherited", "scripted policy", first["run"]):
        assert said in solved.err

    again = desk.run("solve", "-", *READER, "--json", "-c", "max_steps=5", stdin=f"{QUESTION}\n")
    assert again.code == 0, again.err
    result = again.json
    assert (result["status"], result["answer"]) == ("completed", solved.out.strip())
    assert result["sources"]
    assert result["usage"]["calls"] == first["calls"]

    shown = desk.run("show", "last", "--json", "--calls", "--events").json
    assert shown["run"] == result["run_id"]
    assert shown["result"] == result
    assert shown["ledger"]["role"]["agent"]["paid"]["tokens"] == first["tokens"]
    assert [call["kind"] for call in shown["calls"]][:2] == ["model", "tool"]
    assert [event["seq"] for event in shown["events"]] == list(range(1, len(shown["events"]) + 1))
    assert QUESTION in desk.run("show", first["run"]).out

    place = f"{shown['calls'][0]['scope']}:0"
    one = desk.run("show", "last", "--call", place)
    assert QUESTION in one.out
    assert "corpus_search" in one.out

    compared = desk.run("compare", first["run"], result["run_id"], "--json").json
    assert compared["same_task"]
    assert compared["differs_in"] == {"max_steps": [12, 5]}
    assert "the same task" in desk.run("compare", first["run"], "last").out

    resumed = desk.run("resume", first["run"][:-1], "--json").json
    assert resumed["answer"] == result["answer"]
    assert desk.runs()[1]["calls"] == first["calls"], "a completed run is read back and asks nobody"

    exported = desk.run("store", "export", "all.jsonl")
    assert exported.code == 0
    other = ("--store", "sqlite:///other.db")
    imported = desk.run("store", "import", "all.jsonl", *other)
    assert sorted(imported.out.split()) == sorted([first["run"], result["run_id"]])
    assert desk.run("store", "export", "-", *other).out == (desk.folder / "all.jsonl").read_text(encoding="utf-8")
    assert desk.run("store", "check", *other).code == 0

    assert desk.run("runs", "rm", first["run"]).code == 0
    assert [run["run"] for run in desk.runs()] == [result["run_id"]]
    asked = desk.run("store", "prune", "--older-than", "0m")
    assert (asked.code, len(desk.runs())) == (2, 1), "without a terminal to ask on, nothing is removed"
    dry = desk.run("store", "prune", "--older-than", "0m", "--dry-run", "--json").json
    assert (dry["run_ids"], dry["dry_run"]) == ([result["run_id"]], True)
    assert desk.run("store", "prune", "--older-than", "0m", "--yes").code == 0
    assert desk.runs() == []
    assert desk.run("store", "path").out.strip() == f"sqlite:///{desk.home / 'motet.db'}"


def test_a_flipped_byte_is_found_and_named(scripted: Desk) -> None:
    """A damaged text is named by `store check`, with the run it belongs to, and exit code 1; `show` says so in one line."""
    import sqlite3

    desk = scripted
    desk.run("solve", "say it", "--model", "scripted:echo")
    (run,) = desk.runs()
    database = sqlite3.connect(desk.home / "motet.db")
    with database:
        (name,) = database.execute("SELECT reply FROM calls").fetchone()
        (data,) = database.execute("SELECT data FROM blobs WHERE hash = ?", (name,)).fetchone()
        changed = bytes([data[0] ^ 1]) + data[1:]
        database.execute("UPDATE blobs SET data = ? WHERE hash = ?", (changed, name))
    database.close()
    checked = desk.run("store", "check")
    assert checked.code == 1
    assert name in checked.err
    assert run["run"] in checked.err
    shown = desk.run("show", "last", "--calls")
    assert (shown.code, len(shown.error_lines)) == (2, 1)
    assert name in shown.error_lines[0]


def test_what_a_model_says_cannot_drive_the_terminal(scripted: Desk) -> None:
    """Terminal codes in a reply come out as text in the answer, the progress, `show`, `runs` and `compare`."""
    desk = scripted
    evil = "\x1b]0;title\x07\x1b[2J \x9b31m \u202eback"
    done = desk.run("solve", evil, "--model", "scripted:echo")
    other = desk.run("solve", f"{evil} again", "--model", "scripted:echo", "--progress", "json")
    runs = [run["run"] for run in desk.runs()]
    texts = [done.out, done.err, other.out, other.err]
    commands = (("show", "last"), ("show", "last", "--calls"), ("show", "last", "--call", "0"), ("runs",))
    for arguments in (*commands, ("runs", "--json"), ("show", "last", "--json", "--calls"), ("compare", *runs)):
        ended = desk.run(*arguments)
        assert ended.code == 0
        texts.append(ended.out + ended.err)
    for text in texts:
        assert not set(text) & set("\x1b\x07\x9b\u202e")
    assert "\\x1b[2J" in done.out
