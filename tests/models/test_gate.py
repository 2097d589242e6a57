"""The gate lets calls in by order and number, retries what may pass, and pauses everybody on a 429. No test waits for real time."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import BadReply, ModelDenied, ModelError, ModelThrottled, ModelUnavailable
from motet.models.endpoint import Endpoint
from motet.models.gate import FIRST_WAIT, LONGEST_BACKOFF, LONGEST_WAIT, REDRAWS, SPREAD, Gate, Gated
from motet.models.model import Message, ModelInfo, Observer, Reply, Request
from motet.settings import Provider
from motet.testing.faults import Faults
from motet.testing.model_server import ModelServer
from motet.usage import Usage

ASK = Request(messages=(Message(role="user", content="hello"),), max_tokens=1)
DONE = Reply(text="done", usage=Usage(prompt=1, completion=1))


class Clock:
    """Time that passes only when everybody sleeps: each sleeper wakes at its moment, in order."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        event = asyncio.Event()
        self._sleepers.append((self.now + seconds, event))
        await event.wait()

    async def run(self, *calls: asyncio.Task[Reply]) -> None:
        """Wake sleepers, earliest first, until all ``calls`` are done."""
        while not all(call.done() for call in calls):
            for _ in range(20):  # let everything that can run without time run
                await asyncio.sleep(0)
            if self._sleepers and not all(call.done() for call in calls):
                moment, event = min(self._sleepers, key=lambda sleeper: sleeper[0])
                self._sleepers.remove((moment, event))
                self.now = max(self.now, moment)
                event.set()


class Playing:
    """A model that plays its ``steps`` in order, and notes when it was asked."""

    info = ModelInfo(name="m", identity="m", provider="p")

    def __init__(self, clock: Clock, *steps: Reply | ModelError) -> None:
        self._clock = clock
        self._steps = list(steps)
        self.asked: list[float] = []

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        self.asked.append(self._clock.now)
        await asyncio.sleep(0)
        step = self._steps.pop(0) if self._steps else DONE
        if isinstance(step, ModelError):
            raise step
        return step


class Ear:
    """An observer that notes failures, and may end the call."""

    wants_deltas = False

    def __init__(self, stop: Exception | None = None) -> None:
        self.failures: list[tuple[str, int, float]] = []
        self._stop = stop

    def delta(self, text: str, *, reasoning: bool = False) -> None:
        raise AssertionError("nobody streams here")

    def failed(self, error: ModelError, *, attempt: int, wait: float) -> None:
        self.failures.append((error.kind, attempt, wait))
        if self._stop is not None:
            raise self._stop


def gate_of(clock: Clock, limit: int = 4, *, attempts: int = 6, retry_for: float = 300.0) -> Gate:
    return Gate(limit, attempts=attempts, retry_for=retry_for, clock=clock, sleep=clock.sleep, rng=random.Random(7))


def call(
    *steps: Reply | ModelError, ear: Ear | None = None, attempts: int = 6, retry_for: float = 300.0
) -> tuple[Reply | BaseException, Clock, Playing]:
    """One call through a gate; the reply or the error, the clock, and the model."""

    async def main() -> tuple[Reply | BaseException, Clock, Playing]:
        clock = Clock()
        model = Playing(clock, *steps)
        gated = Gated(model, gate_of(clock, attempts=attempts, retry_for=retry_for))
        task = asyncio.create_task(gated.reply(ASK, observer=ear))
        await clock.run(task)
        return task.exception() or task.result(), clock, model

    return asyncio.run(main())


def down(*, billed: bool = False) -> ModelUnavailable:
    return ModelUnavailable("down", billed=billed)


def silent() -> BadReply:
    error = BadReply("empty", billed=True)
    error.retryable = True
    return error


def test_a_call_that_works_passes_untouched() -> None:
    """Without a failure the inner reply itself comes back, and nobody sleeps."""
    reply, clock, _ = call(DONE)
    assert reply is DONE
    assert clock.slept == []


def test_failures_that_may_pass_are_retried_and_counted() -> None:
    """The reply tells how many attempts it took and what of them may have been billed; the observer hears each before its wait."""
    ear = Ear()
    reply, clock, _ = call(down(billed=True), down(), DONE, ear=ear)
    assert isinstance(reply, Reply)
    assert (reply.attempts, reply.lost) == (3, (Usage(),))
    assert [(kind, attempt) for kind, attempt, _ in ear.failures] == [("ModelUnavailable", 1), ("ModelUnavailable", 2)]
    assert [wait for _, _, wait in ear.failures] == clock.slept


