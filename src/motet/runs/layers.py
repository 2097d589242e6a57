"""The layers between a system and a model: journal, then ledger and budget; the gate and the endpoint come below.

    system → Journaled → Metered → Gated → Endpoint

Each is a Model around a Model.
"""

from __future__ import annotations

import asyncio

from motet.errors import BudgetExceeded, ModelError
from motet.models.model import Model, ModelInfo, Observer, Reply, Request
from motet.runs.budget import Account, Charge, charge, reservation
from motet.runs.events import Events
from motet.runs.journal import Journal, Place
from motet.runs.ledger import Ledger, Line
from motet.usage import Usage


class Metered:
    """Reserves before a call, settles after it, and counts what failed on the way."""

    def __init__(self, inner: Model, *, account: Account, ledger: Ledger, line: Line, events: Events) -> None:
        self.inner = inner
        self._account = account
        self._ledger = ledger
        self._line = line
        self._events = events

    @property
    def info(self) -> ModelInfo:
        """The inner model's."""
        return self.inner.info

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """Ask the inner model within the budget. Raises BudgetExceeded before anything is sent."""
        price = self.info.price
        once = reservation(request, price)
        self._account.reserve(once)
        watch = _Attempts(self._account, once, self._events, self._line, observer)
        try:
            reply = await self.inner.reply(request, observer=watch)
        except ModelError as error:
            watch.settle(once if error.billed else Charge())
            self._ledger.add_call(self._line, price, reply=None, lost=error.lost)
            raise
        except BudgetExceeded as error:
            self._ledger.add_call(self._line, price, reply=None, lost=error.lost)
            raise
        except BaseException:
            # Cancelled: what was in flight may have been billed.
            watch.settle(once)
            self._ledger.add_call(self._line, price, reply=None, lost=(*watch.lost, Usage()))
            raise
        watch.settle(charge(request, price, reply=reply, lost=0))
        self._ledger.add_call(self._line, price, reply=reply, lost=reply.lost)
        return reply


class _Attempts:
    """The observer of one metered call: charges attempts that failed after they may have been billed, and reserves anew for the next."""

    def __init__(self, account: Account, once: Charge, events: Events, line: Line, outer: Observer | None) -> None:
        self._account = account
        self._once = once
        self._events = events
        self._line = line
        self._outer = outer
        self.lost: tuple[Usage, ...] = ()

    @property
    def wants_deltas(self) -> bool:
        """Whether the caller reads along."""
        return self._outer is not None and self._outer.wants_deltas

    def delta(self, text: str, *, reasoning: bool = False) -> None:
        """Pass it on."""
        if self._outer is not None:
            self._outer.delta(text, reasoning=reasoning)

    def failed(self, error: ModelError, *, attempt: int, wait: float) -> None:
        """Charge the failed attempt if it may have been billed, and make sure that another one fits the budget."""
        self._events.emit(
            "model.retry",
            scope=self._line.scope,
            payload={"role": self._line.role, "attempt": attempt, "wait": round(wait, 2), "error": str(error)},
        )
        if error.billed:
            self.lost = (*self.lost, Usage())
            self.settle(self._once)
            try:
                self._account.reserve(self._once)
            except BudgetExceeded as stop:
                stop.lost = self.lost
                raise
        if self._outer is not None:
            self._outer.failed(error, attempt=attempt, wait=wait)

    def settle(self, spent: Charge) -> None:
        """Close the reservation that is held."""
        self._account.settle(self._once, spent)


class Journaled:
    """Answers from the journal what this run has been answered before, and commits every new reply before it is used."""

    def __init__(
        self, inner: Model, *, journal: Journal, line: Line, events: Events, counter: Counter, observer: Observer | None
    ) -> None:
        self.inner = inner
        self._journal = journal
        self._line = line
        self._events = events
        self._counter = counter
        self._observer = observer

    @property
    def info(self) -> ModelInfo:
        """The inner model's."""
        return self.inner.info

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """The recorded reply, or a new one that is committed first."""
        place = self._counter.take()
        entry = self._journal.find(place, "model", request.digest)
        if entry is not None:
            reply = Reply.model_validate(await self._journal.body(entry))
            self._tell(reply, replayed=True)
            return reply
        await self._journal.diverge(place)
        price = self.info.price
        role, model = self._line.role, self.info.name
        try:
            reply = await self.inner.reply(request, observer=observer or self._observer)
        except (ModelError, BudgetExceeded) as error:
            if isinstance(error, ModelError) or error.lost:
                self._journal.post_failure(place, role, request, model=model, price=price, lost=error.lost)
            self._events.emit(
                "model.failed", scope=place.scope, payload={"role": role, "error": error.kind, "message": str(error)}
            )
            raise
        except asyncio.CancelledError:
            self._journal.post_failure(place, role, request, model=model, price=price, lost=(Usage(),))
            raise
        cost = charge(request, price, reply=reply, lost=len(reply.lost))
        money = price.of(reply.usage) if price else None
        # Told first, so that the event is committed with the reply and a kill in between loses neither.
        self._tell(reply, replayed=False)
        await self._journal.record_reply(place, role, request, reply, model=model, money=money, cost=cost)
        return reply

    def _tell(self, reply: Reply, *, replayed: bool) -> None:
        price = self.info.price
        self._events.emit(
            "model.replied",
            scope=self._line.scope,
            payload={
                "role": self._line.role,
                "model": self._line.model,
                "prompt": reply.usage.prompt,
                "completion": reply.usage.completion,
                "money": price.of(reply.usage) if price else None,
                "seconds": round(reply.seconds, 3),
                "attempts": reply.attempts,
                "replayed": replayed,
            },
            stored=not replayed,
        )


class Counter:
    """The next place in a scope. Taken before anything is awaited, so that parallel calls are numbered in the order they are made."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.next = 0

    def take(self) -> Place:
        """The next place."""
        place = Place(self.scope, self.next)
        self.next += 1
        return place
