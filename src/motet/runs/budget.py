"""Budgets: what a run, a node or a peer may spend, checked before each call.

A call reserves its estimated prompt plus ``max_tokens`` and settles on the reply; usage that stays unknown is charged at the reservation.
Every account of the path up to the run is checked before any is touched, so a refused call leaves no trace.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from motet.errors import BudgetExceeded
from motet.models.model import Price, Request, estimate_tokens
from motet.usage import Usage
from motet.value import Value


class Budget(Value):
    """Limits of one account; ``None`` is no limit. Money is in US dollars. ``seconds`` is working time: a run's is counted over all sittings and stops what is
    under way, that of a part of a run from where the part was opened in this sitting, and is looked at before each call.
    """

    tokens: int | None = Field(default=None, gt=0)
    money: float | None = Field(default=None, gt=0)
    calls: int | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount counted against budgets. No Pydantic model, since every call adds some in every account above it."""

    tokens: int = 0
    money: float = 0.0
    calls: int = 0

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.tokens + other.tokens, self.money + other.money, self.calls + other.calls)

    def __sub__(self, other: Charge) -> Charge:
        return Charge(self.tokens - other.tokens, self.money - other.money, self.calls - other.calls)


def reservation(request: Request, price: Price | None) -> Charge:
    """The most that one attempt at ``request`` is expected to cost."""
    prompt = estimate_tokens(request)
    worst = Usage(prompt=prompt, completion=request.max_tokens)
    money = price.of(worst) if price else None
    return Charge(tokens=prompt + request.max_tokens, money=money or 0.0, calls=1)


def charge(request: Request, price: Price | None, attempts: Iterable[Usage]) -> Charge:
    """What the ``attempts`` at a call count: the usage of each where it is known, else its reservation."""
    total = Charge()
    for usage in attempts:
        tokens = usage.tokens
        money = price.of(usage) if price else None
        if tokens is None:
            total += reservation(request, price)
        else:
            total += Charge(tokens=tokens, money=money or 0.0, calls=1)
    return total


class Account:
    """The budget of one scope, and of everything below it. ``spent`` starts with what earlier sittings were charged."""

    def __init__(
        self, budget: Budget, *, name: str, parent: Account | None = None, spent: Charge | None = None
    ) -> None:
        self.budget = budget
        self.name = name
        self.parent = parent
        self.spent = spent or Charge()
        self.reserved = Charge()
        self._opened = time.monotonic()

    def reserve(self, amount: Charge) -> None:
        """Set ``amount`` aside here and in every account above. Raises BudgetExceeded, naming the account and the limit."""
        path = self._path()
        for account in path:
            account._check(amount)
        for account in path:
            account.reserved += amount

    def settle(self, reserved: Charge, spent: Charge) -> None:
        """Give back ``reserved`` and count ``spent``."""
        for account in self._path():
            account.reserved -= reserved
            account.spent += spent

    def _path(self) -> list[Account]:
        path: list[Account] = []
        account: Account | None = self
        while account is not None:
            path.append(account)
            account = account.parent
        return path

    def _check(self, amount: Charge) -> None:
        seconds = self.budget.seconds
        # The run's own time adds up over its sittings and is watched by the sitting; that of a part is counted from where it was opened.
        if seconds is not None and self.parent is not None and time.monotonic() - self._opened >= seconds:
            raise BudgetExceeded(
                f"the time budget of {self.name} is used up: {seconds:g} seconds", limit="seconds", account=self.name
            )
        used = self.spent + self.reserved
        limits: tuple[tuple[str, float | None, float, float], ...] = (
            ("tokens", self.budget.tokens, used.tokens, amount.tokens),
            ("money", self.budget.money, used.money, amount.money),
            ("calls", self.budget.calls, used.calls, amount.calls),
        )
        for limit, allowed, so_far, more in limits:
            if allowed is not None and so_far + more > allowed:
                raise BudgetExceeded(
                    f"the {limit} budget of {self.name} is used up: the next call may need {_shown(limit, more)}, "
                    f"and {_shown(limit, max(allowed - so_far, 0))} of {_shown(limit, allowed)} are left",
                    limit=limit,
                    account=self.name,
                )


def _shown(limit: str, value: float) -> str:
    return f"${value:.4f}" if limit == "money" else f"{int(value):,}"
