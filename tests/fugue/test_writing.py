"""Writes: nobody waits for them, none that fails costs anybody anything but raw steps, and closes follow the text."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from motet.errors import BadReply, ModelUnavailable
from motet.fugue.episode import total
from motet.models.model import Request
from motet.store.store import Store
from tests.fugue.crew import SMALL_ROOM, Crew, noted, opener, page_of, reader, story
from tests.runs.desk import Answer

HARD_ROOM: dict[str, Any] = {"close_at": 300, "keep": 120, "notes": 400, "hard": 1500}


class SlowHub:
    """A hub model that answers only once ``peers`` peers have given their answers."""

    def __init__(self, pages: int, *, peers: int) -> None:
        self.over = asyncio.Event()
        self.speak_before = reader(pages)
        self._left = peers

    def speak(self, name: str, request: Request) -> Any:
        """As a reader of pages; the last answer lets the hub go on."""
        said = self.speak_before(name, request)
        if isinstance(said, str):
            self._left -= 1
            if self._left == 0:
                self.over.set()
        return said

    async def write(self, request: Request) -> Answer:
        """Wait, then write."""
        await self.over.wait()
        return noted(request)


@pytest.mark.parametrize("peers", [1, 3])
def test_peers_never_wait_for_a_write(store: Store, peers: int) -> None:
    """A hub whose model answers only after all peers have answered keeps nobody, and its notes are in the record all the same."""
    hub = SlowHub(8, peers=peers)
    crew = Crew(store, hub.speak, write=hub.write, peers=peers)
    result = crew.solve()
    assert result.answer == "forty-two"
    told = story(result)
    assert [peer.status for peer in told.peers] == ["answered"] * peers
    assert all(peer.notes == peer.closes > 0 for peer in told.peers)
    assert crew.asked["write"] == sum(peer.closes for peer in told.peers)
    # Nothing took the place of raw steps before there was a note.
    assert all(page_of(name, request) for name in ("p1",) for request in crew.seen(name)[1:])
    assert not crew.told("fugue.swapped")


def test_a_note_takes_the_place_of_its_steps_and_reaches_the_teammates(store: Store) -> None:
    """After a close a peer is shown the note and no more the raw steps; teammates are shown the note as another's claims."""
    crew = Crew(store, reader(10))
    crew.solve()
    for name, other in (("p1", "p2"), ("p2", "p1")):
        text = "\n".join(message.content for message in crew.messages()[name])
        assert f"{name}.1-word3" not in text
        assert f"[{name}.1]" in text
        assert f"[{other}.1]" in text
        assert f"{other}.1-word3" not in text
    swapped = {(row["peer"], row["episode"]) for row in crew.told("fugue.swapped")}
    assert {("p1", 1), ("p2", 1)} <= swapped


@pytest.mark.parametrize(
    "failure", [ModelUnavailable("gone"), BadReply("no JSON"), "no JSON at all", '{"confidence": 7}'], ids=str
)
def test_a_failed_write_leaves_the_raw_steps_and_is_tried_again_later(store: Store, failure: Answer) -> None:
    """Steps without a note stay in the conversation; they are closed again, together with those that followed, and then replaced."""
    left = [failure] * (2 if isinstance(failure, str) else 1)  # a reply that does not fit is repaired once

    def write(request: Request) -> Answer:
        return left.pop() if left else noted(request)

    crew = Crew(store, reader(14), write=write, peers=1)
    result = crew.solve()
    assert result.answer == "forty-two"
    lost = crew.told("fugue.unwritten")
    assert [(row["peer"], row["episode"]) for row in lost] == [("p1", 1)]
    closed = crew.told("fugue.closed")
    again = next(row for row in closed[1:] if row["steps"][0] == 1)
    assert again["steps"][1] >= closed[0]["steps"][1]
    text = "\n".join(message.content for message in crew.messages()["p1"])
    assert "p1.1-word3" not in text
    assert "[p1.1]" not in text
    assert f"[p1.{again['episode']}]" in text
    covered = [number for row in closed[1:] for number in range(row["steps"][0], row["steps"][1] + 1)]
    assert sorted(covered) == list(range(1, len(covered) + 1))


