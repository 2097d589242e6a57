"""Events: numbered without a gap, told at once, stored within their limit, and told once however often a run is resumed."""

from __future__ import annotations

import asyncio
import json

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from motet.runs.events import PAYLOAD_LIMIT, Event, Events, shorten
from motet.runs.run import Run
from motet.store.queries import event_list
from motet.store.schema import runs
from motet.store.store import Fence, Store
from motet.task import Result, Task
from tests.runs.desk import Says, ask, done, echo, go, interrupted, new_run, sit, work_once

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=2000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
payloads = st.dictionaries(st.sampled_from(["question", "text", "arguments", "tool", "n", "answer"]), json_values)


@given(st.lists(payloads, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_whatever_is_told_is_stored_within_its_limit_as_json_that_others_can_read(
    store: Store, told: list[dict[str, JsonValue]]
) -> None:
    """Long texts, lone surrogates, numbers that JSON does not have: no event is lost, and none keeps the others from being stored."""
    heard: list[Event] = []

    async def main() -> str:
        run_id = await new_run(store)
        fence = Fence(run_id, 0)
        events = Events(store, fence)
        events.watch(heard.append)
        for payload in told:
            events.emit("test.told", scope="a", payload=payload)
        await store.flush()
        return run_id

    run_id = go(main())
    stored = event_list(store, run_id)
    assert [event.seq for event in stored] == list(range(1, len(told) + 1)) == [event.seq for event in heard]
    for event, payload in zip(stored, told, strict=True):
        text = json.dumps(event.payload, ensure_ascii=False, allow_nan=False)
        assert len(text.encode()) <= PAYLOAD_LIMIT + 100
        assert isinstance(event.payload, dict)
        assert event.payload.keys() == payload.keys()


def test_a_payload_that_fits_is_kept_as_it_is_and_one_that_does_not_says_what_was_cut() -> None:
    """Short values stay whole beside a long one."""
    short = shorten({"text": "x" * 5000, "n": 5, "tool": "search", "arguments": {"query": "y" * 5000}})
    assert short["n"] == 5
    assert short["tool"] == "search"
    assert str(short["text"]).endswith("… (5,000 characters)")
    assert str(short["arguments"]) == "(5,013 characters of JSON)"


def test_what_an_earlier_sitting_told_is_told_to_watchers_and_stored_once(store: Store) -> None:
    """A resumed run numbers on from the last stored event; replayed events have the number 0 and are not stored again."""
    sittings = [0]
    heard: list[Event] = []

    async def work(_task: Task, run: Run) -> Result:
        sittings[0] += 1
        asked = run.model(Says(echo), role="r")
        for step in range(4):
            run.emit("test.step", step=step)
            if step == 2 and sittings[0] == 1:
                raise asyncio.CancelledError
            await asked.reply(ask(str(step)))
        return done("x")

    async def main() -> str:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await work_once(store, run_id, work, watchers=[heard.append])
        return run_id

    run_id = go(main())
    stored = event_list(store, run_id)
    assert [event.seq for event in stored] == list(range(1, len(stored) + 1))
    steps = [(event.payload, event.seq) for event in heard if event.kind == "test.step"]
    assert [payload["step"] for payload, _ in steps] == [0, 1, 2, 3]
    assert [seq == 0 for _, seq in steps] == [True, True, False, False]
    assert {str(event.payload) for event in stored if event.kind == "test.step"} == {
        f"{{'step': {n}}}" for n in range(4)
    }
    kinds = [event.kind for event in stored]
    assert (kinds.count("run.started"), kinds.count("run.resumed"), kinds.count("run.finished")) == (1, 1, 1)


def test_events_of_an_owner_that_lost_its_run_are_dropped(store: Store) -> None:
    """They belong to work that nobody will build on, and must not take numbers from the new owner's."""

    async def main() -> str:
        run_id = await new_run(store)
        async with sit(store, run_id) as sitting:
            sitting.root.emit("test.before")
            await store.flush()
            await store.write(
                then=lambda connection: connection.execute(runs.update().where(runs.c.id == run_id).values(fence=99))
            )
            sitting.root.emit("test.after")
            await store.flush()
        return run_id

    assert [event.kind for event in event_list(store, go(main()))] == ["run.started", "test.before"]
