"""The page of a team's run: who did what when, and that it loads nothing and escapes everything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.cli.show import show
from motet.cli.sight import events_of, look
from motet.cli.swimlane import render_page, timeline
from motet.errors import InputError
from motet.fugue.system import Fugue
from motet.models.model import Request
from motet.store.queries import EventRow, resolve_run
from motet.store.store import Store
from motet.tools.function import FunctionTool
from tests.baselines.crew import Crew
from tests.baselines.searchers import calls, crew_of, search
from tests.runs.conftest import store
from tests.runs.desk import Answer

__all__ = ["store"]

WILD = '<script>alert("x")</script> & <b>bold</b>'
NOTE = {
    "established": [{"claim": WILD, "source": "", "quote": ""}],
    "tried": ["words"],
    "ruled_out": [],
    "open": [],
    "candidate_answer": "Ada",
    "confidence": 0.5,
    "contradicts": [],
}


def peers(_who: str, request: Request) -> Answer:
    """Peers that search as long as they may and answer wildly; the hub writes the note above, and answers reads with words."""
    if request.reply_schema is not None:
        return json.dumps(NOTE)
    if not request.tools:
        return f"read: {WILD}"
    if request.tool_choice == "none":
        return WILD
    shown = re.findall(r"\[(p\d\.\d)\] steps", "\n".join(message.content for message in request.messages))
    system = request.messages[0].content
    asked = any(call.name == "read_notes" for message in request.messages for call in message.tool_calls)
    if shown and not asked:
        other = next((id_ for id_ in shown if f"You are {id_[:2]}," not in system), None)
        if other is not None:
            return calls(("read_notes", {"intent": "Who is it?", "refs": [other]}))  # type: ignore[dict-item]
    return calls(("search", {"query": f"{WILD} {len(request.messages)}"}))


def page_of(store: Store, run_id: str) -> str:
    """The page of a run in ``store``."""
    return render_page(store, look(store, resolve_run(store, run_id)), events_of(store, run_id))


@pytest.fixture
def fugue(store: Store) -> Crew:
    """A team of two that has worked, with notes that were heard and asked behind."""
    crew = Crew(
        store,
        Fugue,
        {},
        say=peers,
        tools=[FunctionTool(search)],
        peers=2,
        max_steps=9,
        room={"close_at": 120, "keep": 0},
    )
    result = crew.solve()
    assert result.status == "completed", result.error
    return crew


def test_every_peer_has_a_lane_with_all_that_it_did(fugue: Crew) -> None:
    """Searches, closes, notes, what it was shown and its end stand in the lane of who did it, in the order in which they happened."""
    found = timeline(events_of(fugue.store, fugue.run_id))
    assert found.peers == ["p1", "p2"]
    assert set(found.ends) == {"p1", "p2"}
    by_kind: dict[str, list[str]] = {}
    for mark in found.marks:
        by_kind.setdefault(mark.kind, []).append(mark.peer)
    for kind, event in (
        ("close", "fugue.closed"),
        ("hear", "fugue.heard"),
        ("read", "fugue.read"),
        ("end", "fugue.answered"),
    ):
        assert sorted(by_kind.get(kind, [])) == sorted(payload["peer"] for payload in fugue.told(event))
        assert by_kind.get(kind), kind
    notes = {f"{payload['peer']}.{payload['episode']}" for payload in fugue.told("fugue.noted")}
    assert {id_.removesuffix("r") for id_ in found.written} == notes
    assert len(by_kind["search"]) == len([None for payload in fugue.told("tool.called") if payload["tool"] == "search"])
    assert [mark.at for mark in found.marks] == sorted(mark.at for mark in found.marks)


def test_the_page_stands_alone_and_shows_texts_as_texts(fugue: Crew) -> None:
    """No script, nothing from elsewhere, no markup of the model's; notes, answers, rules and tokens by purpose are there."""
    page = page_of(fugue.store, fugue.run_id)
    assert "<script" not in page
    assert "<b>" not in page
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page)
    assert "&lt;script&gt;" in page
    for said in ("p1.1", "hub writes", "hub reads", "majority", "claims", "note by the hub model", "candidate answer"):
        assert said in page
    assert page.count('class="thread hear"') >= 1
    assert page.count('class="thread read"') >= 1
    assert page == page_of(fugue.store, fugue.run_id)