def test_a_hub_that_is_down_is_asked_ever_less_often_and_the_peer_goes_on_by_rule(store: Store) -> None:
    """All writes fail: at the hard limit notes by rule take the place of steps, the context stays bounded, and the team answers."""
    crew = Crew(store, reader(50), write=lambda _: ModelUnavailable("down"), peers=1, room=HARD_ROOM, max_steps=80)
    result = crew.solve()
    told = story(result).peers[0]
    assert (result.status, result.answer, told.status) == ("completed", "forty-two", "answered")
    assert told.notes == 0
    assert told.degraded >= 2
    assert crew.team is not None
    step = max(step.tokens for step in crew.team.peers[0].steps)
    largest = max(sum(message.size + 12 for message in request.messages) // 3 for request in crew.seen("p1"))
    assert largest <= HARD_ROOM["hard"] + HARD_ROOM["close_at"] + 2 * step
    attempts = len(crew.told("fugue.unwritten"))
    assert attempts <= 2 * total(crew.team.peers[0].steps) / HARD_ROOM["close_at"]


def test_at_the_hard_limit_a_late_note_is_made_by_rule_and_replaced_by_the_good_one(store: Store) -> None:
    """The note by rule is marked as such; when the hub model's comes, it takes the place of that."""
    late = asyncio.Event()
    read = reader(60)

    def speak(name: str, request: Request) -> Any:
        if any("[p1.1r]" in message.content for message in request.messages):
            late.set()
        return read(name, request)

    async def write(request: Request) -> Answer:
        await late.wait()
        return noted(request)

    crew = Crew(store, speak, write=write, peers=1, room=HARD_ROOM, max_steps=80)
    result = crew.solve()
    assert result.answer == "forty-two"
    swaps = [(row["episode"], row["status"]) for row in crew.told("fugue.swapped")]
    assert swaps.index((1, "degraded")) < swaps.index((1, "ok"))
    by_rule = next(request for request in crew.seen("p1") if "[p1.1r]" in "".join(m.content for m in request.messages))
    assert "(extracted by rule)" in "".join(message.content for message in by_rule.messages)
    assert "[p1.1r]" not in "".join(message.content for message in crew.messages()["p1"])


@pytest.mark.parametrize("peers", [1, 2])
def test_closes_stay_proportional_to_new_text_long_after_notes_have_filled_their_room(store: Store, peers: int) -> None:
    """Over 200 steps, with far more notes than there is room for, no peer closes more often than its own text asks for, and no context grows."""
    crew = Crew(store, reader(200), peers=peers, max_steps=210, room={**SMALL_ROOM, "notes": 300})
    result = crew.solve()
    assert result.answer == "forty-two"
    assert crew.team is not None
    for peer, row in zip(crew.team.peers, story(result).peers, strict=True):
        new = total(peer.steps)
        assert row.steps == 201
        assert row.closes <= new / (peer.room.close_at - peer.room.keep) + 1
        # Each step is closed once, and no note is written of notes.
        ranges = [told["steps"] for told in crew.told("fugue.closed") if told["peer"] == peer.name]
        covered = [number for first, last in ranges for number in range(first, last + 1)]
        assert covered == list(range(1, len(covered) + 1))
        sizes = [sum(message.size + 12 for message in request.messages) // 3 for request in crew.seen(peer.name)]
        opening = sizes[0]
        assert max(sizes) <= opening + 2 * peer.room.close_at + 2 * peer.room.notes
        breaks = sum(prefix.shared < prefix.before for prefix in peer.prefixes)
        assert breaks <= row.closes


def test_between_closes_the_prompt_is_the_last_one_and_more(store: Store) -> None:
    """The prefix share between closes is at least 99 %, where all notes in the first message would lose it with every note."""
    crew = Crew(store, reader(40), peers=3)
    told = story(crew.solve())
    for peer in told.peers:
        assert peer.heard > 0
        assert peer.prefix is not None
        assert peer.rerendered is not None
        assert peer.prefix >= 0.99
        assert peer.rerendered < peer.prefix


def test_large_observations_close_sooner_where_the_room_adapts(store: Store) -> None:
    """With pages that take much of the room, an adaptive peer closes before the next ones would pass the hard limit."""
    first = {}
    for adaptive in (True, False):
        room = {"close_at": 2000, "keep": 300, "notes": 400, "hard": 2600, "adaptive": adaptive}
        crew = Crew(store, reader(8), peers=1, room=room, tools=[opener(words=110)])
        crew.solve()
        first[adaptive] = crew.told("fugue.closed")[0]["steps"][1]
    assert first[True] < first[False]


def test_notes_are_written_with_the_task_at_hand(store: Store) -> None:
    """The hub model is told the task, the steps and what teammates claim by their marks."""
    crew = Crew(store, reader(10))
    crew.solve()
    asked = [request.messages[-1].content for request in crew.seen("write")]
    assert all("What is to be done?" in text for text in asked)
    assert any('p1.1:1 "p1 read page' in text or 'p2.1:1 "p2 read page' in text for text in asked)


def test_a_claim_that_another_peers_steps_contradict_is_shown_as_disputed(store: Store) -> None:
    """A contradiction by the claim's own author counts for nothing, one by a teammate marks the claim wherever it is shown from then on."""

    def write(request: Request) -> Answer:
        text = request.messages[-1].content
        mine = "p1" if "of p1:" in text else "p2"
        marks = ["p1.1:1", "p9.9:9"] if mine == "p2" and "p1.1:1 " in text else ["p1.1:1"] if mine == "p1" else []
        return noted(request, contradicts=marks)  # type: ignore[arg-type]

    crew = Crew(store, reader(24), write=write)
    result = crew.solve()
    assert story(result).disputed == 1
    texts = [message.content for request in crew.model.requests for message in request.messages]
    assert any("disputed by a teammate's steps: p1.1:1" in text or "DISPUTED by p2" in text for text in texts)
    assert not any("DISPUTED by p1" in text for text in texts)


def test_disputes_can_be_switched_off(store: Store) -> None:
    """Without them the hub model is shown no claims and nothing is marked."""

    def write(request: Request) -> Answer:
        assert "p1.1:1" not in request.messages[-1].content
        return noted(request, contradicts=["p1.1:1"])

    crew = Crew(store, reader(16), write=write, dispute=False)
    assert story(crew.solve()).disputed == 0


def test_a_claim_whose_quote_is_nowhere_in_the_steps_is_refused(store: Store) -> None:
    """It reaches nobody and is counted; without verification it passes."""

    def write(request: Request) -> Answer:
        found = json.loads(noted(request))
        found["established"].append({"claim": "the moon is cheese", "quote": "made of cheese"})
        return json.dumps(found)

    for verify in (True, False):
        crew = Crew(store, reader(8), write=write, verify=verify)
        told = story(crew.solve())
        shown = any("cheese" in m.content for name in ("p1", "p2") for r in crew.seen(name) for m in r.messages)
        assert shown != verify
        assert (sum(peer.refused for peer in told.peers) > 0) == verify
