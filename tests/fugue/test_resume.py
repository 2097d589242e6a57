"""Resuming: a team that is broken off at any call goes on as if it had not been."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from motet.models.model import Request
from motet.runs.run import Run
from motet.runs.sitting import Sitting
from motet.store.final import canonical_export
from motet.store.queries import event_list
from motet.store.schema import calls
from motet.store.store import Store, read_blob
from tests.fugue.crew import ALL, Crew, call, noted, page_of, reader, story
from tests.runs.desk import Answer, go, rows


def asking(name: str, request: Request) -> Answer:
    """Reads eight pages; once it has been shown a teammate's note, it asks behind it, once."""
    text = "\n".join(message.content for message in request.messages)
    other = {"p1": "p2", "p2": "p3", "p3": "p1"}[name]
    seen = next(
        (ref for ref in (f"{other}.1", "p2.1", "p1.1") if f"[{ref}]" in text and not ref.startswith(name)), None
    )
    if page_of(name, request) in (5, 6) and seen and "They say so" not in text:
        return call("read_notes", intent=f"what is behind {seen}", refs=[seen])
    said: Any = reader(8)(name, request)
    return said  # type: ignore[no-any-return]


def committed(crew: Crew) -> Counter[tuple[str, str]]:
    """Scope and digest of every model reply, tool answer and input that is in the journal for good."""
    return Counter((row.scope, row.digest) for row in rows(crew.store, crew.run_id) if row.state == "done")


def check_whole(store: Store, run_id: str) -> None:
    """Every place of the journal holds one answer, every episode has one outcome, and nobody was shown a note twice."""
    followed = [row for row in rows(store, run_id) if not row.superseded and row.state == "done"]
    assert set(Counter((row.scope, row.ordinal) for row in followed).values()) == {1}
    outcomes = [row.scope for row in followed if "/write-" in row.scope and row.name.startswith("note ")]
    told: list[Any] = [event.payload for event in event_list(store, run_id, limit=ALL) if event.kind == "fugue.closed"]
    closed = {(row["peer"], row["episode"]) for row in told}
    assert len(outcomes) == len(set(outcomes)) == len(closed)
    for name in {row.scope for row in followed if row.name.startswith("attention")}:
        heard = deliveries(store, run_id, name)
        shown = Counter(
            note["id"] for attention in heard for key in ("notes", "titles") for note in attention.get(key, [])
        )
        assert set(shown.values()) <= {1}
        swaps = Counter(tuple(swap) for attention in heard for swap in attention.get("swap", []))
        assert set(swaps.values()) <= {1}


def deliveries(store: Store, run_id: str, scope: str) -> list[Any]:
    """What the peer of ``scope`` was told between its steps."""

    def read(connection: sa.Connection) -> list[Any]:
        found = connection.execute(
            sa.select(calls.c.reply).where(
                calls.c.run_id == run_id,
                calls.c.kind == "input",
                calls.c.name.startswith("attention"),
                calls.c.scope == scope,
                sa.not_(calls.c.superseded),
            )
        ).scalars()
        return [json.loads(read_blob(connection, reply))["value"] for reply in found.all()]

    return store.read_now(read)


@pytest.mark.parametrize("peers", [2, 3])
@pytest.mark.parametrize("visibility", ["notes+read", "gated", "broadcast"])
def test_a_team_broken_off_at_any_call_goes_on_from_the_journal(store: Store, peers: int, visibility: str) -> None:
    """No committed call is sent again, nothing is delivered twice, and all peers answer, with reads and writes in flight at the break."""

    def crew() -> Crew:
        return Crew(store, asking, peers=peers, visibility=visibility)

    whole = crew()
    expected = whole.solve()
    assert expected.answer == "forty-two"
    if visibility == "notes+read":
        assert whole.asked["read"] > 0
    sent = len(whole.model.requests)
    for position in range(0, sent, 2 if visibility == "notes+read" and peers == 2 else 7):
        broken = crew()
        try:
            broken.break_off(position)
        except AssertionError as error:
            assert "the run has no call" in str(error)  # noqa: PT017 - which calls are made depends on who is quicker
            continue
        assert not broken.leaked
        before = committed(broken)
        done = {row.digest for row in rows(store, broken.run_id) if row.kind == "model" and row.state == "done"}
        already = len(broken.model.requests)
        result = broken.resume()
        assert (result.status, result.answer) == ("completed", "forty-two"), f"broken off at call {position}"
        again = [request.digest for request in broken.model.requests[already:]]
        assert not done & set(again), f"broken off at call {position}"
        assert not before - committed(broken)
        assert not [row for row in rows(store, broken.run_id) if row.superseded and row.state == "done"]
        check_whole(store, broken.run_id)
        assert not broken.leaked


