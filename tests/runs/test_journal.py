"""The journal: a resumed run is answered from it, place by place, for as long as it asks the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
import sqlalchemy as sa
from pydantic import JsonValue

from motet.errors import BudgetExceeded, ModelUnavailable, StoreError, UnconfirmedWrite
from motet.models.model import Request
from motet.runs.run import Run
from motet.store.schema import blobs
from motet.store.store import Store
from motet.task import Result, Task
from motet.tools.tool import Delivery, Effect, Observation
from tests.runs.desk import (
    Answer,
    Says,
    Work,
    ask,
    done,
    echo,
    go,
    interrupted,
    new_run,
    places,
    rows,
    side_by_side,
    work_once,
)


class Counted:
    """A tool that counts its calls."""

    description = "counts"
    parameters: dict[str, JsonValue] = {"type": "object", "properties": {}}  # noqa: RUF012 - a Tool's parameters are plain data

    def __init__(self, *, name: str = "counted", effect: Effect = "read", version: str = "1") -> None:
        self.name = name
        self.effect: Effect = effect
        self.delivery: Delivery = "plain"
        self.version = version
        self.calls = 0

    async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
        """The how-many-th call this is."""
        self.calls += 1
        return Observation(text=f"call {self.calls}")

    async def confirm(self, key: str) -> Observation | None:
        """Unknown."""
        return None


def test_a_replay_asks_no_model_no_tool_and_no_clock(store: Store) -> None:
    """Everything a scope was told comes back as it was, in its order, and nobody is asked again."""
    model, tool, ticks = Says(echo), Counted(), iter(range(10))
    heard: list[list[str]] = []

    async def work(_task: Task, run: Run) -> Result:
        asked = run.model(model, role="r")
        first = await asked.reply(ask("one"))
        seen = await run.tool(tool, {"x": 1})
        tick = await run.input("clock", lambda: next(ticks))
        last = await asked.reply(ask(f"{first.text} {seen.text} {tick}"))
        heard.append([first.text, seen.text, str(tick), last.text])
        if len(heard) < 3:
            raise asyncio.CancelledError
        return done(last.text)

    async def main() -> Result:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await interrupted(store, run_id, work)
        return await work_once(store, run_id, work)

    result = go(main())
    assert heard[0] == heard[1] == heard[2]
    assert (len(model.requests), tool.calls, next(ticks)) == (2, 1, 1)
    assert (result.usage.calls, result.earlier.calls) == (0, 2)


@pytest.mark.parametrize("change", ["tool version", "system text", "tool arguments", "order"])
def test_the_first_difference_makes_a_scope_live_and_supersedes_what_followed(store: Store, change: str) -> None:
    """Rows before the difference are followed, those from it on are kept for the ledger and followed no more."""
    model, sittings = Says(echo), [0]

    async def work(_task: Task, run: Run) -> Result:
        again = sittings[0] > 0
        sittings[0] += 1
        asked = run.model(model, role="r")
        await asked.reply(ask("same"))
        tool = Counted(version="2" if again and change == "tool version" else "1")
        look = run.tool(tool, {"x": 2 if again and change == "tool arguments" else 1})
        if again and change == "order":
            await asked.reply(ask("between"))
        await look
        await asked.reply(ask("other" if again and change == "system text" else "then"))
        await asked.reply(ask("last"))
        if not again:
            raise asyncio.CancelledError
        return done("x")

    async def main() -> str:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await work_once(store, run_id, work)
        return run_id

    run_id = go(main())
    first = 2 if change == "system text" else 1
    assert places(store, run_id, superseded=True) == [("task", ordinal) for ordinal in range(first, 4)]
    live = places(store, run_id, superseded=False)
    assert live == [("task", ordinal) for ordinal in range(5 if change == "order" else 4)]


def test_a_difference_in_one_scope_leaves_the_others_in_replay(store: Store) -> None:
    """Scopes go live one by one."""
    model, sittings = Says(echo), [0]

    async def work(_task: Task, run: Run) -> Result:
        again = sittings[0] > 0
        sittings[0] += 1
        for name in ("left", "right"):
            asked = run.child(name).model(model, role="r")
            await asked.reply(ask(f"{name} {again and name == 'left'}"))
            await asked.reply(ask(f"{name} two"))
        if not again:
            raise asyncio.CancelledError
        return done("x")

    async def main() -> str:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await work_once(store, run_id, work)
        return run_id

    run_id = go(main())
    assert places(store, run_id, superseded=True) == [("task/left", 0), ("task/left", 1)]
    assert len(model.requests) == 6


def test_scopes_may_be_opened_and_worked_in_any_order(store: Store) -> None:
    """A scope's place is its name, never the moment in which it was opened."""
    model, sittings = Says(echo), [0]

    async def work(_task: Task, run: Run) -> Result:
        names = ["a", "b", "c"] if sittings[0] == 0 else ["c", "a", "b"]
        sittings[0] += 1
        asked = [run.child(name).model(model, role="r").reply(ask(name)) for name in names]
        texts = sorted(reply.text for reply in await side_by_side(asked))
        if sittings[0] == 1:
            raise asyncio.CancelledError
        return done(" ".join(texts))

    async def main() -> Result:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        return await work_once(store, run_id, work)

    assert go(main()).answer == "echo a echo b echo c"
    assert len(model.requests) == 3


