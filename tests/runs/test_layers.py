"""The layers between a system and a model: what each lets through, counts and tells."""

from __future__ import annotations

import asyncio

import pytest

from motet.errors import ModelError, ModelRefusal, ModelUnavailable
from motet.models.gate import Gate, Gated
from motet.models.model import Model, Price, Reply, Request
from motet.runs.events import Event
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Task
from motet.usage import Usage
from tests.runs.desk import Says, ask, done, echo, go, in_turn, interrupted, new_run, rows, work_once


class Listens:
    """An observer that keeps what it hears."""

    wants_deltas = True

    def __init__(self) -> None:
        self.heard: list[str] = []

    def delta(self, text: str, *, reasoning: bool = False) -> None:
        """Keep it."""
        self.heard.append(text)

    def failed(self, error: ModelError, *, attempt: int, wait: float) -> None:
        """Keep it."""
        self.heard.append(f"{attempt}: {error.kind}")


async def at_once(_seconds: float) -> None:
    """Wait no time."""


def test_a_run_s_model_is_a_model_around_the_model(store: Store) -> None:
    """It has the inner model's facts, and can be handed to whatever takes a Model."""

    async def work(_task: Task, run: Run) -> Result:
        inner = Says(echo, name="inner", context=77)
        outer = run.model(inner, role="r")
        assert isinstance(outer, Model)
        assert outer.info == inner.info
        return done("x")

    async def main() -> Result:
        return await work_once(store, await new_run(store), work)

    assert go(main()).status == "completed"


def test_an_observer_hears_failures_through_all_layers_and_a_replay_is_silent(store: Store) -> None:
    """Retries are told to who asked, to the watchers and in the row; a replayed reply tells of none."""
    answers = (ModelUnavailable("reset", billed=True), ModelUnavailable("no connection"), "at last")
    model = Gated(Says(in_turn(answers)), Gate(1, sleep=at_once))
    heard: list[list[str]] = []
    events: list[Event] = []

    async def work(_task: Task, run: Run) -> Result:
        observer = Listens()
        reply = await run.model(model, role="r").reply(ask("one"), observer=observer)
        heard.append(observer.heard)
        if len(heard) == 1:
            raise asyncio.CancelledError
        return done(f"{reply.text} {reply.attempts} {len(reply.lost)}")

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        await interrupted(store, run_id, work, watchers=[events.append])
        return run_id, await work_once(store, run_id, work, watchers=[events.append])

    run_id, result = go(main())
    assert heard == [["1: ModelUnavailable", "2: ModelUnavailable"], []]
    assert result.answer == "at last 3 1"
    assert [event.payload["attempt"] for event in events if event.kind == "model.retry"] == [1, 2]
    assert [(event.payload["replayed"], event.seq > 0) for event in events if event.kind == "model.replied"] == [
        (False, True),
        (True, False),
    ]
    assert [(row.attempts, row.lost) for row in rows(store, run_id)] == [(3, "[{}]")]


def test_a_reply_is_used_only_after_it_is_committed(store: Store) -> None:
    """Whoever has a reply in hand finds it in the store."""

    async def work(_task: Task, run: Run) -> Result:
        for n in range(3):
            await run.model(Says(echo), role="r").reply(ask(str(n)))
            assert [row.ordinal for row in rows(store, run.id)] == list(range(n + 1))
        return done("x")

    async def main() -> Result:
        return await work_once(store, await new_run(store), work)

    assert go(main()).status == "completed"


@pytest.mark.parametrize(
    ("error", "failed", "unknown"),
    [
        (ModelUnavailable("no connection"), 0, 0),
        (ModelUnavailable("reset", billed=True), 1, 1),
        (ModelRefusal("declined"), 0, 0),
    ],
)
def test_a_failed_call_counts_what_it_may_have_cost(store: Store, error: ModelError, failed: int, unknown: int) -> None:
    """And its error passes as it is."""

    async def work(_task: Task, run: Run) -> Result:
        with pytest.raises(type(error)) as caught:
            await run.model(Says(lambda _request: error), role="r").reply(ask("one"))
        assert caught.value is error
        return done("x")

    async def main() -> Result:
        return await work_once(store, await new_run(store), work)

    usage = go(main()).usage
    assert (usage.calls, usage.failed, usage.unknown) == (failed, failed, unknown)


def test_a_call_broken_off_between_two_attempts_counts_all_of_them(store: Store) -> None:
    """Those that failed before, and the one that may be in flight; in the ledger as in the journal."""

    async def never(_seconds: float) -> None:
        await asyncio.Event().wait()

    model = Gated(Says(lambda _request: ModelUnavailable("reset", billed=True)), Gate(1, sleep=never))

    async def work(_task: Task, run: Run) -> Result:
        listening = asyncio.Event()

        class Tells(Listens):
            def failed(self, error: ModelError, *, attempt: int, wait: float) -> None:
                listening.set()

        call = asyncio.ensure_future(run.model(model, role="r").reply(ask("one"), observer=Tells()))
        await listening.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return done("x")

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        return run_id, await work_once(store, run_id, work)

    run_id, result = go(main())
    assert (result.usage.calls, result.usage.failed) == (2, 2)
    assert [(row.state, row.lost) for row in rows(store, run_id)] == [("failed", "[{}, {}]")]


def test_a_model_s_bug_passes_and_is_recorded(store: Store) -> None:
    """What a call with a bug cost is unknown, and the bug is raised as what it is."""

    def breaks(_request: Request) -> str:
        raise KeyError("a bug")

    async def work(_task: Task, run: Run) -> Result:
        with pytest.raises(KeyError, match="a bug"):
            await run.model(Says(breaks), role="r").reply(ask("one"))
        return done("x")

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        return run_id, await work_once(store, run_id, work)

    run_id, result = go(main())
    assert (result.usage.failed, result.usage.unknown) == (1, 1)
    assert [row.state for row in rows(store, run_id)] == ["failed"]


def test_money_is_told_where_price_and_usage_are_known(store: Store) -> None:
    """In the event, in the row and in the result; and nowhere else."""
    events: list[Event] = []
    price = Price(prompt=1e6, completion=1e6)
    replies = (Reply(text="a", usage=Usage(prompt=1, completion=2)), Reply(text="b"))

    async def work(_task: Task, run: Run) -> Result:
        asked = run.model(Says(in_turn(replies), price=price), role="r")
        for n in range(2):
            await asked.reply(ask(str(n)))
        return done("x")

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        return run_id, await work_once(store, run_id, work, watchers=[events.append])

    run_id, result = go(main())
    assert [event.payload["money"] for event in events if event.kind == "model.replied"] == [3.0, None]
    assert [row.money for row in rows(store, run_id)] == [3.0, None]
    assert result.usage.money == pytest.approx(3.0)
    assert result.usage.unpriced == 1