def test_a_finished_conversation_is_the_same_when_it_is_resumed(store: Store) -> None:
    """A team that was broken off at its very end replays to the same messages of every peer, and asks nobody anything."""
    for visibility in ("notes+read", "gated", "broadcast", "private"):
        crew = Crew(store, asking, peers=3, visibility=visibility)
        record = Sitting._record

        async def lost(*_: Any, **__: Any) -> None:
            raise KeyError("the process dies here")

        Sitting._record = lost  # type: ignore[method-assign]
        try:
            with pytest.raises(KeyError):
                crew.solve()
        finally:
            Sitting._record = record  # type: ignore[method-assign]
        expected, asked = crew.messages(), len(crew.model.requests)
        assert not [row for row in rows(store, crew.run_id) if row.superseded]
        result = crew.resume()
        assert result.answer == "forty-two"
        assert crew.messages() == expected
        assert len(crew.model.requests) == asked
        assert not [row for row in rows(store, crew.run_id) if row.superseded and row.state == "done"]


def test_what_the_journal_decides_is_the_same_message_for_message(store: Store) -> None:
    """Every prompt that was answered before the break is a prompt of the resumed peer, and its conversations go on from there."""
    crew = Crew(store, asking, peers=2)
    crew.break_off(20)
    asked = {name: crew.seen(name)[-1].messages for name in ("p1", "p2")}
    crew.resume()
    for name, messages in asked.items():
        later = [request.messages for request in crew.seen(name)]
        assert any(request[: len(messages)] == messages for request in later[1:])


@pytest.mark.parametrize("position", [9, 14, 19])
def test_a_resumed_peer_does_not_wait_for_a_note_whose_writer_took_another_course(store: Store, position: int) -> None:
    """A delivery holds what it says: where the writer's journal no longer holds, whoever was told by it goes on alone."""
    crew = Crew(store, asking, peers=2)
    crew.break_off(position)
    # What p2 and its notes rest on is gone: p2 begins anew, and reads other pages.
    _delete(store, crew.run_id)

    def another(name: str, request: Request) -> Answer:
        if name == "p2":
            return "forty-two"
        return asking(name, request)

    crew._speak = another
    result = crew.resume()
    assert result.answer == "forty-two"
    assert [peer.status for peer in story(result).peers] == ["answered", "answered"]


def _delete(store: Store, run_id: str) -> None:
    def gone(connection: sa.Connection) -> None:
        connection.execute(calls.delete().where(calls.c.run_id == run_id, calls.c.scope.contains("p2")))

    go(store.write(then=gone))


def test_a_read_in_flight_is_finished_by_whoever_asks_the_same_first(store: Store) -> None:
    """Equal reads have one place in the journal: what was committed of one is not asked again by another peer."""
    reads = 0

    def speak(name: str, request: Request) -> Answer:
        text = "\n".join(message.content for message in request.messages)
        if page_of(name, request) >= 6 and "[p1.1]" in text and "They say so" not in text:
            return call("read_notes", intent="The same", refs=["p1.1"])
        said: Any = reader(8)(name, request)
        return said  # type: ignore[no-any-return]

    def read(request: Request) -> Answer:
        nonlocal reads
        reads += 1
        return "They say so."

    crew = Crew(store, speak, read=read, peers=3)
    crew.solve()
    assert reads == 1
    assert {row["cached"] for row in crew.told("fugue.read")} == {True, False}


def test_a_write_that_was_answered_but_not_recorded_is_not_asked_again(store: Store) -> None:
    """The claims that a write was shown are in the journal, so the same request finds its reply, whatever teammates have claimed since."""
    crew = Crew(store, reader(12), peers=2)
    original = Run.input
    struck: list[str] = []

    async def strike(self: Run, name: str, produce: Any) -> Any:
        async def produced() -> Any:
            value = produce()
            value = await value if hasattr(value, "__await__") else value
            if name.startswith("note ") and self.scope.endswith("p2.3") and not struck:
                struck.append(name)
                raise KeyError("the process dies between the reply and the note")
            return value

        return await original(self, name, produced)

    Run.input = strike  # type: ignore[method-assign]
    try:
        with pytest.raises(KeyError):
            crew.solve()
    finally:
        Run.input = original  # type: ignore[method-assign]
    assert struck
    assert not crew.leaked
    before = len(crew.seen("write"))
    done = {row.digest for row in rows(store, crew.run_id) if row.state == "done" and row.kind == "model"}
    result = crew.resume()
    assert result.answer == "forty-two"
    assert not done & {request.digest for request in crew.seen("write")[before:]}


def test_the_final_state_of_a_lone_peer_is_that_of_an_uninterrupted_run(store: Store) -> None:
    """With one peer nothing depends on who is quicker, and the whole export is equal wherever the run was broken off."""

    def write(request: Request) -> Answer:
        return noted(request)

    whole = Crew(store, reader(7), peers=1, write=write)
    whole.solve()
    calm = Counter(request.digest for request in whole.model.requests)
    for position in range(len(whole.model.requests)):
        crew = Crew(store, reader(7), peers=1, write=write)
        crew.break_off(position)
        crew.resume()
        assert story_of(crew) == story_of(whole)
        assert Counter(request.digest for request in crew.model.requests) - calm <= Counter(
            {request.digest: 2 for request in crew.model.requests}
        )
        assert canonical_export(store, crew.run_id) is not None


def story_of(crew: Crew) -> list[tuple[str, Any]]:
    """What the journal of a lone peer's own scope holds in the end."""
    return [
        (row.kind, row.ordinal)
        for row in rows(crew.store, crew.run_id)
        if row.scope == "task/p1" and not row.superseded and row.state == "done"
    ]