def test_calls_side_by_side_in_one_scope_keep_their_places(store: Store) -> None:
    """Replies that come back in the opposite order still belong to the calls in the order in which they were made."""
    gates = [asyncio.Event() for _ in range(4)]
    sittings = [0]

    async def backwards(request: Request) -> Answer:
        number = int(request.messages[-1].content)
        if number < 3:
            await gates[number + 1].wait()
        gates[number].set()
        return f"reply {number}"

    model = Says(backwards)

    async def work(_task: Task, run: Run) -> Result:
        asked = run.model(model, role="r")
        texts = [reply.text for reply in await side_by_side([asked.reply(ask(str(n))) for n in range(4)])]
        sittings[0] += 1
        if sittings[0] == 1:
            raise asyncio.CancelledError
        return done(" ".join(texts))

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        return run_id, await work_once(store, run_id, work)

    run_id, result = go(main())
    assert result.answer == "reply 0 reply 1 reply 2 reply 3"
    assert len(model.requests) == 4
    assert [row.ordinal for row in rows(store, run_id)] == [3, 2, 1, 0]


def test_a_call_that_was_in_flight_costs_none_of_those_beside_it(store: Store) -> None:
    """Of calls side by side, one is broken off and the others are committed: only that one is asked again."""
    sittings, ready = [0], asyncio.Barrier(3)

    async def slow_first(request: Request) -> Answer:
        if request.messages[-1].content == "0" and sittings[0] == 0:
            await ready.wait()
            raise asyncio.CancelledError
        return echo(request)

    model = Says(slow_first)

    async def work(_task: Task, run: Run) -> Result:
        asked = run.model(model, role="r")

        async def one(text: str) -> str:
            reply = await asked.reply(ask(text))
            if sittings[0] == 0:
                await ready.wait()
            return reply.text

        try:
            texts = await side_by_side([one(str(n)) for n in range(3)])
        finally:
            sittings[0] += 1
        return done(" ".join(texts))

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        return run_id, await work_once(store, run_id, work)

    run_id, result = go(main())
    assert result.answer == "echo 0 echo 1 echo 2"
    assert [request.messages[-1].content for request in model.requests] == ["0", "1", "2", "0"]
    assert places(store, run_id, superseded=True) == [("task", 0)]  # the attempt that was broken off


@pytest.mark.parametrize("fails_again", [True, False])
def test_a_call_that_failed_is_asked_again_and_what_followed_holds_if_it_is_asked_the_same(
    store: Store, fails_again: bool
) -> None:
    """A scope that went on after a failure pays for nothing twice when it fails the same way again."""
    sittings = [0]

    def sometimes(request: Request) -> Answer:
        fails = request.messages[-1].content == "risky" and (fails_again or sittings[0] == 0)
        return ModelUnavailable("gone") if fails else echo(request)

    model = Says(sometimes)

    async def work(_task: Task, run: Run) -> Result:
        asked = run.model(model, role="r")
        try:
            text = (await asked.reply(ask("risky"))).text
        except ModelUnavailable:
            text = "nothing"
        last = (await asked.reply(ask(f"went on with {text}"))).text
        sittings[0] += 1
        if sittings[0] == 1:
            raise asyncio.CancelledError
        return done(last)

    async def main() -> Result:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        return await work_once(store, run_id, work)

    assert go(main()).answer == f"echo went on with {'nothing' if fails_again else 'echo risky'}"
    assert len(model.requests) == (3 if fails_again else 4)


