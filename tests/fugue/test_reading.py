"""Reads: answered from raw episodes within the hub's window, cited, shared by equal reads, and never a peer's undoing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import JsonValue

from motet.errors import ModelError, ModelUnavailable
from motet.fugue.episode import Episode, Step
from motet.fugue.hub import Hub, HubConfig, Reading
from motet.fugue.note import Note
from motet.fugue.reading import reading_tool
from motet.models.model import Message, Request, estimate_tokens
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Task
from tests.fugue.crew import Crew, call, page_of, reader, story
from tests.runs.desk import TASK, Answer, Says, done, go, new_run, work_once


def episode(peer: str, number: int, text: str, *, steps: int = 1) -> Episode:
    """``steps`` steps that each hold ``text``."""
    made = [
        Step(number=step, messages=(Message(role="tool", tool_call_id="c", content=text),))
        for step in range(1, steps + 1)
    ]
    return Episode(peer=peer, number=number, steps=tuple(made))


def with_hub(store: Store, model: Says, work: Callable[[Hub], Awaitable[None]], **config: Any) -> None:
    """``work`` with a hub of ``model`` in a new run."""

    async def solve(task: Task, run: Run) -> Result:
        hub = Hub(HubConfig(model=model, **config), task, run=run.child("hub"), shared=True)
        try:
            await work(hub)
        finally:
            await hub.end()
        return done("done")

    async def main() -> None:
        await work_once(store, await new_run(store, TASK), solve)

    go(main())


def answers(request: Request) -> Answer:
    """A note for writes, the number of the question's words for reads."""
    return '{"established": []}' if request.messages[0].content.startswith("You keep") else "It says so [p1.1 step 1]."


def test_one_read_over_several_episodes_is_asked_from_the_raw_steps_and_cited(store: Store) -> None:
    """The hub model sees what the steps say, and the answer says which it rests on."""
    model = Says(answers)

    async def work(hub: Hub) -> None:
        for peer in ("p1", "p2"):
            await hub.write(episode(peer, 1, f"raw words of {peer}"))
        model.requests.clear()
        found = await hub.read("who?", ["p2.1", "p1.1", "p1.1"])
        assert found == Reading(
            "It says so [p1.1 step 1].\n(read in p1.1 steps 1 to 1; p2.1 steps 1 to 1)", ("p1.1", "p2.1")
        )
        [request] = model.requests
        text = request.messages[-1].content
        assert all(part in text for part in ("who?", "raw words of p1", "raw words of p2", "[p1.1]", "[p2.1]"))

    with_hub(store, model, work)


@pytest.mark.parametrize("window", [1600, 3000, 12_000])
def test_reads_larger_than_the_window_are_mapped_and_merged_within_it(store: Store, window: int) -> None:
    """Every request fits, every word of every episode is in one, and what the parts say is put together."""
    model = Says(answers)
    words = " ".join(f"word{number}" for number in range(1800))

    async def work(hub: Hub) -> None:
        for number in range(1, 5):
            await hub.write(episode("p1", number, words, steps=2))
        model.requests.clear()
        await hub.read("who?", [f"p1.{number}" for number in range(1, 5)])

    with_hub(store, model, work, window=window, read_tokens=300, max_tokens=300)
    assert all(estimate_tokens(request) + request.max_tokens <= window * 1.1 for request in model.requests)
    shown = "".join(request.messages[-1].content for request in model.requests)
    assert all(shown.count(f"word{number}") >= 8 for number in (0, 900, 1799))
    merges = [request for request in model.requests if "Put these together" in request.messages[-1].content]
    assert merges
    assert model.requests[-1] in merges


def test_equal_reads_are_one_read_whoever_asks_and_when(store: Store) -> None:
    """Side by side and afterwards, in other words' order or spacing of the same; a failure is not kept."""
    gate = asyncio.Event()
    failing = [True]

    async def slow(request: Request) -> Answer:
        if request.messages[0].content.startswith("You keep"):
            return '{"established": []}'
        await gate.wait()
        return ModelUnavailable("gone") if failing and failing.pop() else "They say so."

    model = Says(slow)

    async def work(hub: Hub) -> None:
        for peer in ("p1", "p2"):
            await hub.write(episode(peer, 1, "words"))
        model.requests.clear()
        asked = [asyncio.create_task(hub.read("Who  is it?", refs)) for refs in (["p1.1", "p2.1"], ["p2.1", "p1.1"])]
        await asyncio.sleep(0)
        gate.set()
        failures = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(failure) for failure in failures] == [ModelUnavailable] * 2
        assert len(model.requests) == 1
        assert (await hub.read("who is it?", ["p1.1", "p2.1"])).cached is False
        assert (await hub.read("who is  IT?", ["p2.1", "p1.1"])).cached is True
        assert (await hub.read("who is it?", ["p2.1"])).cached is False
        assert len(model.requests) == 3

    with_hub(store, model, work)