def test_a_call_gives_up_after_its_attempts() -> None:
    """The last error is raised, with the number of attempts, in words and as data."""
    error, _, model = call(*[down(billed=True) for _ in range(9)], attempts=4)
    assert isinstance(error, ModelUnavailable)
    assert len(model.asked) == 4
    assert str(error) == "down (gave up after 4 attempts)"
    assert (error.attempts, error.lost, error.billed) == (4, (Usage(),) * 4, True)


def test_a_call_gives_up_after_its_time() -> None:
    """No retry starts later than ``retry_for`` seconds after the first failure."""
    error, clock, model = call(*[down() for _ in range(99)], attempts=99, retry_for=20.0)
    assert isinstance(error, ModelUnavailable)
    assert "retries may take 20 s" in str(error)
    assert model.asked[-1] <= 20.0
    assert clock.now <= 20.0
    assert len(model.asked) > 2


@pytest.mark.parametrize("error", [ModelDenied("no"), BadReply("not the schema", billed=True)])
def test_failures_that_will_not_pass_are_raised_at_once(error: ModelError) -> None:
    """An error that asking again would not mend is raised as it is, after one attempt."""
    raised, _, model = call(error)
    assert type(raised) is type(error)
    assert str(raised) == str(error)
    assert len(model.asked) == 1


def test_an_empty_reply_is_drawn_again_a_few_times() -> None:
    """A bad reply that is marked retryable is asked for again ``REDRAWS`` times, however many attempts are allowed."""
    error, _, model = call(*[silent() for _ in range(9)])
    assert isinstance(error, BadReply)
    assert len(model.asked) == 1 + REDRAWS
    reply, _, _ = call(silent(), DONE)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.attempts) == ("done", 2)
    reply, _, _ = call(down(), down(), silent(), down(), silent(), DONE)
    assert isinstance(reply, Reply), "other failures do not count as empty replies"


def test_the_servers_wish_is_honoured() -> None:
    """After a 429 the next attempt starts no earlier than asked, and at most ``SPREAD`` later."""
    reply, _, model = call(ModelThrottled("slow", retry_after=10.0), DONE)
    assert isinstance(reply, Reply)
    assert 10.0 <= model.asked[1] <= 10.0 + SPREAD


def test_a_server_that_asks_for_too_long_is_not_waited_for() -> None:
    """Beyond ``LONGEST_WAIT`` the call fails at once and says what was asked."""
    error, clock, model = call(ModelThrottled("slow", retry_after=LONGEST_WAIT + 1))
    assert isinstance(error, ModelThrottled)
    assert "asks to wait 61 s" in str(error)
    assert (len(model.asked), clock.slept) == (1, [])
    reply, _, _ = call(ModelThrottled("slow", retry_after=LONGEST_WAIT), DONE)
    assert isinstance(reply, Reply)


def test_an_observer_that_raises_ends_the_retries() -> None:
    """What ``failed`` raises comes out of the call, with no further attempt and no wait."""
    stop = RuntimeError("over budget")
    error, clock, model = call(down(), ear=Ear(stop))
    assert error is stop
    assert (len(model.asked), clock.slept) == (1, [])


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_waits_grow_and_stay_within_their_bounds(attempt: int, seed: int) -> None:
    """A wait is drawn from zero to a bound that doubles up to ``LONGEST_BACKOFF``; a server's wish is a lower bound."""
    gate = Gate(1, rng=random.Random(seed))
    assert 0 <= gate.wait_after(down(), attempt=attempt) <= min(LONGEST_BACKOFF, FIRST_WAIT * 2 ** (attempt - 1))
    assert 5.0 <= gate.wait_after(ModelThrottled("slow", retry_after=5.0), attempt=attempt) <= 5.0 + SPREAD


def test_a_429_pauses_all_models_of_the_provider() -> None:
    """While a provider asks for a pause no call starts, of any model, and afterwards they do not start on one beat."""

    async def main() -> list[float]:
        clock = Clock()
        gate = gate_of(clock, limit=50)
        first = Playing(clock, ModelThrottled("slow", retry_after=30.0))
        other = Playing(clock)
        tasks = [asyncio.create_task(Gated(first, gate).reply(ASK))]
        for _ in range(20):
            await asyncio.sleep(0)
        tasks += [asyncio.create_task(Gated(other, gate).reply(ASK)) for _ in range(20)]
        await clock.run(*tasks)
        assert all(task.result().text == "done" for task in tasks)
        return other.asked

    asked = asyncio.run(main())
    assert all(30.0 <= moment <= 30.0 + SPREAD for moment in asked)
    assert len(set(asked)) == 20


