"""Progress never fails a run, and shows what is so."""

from __future__ import annotations

import io
import json
import sys
import time
from typing import Any

import pytest
from rich.console import Console

from motet.cli.board import Board
from motet.cli.live import Live
from motet.cli.modes import Mode
from motet.cli.progress import Progress, open_progress
from motet.runs.events import Event


def event(kind: str, scope: str = "t1", **payload: Any) -> Event:
    return Event(seq=1, time=time.time(), scope=scope, kind=kind, payload=payload)


def replied(scope: str = "t1", **changes: Any) -> Event:
    usage = {
        "role": "agent",
        "prompt": 10,
        "completion": 5,
        "money": 0.5,
        "seconds": 0.1,
        "attempts": 1,
        "replayed": False,
    }
    return event("model.replied", scope, **{**usage, **changes})


class Broken(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("stream", [Broken(), None, io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")])
def test_a_broken_standard_error_fails_nothing(monkeypatch: pytest.MonkeyPatch, mode: Mode, stream: Any) -> None:
    """Whatever standard error is, telling progress raises nothing and the run's id is still known."""
    monkeypatch.setattr(sys, "stderr", stream)
    progress = open_progress(mode)
    progress.start()
    progress.event(event("run.started", "", run="r1"))
    progress.event(event("answer.kept", answer="→ ü \udc80"))
    progress.event(event("tool.called"))
    progress.delta("t1", "text")
    progress.stop()
    progress.stop()
    assert progress.run_id == "r1"


def test_json_progress_is_one_document_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Each event is one line of JSON, also when a model's text holds line breaks and terminal codes."""
    progress = open_progress(Mode.json)
    progress.event(event("answer.kept", answer="a\nb\u2028c\x1b[0m"))
    progress.event(replied())
    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["answer.kept", "model.replied"]
    assert json.loads(lines[0])["payload"]["answer"] == "a\nb\u2028c\x1b[0m"


def test_a_replayed_reply_costs_nothing_on_the_board() -> None:
    """Replies from the journal are counted apart; unknown usage is called so."""
    board = Board()
    board.hear(replied())
    board.hear(replied(replayed=True))
    board.hear(replied(prompt=None, money=None))
    assert board.sums() == ["2 calls", "15 tokens + 1 unknown", "$0.5000", "1 from the journal"]


def test_each_scope_has_its_lane() -> None:
    """Scopes that work side by side are told apart, and one that is done leaves."""
    board = Board()
    for scope in ("t1/a", "t1/b"):
        board.hear(event("tool.called", scope, tool="search", arguments={"query": scope}))
    board.hear(event("model.retry", "t1/b", attempt=1, wait=2.0, error="503", role="agent"))
    board.read("t1/a", "some text")
    board.hear(event("task.finished", "t1/b", status="completed"))
    assert board.lanes["t1/a"].doing == "search(query='t1/a')"
    assert board.lanes["t1/a"].tail == "some text"
    assert "again in 2.0 s: 503" in board.lanes["t1/b"].trouble
    assert board.lanes["t1/b"].done
    assert board.retries == 1


def round_event(number: int, *nodes: str, **changes: Any) -> Event:
    """A team is about to be tried."""
    told = {
        "round": number,
        "origin": "edit",
        "parent": 0,
        "dropped": [],
        "edits": ["prompt"],
        "change": "x",
        "hash": "h",
    }
    return event("inherit.round", f"t1/round-{number}", **{**told, "nodes": [{"id": id_} for id_ in nodes], **changes})  # fmt: skip


def test_the_board_has_rounds_and_what_becomes_of_their_nodes() -> None:
    """A round shows how its team came about, each node's state, and the judge's mark; who is done leaves the lanes."""
    board = Board()
    board.hear(replied("t1/round-1/edit"))
    board.hear(round_event(1, "find", "check", "tell"))
    assert board.lanes["t1/round-1/edit"].done
    board.hear(event("inherit.reused", "t1/round-1/team/find", key="k", why="w", changed=[]))
    board.hear(event("inherit.ran", "t1/round-1/team/check", key="k", why="w", changed=[]))
    board.hear(replied("t1/round-1/team/check"))
    (found,) = board.rounds.values()
    assert found.words() == "round 1 · edit prompt · find (reused) check (runs) tell"
    assert not board.lanes["t1/round-1/team/check"].done
    board.hear(event("inherit.done", "t1/round-1/team/check", tokens=15, output="x"))
    assert board.lanes["t1/round-1/team/check"].done
    board.hear(event("inherit.failed", "t1/round-1/team/tell", why="w"))
    board.hear(event("inherit.judged", "t1/round-1", quality=70, coverage=1, grounding=1, critique="", blamed=[]))
    board.hear(event("inherit.chosen", "t1", round=1, quality=70, writes=0))
    assert found.words() == "round 1 · edit prompt · find (reused) check (done) tell (failed) · quality 70 · chosen"
    board.hear(event("inherit.spent", "t1/round-2", round=2, trying="edit", why="no"))
    assert [item.words() for item in board.rounds.values()][1] == "round 2 · no team: no"
    board.hear(round_event(3, nodes="(9,000 characters of JSON)"))
    assert board.rounds["t1/round-3"].words() == "round 3 · edit prompt"


def test_plain_progress_tells_outcomes_of_a_team_and_no_steps(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a node there is one line when it begins and one when it ends; an answer that was told is not told again; as JSON there is everything."""
    happened = [
        replied("t1/round-0/design"),
        round_event(0, "find", origin="initial", edits=[], change=""),
        event("inherit.ran", "t1/round-0/team/find", key="k", why="no record has its key", changed=[]),
        replied("t1/round-0/team/find"),
        event("agent.step", "t1/round-0/team/find", step=1, answer="a"),
        event("answer.kept", "t1/round-0/team/find", answer="a"),
        event("inherit.done", "t1/round-0/team/find", tokens=15, output="a"),
        event("model.retry", "t1/round-0/judge", role="judge", attempt=1, wait=1.0, error="503"),
        event("answer.kept", "t1", answer="a"),
        event("answer.kept", "t1", answer="a"),
    ]
    progress = open_progress(Mode.plain)
    for one in happened:
        progress.event(one)
    lines = [line.partition("s  ")[2] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "t1/round-0  round 0, initial: a team of find",
        "t1/round-0/team/find  runs: no record has its key",
        "t1/round-0/team/find  done, 15 tokens: a",
        "t1/round-0/judge  judge: attempt 1 failed, again in 1.0 s: 503",
        "t1  best answer so far: a",
    ]
    progress = open_progress(Mode.json)
    for one in happened:
        progress.event(one)
    assert len(capsys.readouterr().err.splitlines()) == len(happened)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (20, 5), (4, 1)])
def test_the_live_picture_fits_the_terminal(width: int, height: int) -> None:
    """However many scopes work and however small the terminal, no line is wider and the picture is not higher than it."""
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=False, emoji=False)
    live = Live(title="react · embedded", console=console)
    for number in range(50):
        live.event(round_event(number, *(f"node_{index}" for index in range(20))))
        live.event(event("tool.called", f"t1/peer-{number}", tool="search", arguments={"query": "x" * 200}))
        live.delta(f"t1/peer-{number}", "streaming text " * 30)
    console.print(live.picture())
    lines = out.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    assert len(lines) <= max(height, 3)


def test_a_view_that_fails_is_left_alone() -> None:
    """After its first failure a view is asked no more."""

    class Failing:
        asked = 0

        def start(self) -> None:
            raise RuntimeError("no terminal")

        def event(self, event: Event) -> None:
            self.asked += 1

        def delta(self, scope: str, text: str) -> None:
            self.asked += 1

        def stop(self) -> None:
            self.asked += 1

    view = Failing()
    progress = Progress(view)
    progress.start()
    progress.event(event("run.started", "", run="r1"))
    assert (view.asked, progress.run_id) == (0, "r1")
