"""Visibility: six settings from one code path, and what each lets a peer see."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from motet.errors import ModelUnavailable
from motet.fugue.visibility import SIGHTS, Visibility
from motet.models.model import Reply, Request
from motet.store.store import Store
from motet.tools.function import FunctionTool
from tests.fugue.crew import Crew, call, noted, page_of, reader, story
from tests.runs.desk import Answer, rows

ALL: tuple[Visibility, ...] = get_args(Visibility)


def texts(crew: Crew, name: str) -> str:
    """All that one peer was ever shown."""
    return "\n".join(message.content for request in crew.seen(name) for message in request.messages)


def uneven(name: str, request: Request) -> Answer:
    """Reads; ``p2`` reads longer than ``p1``, and whoever is shown its own answer gives it again."""
    if request.messages[-1].role == "user" and "You have answered" in request.messages[-1].content:
        return "on second thoughts"
    return reader(12 if name == "p1" else 16)(name, request)  # type: ignore[return-value]


@pytest.mark.parametrize("visibility", ALL)
def test_each_setting_shows_what_it_says_and_nothing_else(store: Store, visibility: Visibility) -> None:
    """Own notes, teammates' notes, raw steps, the read tool and the review come and go with the setting."""
    crew = Crew(store, uneven, visibility=visibility, early_stop=False)
    result = crew.solve()
    assert result.status == "completed"
    sight = SIGHTS[visibility]
    own, theirs = texts(crew, "p1"), texts(crew, "p2")
    assert ("[p1.1]" in own) == sight.own
    assert ("[p1.1] steps 1 to 2 of p1" in theirs) == (sight.others or sight.review)
    assert ("p1.1-word3" in theirs) == sight.raw
    tools = {spec.name for request in crew.seen("p1") for spec in request.tools}
    assert ("read_notes" in tools) == sight.read
    assert ("You have answered" in own) == sight.review


def test_isolated_peers_have_no_hub_at_all(store: Store) -> None:
    """No write, no read, no scope of the hub, no delivery in anybody's journal."""
    crew = Crew(store, reader(12), visibility="isolated")
    crew.solve()
    assert crew.asked["write"] == crew.asked["read"] == 0
    found = rows(store, crew.run_id)
    assert not [row for row in found if "hub" in row.scope or row.kind == "input"]
    assert "p2" not in texts(crew, "p1").replace("p2-", "")


def test_private_peers_and_their_notes_know_nothing_of_teammates(store: Store) -> None:
    """Neither a peer nor whoever writes its notes is shown a word of another's."""
    crew = Crew(store, reader(16), visibility="private", peers=3)
    crew.solve()
    for name in ("p1", "p2", "p3"):
        for other in {"p1", "p2", "p3"} - {name}:
            assert f"{other}.1" not in texts(crew, name)
    for request in crew.seen("write"):
        text = request.messages[-1].content
        assert sum(f"of {name}:" in text for name in ("p1", "p2", "p3")) == 1
        assert "Claims of teammates" not in text


def test_gated_peers_hear_of_each_other_only_once_they_have_answered(store: Store) -> None:
    """Before its own answer a peer is shown no teammate's note and can read none; in the review it is shown them, and may change its answer."""

    def speak(name: str, request: Request) -> Answer:
        reviewing = any("You have answered" in message.content for message in request.messages)
        if not reviewing and name == "p2" and page_of(name, request) == 10:
            if "You were shown no note" not in request.messages[-1].content:
                return call("read_notes", intent="what p1 knows", refs=["p1.1"])
            return call("open_page", page="p2.11")
        return uneven(name, request)

    crew = Crew(store, speak, visibility="gated")
    told = story(crew.solve())
    for request in crew.seen("p2"):
        shown = [
            n for n, message in enumerate(request.messages) if "of p1" in message.content and "[p1." in message.content
        ]
        asked = [n for n, message in enumerate(request.messages) if "You have answered" in message.content]
        assert not shown or (asked and min(shown) >= min(asked))
    assert "You were shown no note" in texts(crew, "p2")
    assert told.peers[1].first == "forty-two"
    assert told.peers[1].answer == "on second thoughts"
    assert crew.asked["read"] == 0