def test_calls_enter_in_order_and_never_more_than_the_limit() -> None:
    """At most ``limit`` calls are in flight, and they start in the order in which they came."""

    class Counting(Playing):
        inside = most = 0
        order: list[str]

        async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
            self.order.append(request.messages[0].content)
            self.inside += 1
            self.most = max(self.most, self.inside)
            for _ in range(3):
                await asyncio.sleep(0)
            self.inside -= 1
            return DONE

    async def main() -> Counting:
        clock = Clock()
        model = Counting(clock)
        model.order = []
        gated = Gated(model, gate_of(clock, limit=3))
        asked = [Request(messages=(Message(role="user", content=str(n)),), max_tokens=1) for n in range(30)]
        await asyncio.gather(*map(gated.reply, asked))
        return model

    model = asyncio.run(main())
    assert model.most == 3
    assert model.order == [str(n) for n in range(30)]


def test_waiting_for_a_retry_holds_no_place() -> None:
    """With one place, another call goes through while the first waits for its retry."""

    async def main() -> list[str]:
        clock = Clock()
        gate = gate_of(clock, limit=1)
        finished: list[str] = []

        async def go(name: str, model: Playing) -> Reply:
            reply = await Gated(model, gate).reply(ASK)
            finished.append(name)
            return reply

        tasks = [
            asyncio.create_task(go("failing", Playing(clock, down()))),
            asyncio.create_task(go("working", Playing(clock))),
        ]
        await clock.run(*tasks)
        return finished

    assert asyncio.run(main()) == ["working", "failing"]


@pytest.mark.parametrize("when", ["waiting", "paused", "backing off", "in flight"])
def test_a_cancelled_call_gives_its_place_back(when: str) -> None:
    """Wherever a call is cancelled, it ends as cancelled and the gate has all its places again."""

    async def main() -> None:
        clock = Clock()
        gate = gate_of(clock, limit=1)
        held = asyncio.Event()

        class Holding(Playing):
            async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
                await held.wait()
                return DONE

        holder: asyncio.Task[Reply] | None = None
        model: Playing = Playing(clock)
        if when == "waiting":
            holder = asyncio.create_task(Gated(Holding(clock), gate).reply(ASK))
        elif when == "paused":
            gate.pause(30.0)
        elif when == "backing off":
            model = Playing(clock, down())
        else:
            model = Holding(clock)
        await asyncio.sleep(0)
        task = asyncio.create_task(Gated(model, gate).reply(ASK))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.set()
        if holder is not None:
            await holder
        after = asyncio.create_task(Gated(Playing(clock), gate).reply(ASK))
        await clock.run(after)
        assert after.result() is DONE

    asyncio.run(main())


def test_a_gate_works_in_one_event_loop_after_another() -> None:
    """A gate that was contended in one event loop serves the next."""
    clock = Clock()
    gated = Gated(Playing(clock), gate_of(clock, limit=1))

    async def main() -> int:
        return len(await asyncio.gather(*(gated.reply(ASK) for _ in range(3))))

    assert [asyncio.run(main()) for _ in range(2)] == [3, 3]


class Echo:
    """A model that repeats the last message."""

    info = ModelInfo(name="echo", identity="echo", provider="test")

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        return Reply(text=f"you said {request.messages[-1].content}", usage=Usage(prompt=9, completion=3))


class Listener(Ear):
    """An observer that wants deltas and does nothing with them."""

    wants_deltas = True

    def delta(self, text: str, *, reasoning: bool = False) -> None:
        pass


@pytest.mark.parametrize("streamed", [False, True])
def test_a_fifth_of_faults_loses_no_call(streamed: bool) -> None:
    """Against a server that fails in every way it knows, each call gets its answer, and its attempts are the server's count."""

    async def main() -> tuple[list[Reply], int, int]:
        async with ModelServer(Echo(), faults=Faults.mixed(0.2, seed=3)) as server:
            endpoint = Endpoint(Echo.info, model="echo", provider=Provider(base_url=server.base_url), key=None)
            gated = Gated(endpoint, Gate(16, rng=random.Random(3), sleep=lambda _seconds: asyncio.sleep(0)))
            asked = [Request(messages=(Message(role="user", content=str(n)),), max_tokens=5) for n in range(200)]
            observer = Listener() if streamed else None
            replies = await asyncio.gather(*(gated.reply(request, observer=observer) for request in asked))
            await endpoint.aclose()
            return replies, len(server.served), sum(entry.completed for entry in server.served)

    replies, requests, answers = asyncio.run(main())
    assert [reply.text for reply in replies] == [f"you said {n}" for n in range(200)]
    assert {(reply.usage.prompt, reply.usage.completion) for reply in replies} == {(9, 3)}
    assert sum(reply.attempts for reply in replies) == requests > 220
    assert answers == 200