def test_what_a_finished_task_no_longer_followed_is_superseded(store: Store) -> None:
    """Rows beyond the last that was followed, and scopes that were never opened again, belong to no final state."""
    sittings = [0]

    async def work(_task: Task, run: Run) -> Result:
        sittings[0] += 1
        model = run.model(Says(echo), role="r")
        await model.reply(ask("one"))
        if sittings[0] > 1:
            return done("short")
        await model.reply(ask("two"))
        await run.child("gone").model(Says(echo), role="r").reply(ask("three"))
        raise asyncio.CancelledError

    async def main() -> str:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await work_once(store, run_id, work)
        return run_id

    run_id = go(main())
    assert places(store, run_id, superseded=False) == [("task", 0)]
    assert places(store, run_id, superseded=True) == [("task", 1), ("task/gone", 0)]


def test_a_damaged_reply_stops_the_resume_and_is_named(store: Store) -> None:
    """A flipped byte in what a model said gives an error, never another answer, and never a new call in its place."""
    model, sittings = Says(lambda _request: "a long and certain answer " * 20), [0]

    async def work(_task: Task, run: Run) -> Result:
        reply = await run.model(model, role="r").reply(ask("one"))
        sittings[0] += 1
        if sittings[0] == 1:
            raise asyncio.CancelledError
        return done(reply.text)

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        name = rows(store, run_id)[0].reply

        def flip(connection: sa.Connection) -> None:
            data = bytearray(connection.execute(sa.select(blobs.c.data).where(blobs.c.hash == name)).scalar_one())
            data[len(data) // 2] ^= 1
            connection.execute(blobs.update().where(blobs.c.hash == name).values(data=bytes(data)))

        await store.write(then=flip)
        return name, await work_once(store, run_id, work)

    name, result = go(main())
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.boundary, result.error.kind) == (StoreError.boundary, "Damaged")
    assert name in result.error.message
    assert len(model.requests) == 1


@pytest.mark.parametrize("assume", [None, "done", "redo"])
def test_a_write_in_doubt_is_never_forgotten_when_the_run_takes_another_way(store: Store, assume: str | None) -> None:
    """A changed tool no longer asks for the write that was sent: a person must look after it before the run goes on."""

    class Dies(Counted):
        async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
            self.calls += 1
            raise asyncio.CancelledError

    before, after = Dies(name="post", effect="write"), Counted(name="post", effect="write", version="2")

    def post(tool: Counted) -> Work:
        async def work(_task: Task, run: Run) -> Result:
            await run.model(Says(echo), role="r").reply(ask("one"))
            return done((await run.tool(tool, {"text": "hello"})).text)

        return work

    async def main() -> Result:
        run_id = await new_run(store)
        await interrupted(store, run_id, post(before))
        return await work_once(store, run_id, post(after), assume=assume)

    result = go(main())
    assert before.calls == 1
    if assume is None:
        assert result.error is not None
        assert result.error.kind == UnconfirmedWrite.__name__
        assert 'post({"text":"hello"})' in result.error.message
        assert after.calls == 0
    else:
        assert (result.status, after.calls) == ("completed", 1)


def test_a_call_that_the_budget_refused_leaves_no_row(store: Store) -> None:
    """Nothing was sent, so there is nothing to tell."""
    from motet.runs.budget import Budget

    async def work(_task: Task, run: Run) -> Result:
        with pytest.raises(BudgetExceeded):
            await run.model(Says(echo), role="r").reply(ask("one", max_tokens=1000))
        return done("x")

    async def main() -> str:
        run_id = await new_run(store)
        await work_once(store, run_id, work, budget=Budget(tokens=500))
        return run_id

    assert rows(store, go(main())) == []


@pytest.mark.parametrize(
    "value",
    [None, 0, 0.0, 1e22, "", {"b": 1.0, "a": [None, {}]}, {"$int": "5"}, 2**60, float("inf"), "ключ ☃", "\ud800 \x00"],
)
def test_an_input_and_a_tool_s_data_replay_exactly_as_they_were(store: Store, value: JsonValue) -> None:
    """Also in their order of keys and kind of number: a prompt made of them must be the same to the letter."""
    heard: list[str] = []

    class Gives(Counted):
        async def __call__(self, arguments: Mapping[str, JsonValue], *, key: str) -> Observation:
            return Observation(text="data", data=None if isinstance(value, str) else value)

    async def later() -> JsonValue:
        assert not heard
        return value

    async def work(_task: Task, run: Run) -> Result:
        given = await run.input("any", later)
        observation = await run.tool(Gives(effect="write" if value is None else "read"), {})
        heard.append(f"{given!r} {observation.data!r}")
        if len(heard) == 1:
            raise asyncio.CancelledError
        return done("x")

    async def main() -> None:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await work_once(store, run_id, work)

    go(main())
    assert heard[0] == heard[1]
    assert heard[0].startswith(repr(value))