def test_broadcast_shows_each_raw_step_once(store: Store) -> None:
    """Also where a write failed, and its steps were closed a second time."""
    left = [ModelUnavailable("gone")]

    def write(request: Request) -> Answer:
        return left.pop() if left else noted(request)

    room = {"close_at": 300, "keep": 120, "notes": 60_000, "hard": 100_000}
    crew = Crew(store, reader(14), visibility="broadcast", write=write, room=room)
    crew.solve()
    assert len(crew.told("fugue.unwritten")) == 1
    for name, other in (("p1", "p2"), ("p2", "p1")):
        text = "\n".join(message.content for message in crew.messages()[name])
        assert f"{other}.1-word3" in text
        for page in range(1, 14):
            assert text.count(f"PAGE {other}.{page}:") <= 1


@pytest.mark.parametrize("visibility", ALL)
def test_a_call_that_a_teammate_made_is_answered_from_its_record_where_peers_may_see_each_other(
    store: Store, visibility: Visibility
) -> None:
    """Where they may not, each calls for itself; the call counts as issued either way."""
    made: list[str] = []

    def look(page: str) -> str:
        """Look at a page.

        Args:
            page: Its name.
        """
        made.append(page)
        return f"PAGE {page}"

    def speak(name: str, request: Request) -> Answer:
        calls = sum(bool(message.tool_calls) for message in request.messages)
        # The second peer waits with a call of its own, so that the first was there before.
        pages = ["a", "common"] if name == "p1" else ["b", "c", "d", "e", "common"]
        return call("look", page=pages[calls]) if calls < len(pages) else "done"

    crew = Crew(store, speak, visibility=visibility, tools=[FunctionTool(look, name="look", version="1")])
    told = story(crew.solve())
    shared = SIGHTS[visibility].shared_calls
    assert made.count("common") == (1 if shared else 2)
    assert told.repeats == (1 if shared else 0)
    assert [peer.calls for peer in told.peers] == [{"look": 2}, {"look": 5}]
    assert ("p1 made this very call before" in texts(crew, "p2")) == shared


def test_calls_are_not_shared_where_a_tool_writes(store: Store) -> None:
    """What a teammate read may read differently by now."""
    made: list[str] = []

    def look(page: str) -> str:
        """Look at a page.

        Args:
            page: Its name.
        """
        made.append(page)
        return page

    def change(page: str) -> str:
        """Change a page.

        Args:
            page: Its name.
        """
        return page

    def speak(name: str, request: Request) -> Answer:
        calls = sum(bool(message.tool_calls) for message in request.messages)
        pages = ["common"] if name == "p1" else ["b", "c", "d", "common"]
        return call("look", page=pages[calls]) if calls < len(pages) else "done"

    tools = [
        FunctionTool(look, name="look", version="1"),
        FunctionTool(change, name="change", effect="write", delivery="local", version="1"),
    ]
    Crew(store, speak, tools=tools).solve()
    assert made.count("common") == 2


@pytest.mark.parametrize("visibility", ALL)
def test_a_team_of_one_works_under_every_setting(store: Store, visibility: Visibility) -> None:
    """With a hub it has notes of its own, and may read behind them."""

    def speak(name: str, request: Request) -> Answer:
        if page_of(name, request) >= 10 and "read_notes" in {spec.name for spec in request.tools}:
            if request.messages[-1].content.startswith("They say so"):
                return "forty-two"
            return call("read_notes", intent="what was on page 1?", refs=["[p1.1]"])
        said: Any = reader(10)(name, request)
        assert isinstance(said, str | Reply)
        return said

    crew = Crew(store, speak, visibility=visibility, peers=1)
    result = crew.solve()
    assert result.answer == "forty-two"
    sight = SIGHTS[visibility]
    told = story(result).peers[0]
    assert (told.notes > 0) == sight.own
    assert crew.asked["read"] == (1 if sight.read else 0)
    assert told.heard == 0
