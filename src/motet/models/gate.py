"""The rate gate of a provider: how many calls at once, when to try again, and when everybody waits.

Facts that the rest relies on:

- One gate is shared by all models of a provider. Calls enter in the order in which they came.
- A 429 pauses the whole gate, since the provider counts all its callers together. Callers come back spread over up to a
  second, so that they do not meet again on one beat.
- Waiting for a retry holds no place in the gate.
- Waits are exponential with full jitter, and never shorter than what the server asked for. A server that asks for more than
  ``LONGEST_WAIT`` seconds is taken at its word: the call fails at once.
- A reply that was empty is drawn again at most ``REDRAWS`` times: a model that keeps silent seldom starts to talk.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from motet.errors import BadReply, ModelError, ModelThrottled
from motet.models.model import Model, ModelInfo, Observer, Reply, Request
from motet.usage import Usage

LONGEST_WAIT: Final = 60.0  # seconds
REDRAWS: Final = 2
FIRST_WAIT: Final = 0.5  # upper end of the first wait, in seconds; doubles with every attempt
LONGEST_BACKOFF: Final = 30.0
SPREAD: Final = 1.0  # seconds over which callers come back after a pause


class Asked(Protocol):
    """A failure with the server's own wish in seconds, where it has one."""

    @property
    def retry_after(self) -> float | None: ...


class Gate:
    """At most ``limit`` calls at once, for each event loop.

    ``attempts`` bounds the tries of one call and ``retry_for`` the seconds from its first failure to its last retry.
    ``clock`` and ``sleep`` count in seconds.
    """

    def __init__(
        self,
        limit: int,
        *,
        attempts: int = 6,
        retry_for: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.attempts = attempts
        self.retry_for = retry_for
        self.clock = clock
        self.sleep = sleep
        self._limit = limit
        self._rng = rng or random.Random()  # noqa: S311 - spreads retries, guards nothing
        self._lanes: WeakKeyDictionary[asyncio.AbstractEventLoop, _Lane] = WeakKeyDictionary()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place among the calls in flight, once it is one's turn and no pause holds."""
        lane = self._lane()
        async with lane.places:
            while (left := lane.paused_until - self.clock()) > 0:
                await self.sleep(left + self._rng.uniform(0, min(left, SPREAD)))
            yield

    def pause(self, seconds: float) -> None:
        """Let no call start for ``seconds``. Calls in flight go on."""
        lane = self._lane()
        lane.paused_until = max(lane.paused_until, self.clock() + seconds)

    def wait_after(self, error: Asked, *, attempt: int) -> float:
        """The seconds to wait after ``error`` ended attempt number ``attempt`` (from 1)."""
        if error.retry_after is not None:
            return error.retry_after + self._rng.uniform(0, min(error.retry_after, SPREAD))
        return self._rng.uniform(0, min(LONGEST_BACKOFF, FIRST_WAIT * 2.0 ** (attempt - 1)))

    def _lane(self) -> _Lane:
        loop = asyncio.get_running_loop()
        lane = self._lanes.get(loop)
        if lane is None:
            lane = self._lanes[loop] = _Lane(self._limit)
        return lane


class _Lane:
    """A gate's state in one event loop."""

    __slots__ = ("paused_until", "places")

    def __init__(self, limit: int) -> None:
        self.places = asyncio.Semaphore(limit)
        self.paused_until = float("-inf")


class Gated:
    """A Model behind a gate: waits for its place, and asks again where that makes sense."""

    def __init__(self, inner: Model, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    @property
    def info(self) -> ModelInfo:
        """The inner model's."""
        return self._inner.info

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """Answer ``request`` in as many attempts as the gate allows.

        ``observer.failed`` is told before each wait and may raise to end the call. Raises the last attempt's error, with the
        number of attempts in its message, and with ``attempts`` and ``lost`` over the whole call.
        """
        gate = self._gate
        lost: tuple[Usage, ...] = ()
        first_failure: float | None = None
        attempt = empties = 0
        while True:
            attempt += 1
            error: ModelError | None = None
            async with gate.place():
                try:
                    reply = await self._inner.reply(request, observer=observer)
                except ModelError as caught:
                    error = caught
            if error is None:
                if attempt == 1:
                    return reply
                return reply.model_copy(update={"attempts": attempt - 1 + reply.attempts, "lost": lost + reply.lost})
            lost += error.lost
            now = gate.clock()
            first_failure = now if first_failure is None else first_failure
            wait = gate.wait_after(error, attempt=attempt)
            empties += isinstance(error, BadReply)
            reason = self._stop(error, attempt=attempt, empties=empties, ends=now + wait - first_failure)
            if reason is not None:
                raise _final(error, attempts=attempt, lost=lost, reason=reason)
            if isinstance(error, ModelThrottled):
                gate.pause(wait if error.retry_after is None else error.retry_after)
            if observer is not None:
                observer.failed(error, attempt=attempt, wait=wait)
            await gate.sleep(wait)

    def _stop(self, error: ModelError, *, attempt: int, empties: int, ends: float) -> str | None:
        """Why there is no further attempt (an empty text for an error that no attempt would mend), or ``None``."""
        if not error.retryable:
            return ""
        if error.retry_after is not None and error.retry_after > LONGEST_WAIT:
            return f"it asks to wait {error.retry_after:.0f} s, and Motet waits {LONGEST_WAIT:.0f} s at most"
        if attempt >= self._gate.attempts or empties > REDRAWS:
            return "gave up"
        if ends > self._gate.retry_for:
            return f"gave up, since retries may take {self._gate.retry_for:g} s"
        return None


def _final(error: ModelError, *, attempts: int, lost: tuple[Usage, ...], reason: str) -> ModelError:
    """``error`` as the outcome of the whole call."""
    count = f"after {attempts} attempts" if attempts > 1 else ""
    note = " ".join(part for part in (reason, count) if part)
    final = type(error)(f"{error} ({note})" if note else str(error), retry_after=error.retry_after, billed=error.billed)
    final.retryable = error.retryable
    final.attempts = attempts
    final.lost = lost
    return final