def test_a_read_that_takes_too_long_is_given_up_and_its_answer_kept_for_the_next(store: Store) -> None:
    """The peer is told and goes on; the read itself is not broken off, and nothing is left of it in the end."""
    gate = asyncio.Event()

    async def slow(request: Request) -> Answer:
        if request.messages[0].content.startswith("You keep"):
            return '{"established": []}'
        await gate.wait()
        return "They say so."

    model = Says(slow)

    async def work(hub: Hub) -> None:
        await hub.write(episode("p1", 1, "words"))
        tool = reading_tool(hub, peer="p2", shown=lambda: {"p1.1"}, seconds=0.01)
        late = await tool({"intent": "who?", "refs": ["p1.1"]}, key="k")
        assert late.error
        assert "did not answer within 0.01 seconds" in late.text
        gate.set()
        found = await hub.read("who?", ["p1.1"])
        assert found.cached
        again = await tool({"intent": "who?", "refs": ["p1.1"]}, key="k")
        assert again.text.startswith("They say so.")
        assert len(model.requests) == 2

    with_hub(store, model, work)


@pytest.mark.parametrize("error", [ModelUnavailable("gone"), ModelUnavailable("too long")])
def test_a_read_that_fails_says_so_and_costs_nothing_else(store: Store, error: ModelError) -> None:
    """An observation with its reason; the next read is asked anew."""
    model = Says(lambda request: '{"tried": []}' if request.messages[0].content.startswith("You keep") else error)

    async def work(hub: Hub) -> None:
        await hub.write(episode("p1", 1, "words"))
        tool = reading_tool(hub, peer="p2", shown=lambda: {"p1.1"}, seconds=60)
        for _ in range(2):
            found = await tool({"intent": "who?", "refs": ["p1.1"]}, key="k")
            assert found.error
            assert str(error) in found.text

    with_hub(store, model, work)
    assert len(model.requests) == 3


def test_only_notes_that_a_peer_was_shown_can_be_looked_behind(store: Store) -> None:
    """Others are refused with the nearest right name; brackets and the mark of a note by rule are read over."""
    model = Says(answers)

    async def work(hub: Hub) -> None:
        for peer in ("p1", "p2"):
            await hub.write(episode(peer, 1, "words"))
        tool = reading_tool(hub, peer="p3", shown=lambda: {"p1.1", "p2.1r"}, seconds=60)
        wrong = await tool({"intent": "who?", "refs": ["p1.2"]}, key="k")
        assert wrong.error
        assert "did you mean 'p1.1'?" in wrong.text
        right: list[list[JsonValue]] = [["[p1.1]"], ["p2.1r"], ["p2.1", "p1.1"]]
        for refs in right:
            assert not (await tool({"intent": "who?", "refs": refs}, key="k")).error
        assert (await tool({"intent": "who?", "refs": []}, key="k")).error
        assert (await tool({"intent": "who?", "refs": ["p1.1"] * 6}, key="k")).error

    with_hub(store, model, work)


def test_without_synthesis_a_read_gives_the_stored_note(store: Store) -> None:
    """And asks no model."""
    model = Says(lambda _: '{"established": [{"claim": "the sky is blue"}]}')

    async def work(hub: Hub) -> None:
        note = await hub.write(episode("p1", 1, "words"))
        assert isinstance(note, Note)
        tool = reading_tool(hub, peer="p2", shown=lambda: {"p1.1"}, seconds=60)
        found = await tool({"intent": "who?", "refs": ["p1.1"]}, key="k")
        assert 'claims "the sky is blue"' in found.text

    with_hub(store, model, work, synthesis=False)
    assert len(model.requests) == 1


def test_whoever_waits_for_the_steps_of_a_peer_that_has_ended_is_told(store: Store) -> None:
    """A resumed peer may know of a note whose writer took another course: it does not wait for ever."""
    model = Says(answers)

    async def work(hub: Hub) -> None:
        tool = reading_tool(hub, peer="p2", shown=lambda: {"p1.1"}, seconds=3600)
        waiting = asyncio.create_task(tool({"intent": "who?", "refs": ["p1.1"]}, key="k"))
        await asyncio.sleep(0)
        hub.leave("p1")
        assert "not there any more" in (await waiting).text
        assert "not there any more" in (await tool({"intent": "what?", "refs": ["p1.1"]}, key="k")).text

    with_hub(store, model, work)


def test_reads_of_peers_are_counted_and_shared(store: Store) -> None:
    """In a whole team: three peers ask the same, the hub model once."""

    def speak(name: str, request: Request) -> Any:
        text = "\n".join(message.content for message in request.messages)
        if page_of(name, request) >= 6 and "[p1.1]" in text and "They say so" not in text:
            return call("read_notes", intent="the same", refs=["p1.1"])
        return reader(9)(name, request)

    crew = Crew(store, speak, peers=3)
    told = story(crew.solve())
    assert crew.asked["read"] == 1
    assert sum(peer.reads for peer in told.peers) == 3


def test_a_pointer_names_a_note_that_bears_on_what_the_peer_does_once(store: Store) -> None:
    """Only where pointers are on."""

    def speak(name: str, request: Request) -> Any:
        said: Any = reader(10)(name, request)
        return said if isinstance(said, str) else said.model_copy(update={"text": "I look for zanzibar spices"})

    def write(_: Request) -> Answer:
        return '{"established": [{"claim": "zanzibar grew most spices"}]}'

    on = Crew(store, speak, write=write, pointers=True)
    on.solve()
    pointed = [(row["peer"], row["note"]) for row in on.told("fugue.pointed")]
    assert pointed
    assert len(pointed) == len(set(pointed))
    assert all(not note.startswith(peer) for peer, note in pointed)
    assert any(
        "bears on what you are doing" in message.content for message in on.messages()["p1"] + on.messages()["p2"]
    )
    off = Crew(store, speak, write=write)
    off.solve()
    assert not off.told("fugue.pointed")