def test_who_works_on_a_part_has_a_lane_too(store: Store) -> None:
    """Workers of a meta agent are shown with what they were given, did and reported."""
    crew = crew_of(store, "naive")
    crew.solve()
    found = timeline(events_of(store, crew.run_id))
    assert found.peers == ["p1", "p2"]
    assert [[mark.kind for mark in found.marks if mark.peer == peer] for peer in found.peers] == [
        ["assign", "search", "end"],
        ["assign", "search", "end"],
    ]
    assert "meta agent" in page_of(store, crew.run_id)


def event(seq: int, time: float, kind: str, payload: Mapping[str, Any], scope: str = "t/p1") -> EventRow:
    """An event as the store has it."""
    return EventRow(seq, time, scope, kind, dict(payload))


def test_the_time_between_two_sittings_is_left_out() -> None:
    """What came after the resume follows what came before at once, and the place is marked."""
    found = timeline(
        [
            event(1, 100.0, "run.started", {"run": "r"}, ""),
            event(2, 103.0, "fugue.closed", {"peer": "p1", "episode": 1, "steps": [1, 2]}),
            event(3, 9000.0, "run.resumed", {"run": "r"}, ""),
            event(4, 9002.0, "fugue.answered", {"peer": "p1", "status": "answered", "answer": "x", "steps": 2}),
        ]
    )
    assert found.ends == {"p1": 5.0}
    assert (found.length, found.breaks) == (5.0, [3.0])


def test_a_note_that_was_told_twice_is_one_note() -> None:
    """A run that is killed between telling and committing tells again; the first counts. One by rule is another note."""
    noted = {"peer": "p1", "episode": 1, "steps": [1, 2], "status": "ok", "claims": 0, "refused": 0, "candidate": ""}
    found = timeline(
        [
            event(1, 1.0, "fugue.noted", {**noted, "status": "degraded"}),
            event(2, 2.0, "fugue.noted", noted),
            event(3, 3.0, "fugue.noted", noted),
        ]
    )
    assert {id_: mark.at for id_, mark in found.written.items()} == {"p1.1r": 0.0, "p1.1": 1.0}


@given(st.permutations([f"p{place}" for place in range(1, 13)]))
def test_lanes_are_in_the_order_of_the_peers(order: list[str]) -> None:
    """The tenth comes after the ninth, whoever did something first."""
    told = [event(seq, 0.0, "fugue.stopped", {"peer": peer}, f"t/{peer}") for seq, peer in enumerate(order)]
    assert timeline(told).peers == [f"p{place}" for place in range(1, 13)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "fugue.closed",
                    "fugue.noted",
                    "fugue.heard",
                    "fugue.read",
                    "fugue.answered",
                    "fugue.pointed",
                    "tool.called",
                ]
            ),
            st.dictionaries(
                st.sampled_from(
                    ["peer", "episode", "refs", "notes", "titles", "status", "note", "tool", "arguments", "steps"]
                ),
                st.none()
                | st.integers(0, 3)
                | st.sampled_from(["p1", "ok"])
                | st.lists(st.text(max_size=3), max_size=2),
            ),
        ),
        max_size=8,
    )
)
def test_events_of_another_version_are_drawn_as_far_as_they_go(told: list[tuple[str, dict[str, Any]]]) -> None:
    """Whatever the payloads hold, nothing raises."""
    found = timeline([event(seq, float(seq), kind, payload) for seq, (kind, payload) in enumerate(told)])
    assert len(found.marks) <= len(told)


def test_a_run_without_a_team_has_no_such_page(store: Store, tmp_path: Path) -> None:
    """It says so in one line, and writes nothing."""
    from motet.agent.react import React

    crew = Crew(store, React, {})
    crew.solve()
    with pytest.raises(InputError, match="no bench and no team"):
        page_of(store, crew.run_id)


def test_show_writes_the_page_beside_what_it_prints(
    fugue: Crew, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--html FILE`` is the page above; a folder in its place is refused before anything is written."""
    path = tmp_path / "team.html"
    assert show(fugue.run_id, html=path, store=fugue.store.name) == 0
    assert path.read_text(encoding="utf-8") == page_of(fugue.store, fugue.run_id)
    assert "timeline" in capsys.readouterr().out
    with pytest.raises(InputError, match="is a folder"):
        show(fugue.run_id, html=tmp_path, store=fugue.store.name)
