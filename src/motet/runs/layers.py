"""The layers between a system and a model: journal, then ledger and budget; the gate and the endpoint come below.

    system → Journaled → Metered → Gated → Endpoint

Each is a Model around a Model.
"""

from __future__ import annotations

from collections.abc import Sequence

from motet.errors import BudgetExceeded, ModelError
from motet.models.model import Model, ModelInfo, Observer, Price, Reply, Request
from motet.runs.budget import Account, charge, reservation
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
        watch = _Attempts(request, price, self._account, self._events, self._line, observer)
        try:
            reply = await self.inner.reply(request, observer=watch)
        except ModelError as error:
            watch.settle(error.lost)
            self._ledger.add_call(self._line, price, reply=None, lost=error.lost)
            raise
        except BudgetExceeded as error:
            self._ledger.add_call(self._line, price, reply=None, lost=error.lost)
            raise
        except BaseException:
            # Cancelled: what was in flight may have been billed.
            lost = (*watch.lost, Usage())
            watch.settle(lost)
            self._ledger.add_call(self._line, price, reply=None, lost=lost)
            raise
        watch.settle((*reply.lost, reply.usage))
        self._ledger.add_call(self._line, price, reply=reply, lost=reply.lost)
        return reply


class _Heard:
    """Remembers what the attempts before the last one cost, for a call that is broken off between two of them."""

    def __init__(self, outer: Observer | None) -> None:
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
        """Remember it and pass it on."""
        self.lost = (*self.lost, *error.lost)
        if self._outer is not None:
            self._outer.failed(error, attempt=attempt, wait=wait)


class _Attempts(_Heard):
    """The observer of one metered call: charges attempts that failed after they may have been billed, and reserves anew for the next."""

    def __init__(
        self,
        request: Request,
        price: Price | None,
        account: Account,
        events: Events,
        line: Line,
        outer: Observer | None,
    ) -> None:
        super().__init__(outer)
        self._request = request
        self._price = price
        self._account = account
        self._events = events
        self._line = line

    def failed(self, error: ModelError, *, attempt: int, wait: float) -> None:
        """Charge the failed attempt if it may have been billed, and make sure that another one fits the budget."""
        self._events.emit(
            "model.retry",
            scope=self._line.scope,
            payload={"role": self._line.role, "attempt": attempt, "wait": round(wait, 2), "error": str(error)},
        )
        if error.lost:
            self.settle((*self.lost, *error.lost))
            try:
                self._account.reserve(reservation(self._request, self._price))
            except BudgetExceeded as stop:
                stop.lost = (*self.lost, *error.lost)
                raise
        super().failed(error, attempt=attempt, wait=wait)

    def settle(self, attempts: Sequence[Usage]) -> None:
        """Close the reservation that is held; of the call's ``attempts`` so far, those in ``lost`` are charged already."""
        spent = charge(self._request, self._price, attempts[len(self.lost) :])
        self._account.settle(reservation(self._request, self._price), spent)


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
        await self._journal.open(place, "model", request.digest)
        price = self.info.price
        role, model = self._line.role, self.info.name
        heard = _Heard(observer or self._observer)
        try:
            reply = await self.inner.reply(request, observer=heard)
        except (ModelError, BudgetExceeded) as error:
            if isinstance(error, ModelError) or error.lost:
                self._journal.post_failure(place, role, request, model=model, price=price, lost=error.lost)
            self._events.emit(
                "model.failed", scope=place.scope, payload={"role": role, "error": error.kind, "message": str(error)}
            )
            raise
        except BaseException:
            # Cancelled, or a bug: recorded as the ledger counts it.
            lost = (*heard.lost, Usage())
            self._journal.post_failure(place, role, request, model=model, price=price, lost=lost)
            raise
        # Told first, so that the event is committed with the reply and a kill in between loses neither.
        self._tell(reply, replayed=False)
        await self._journal.record_reply(place, role, request, reply, model=model, price=price)
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
