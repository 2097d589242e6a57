"""The ledger: every call's tokens and money by scope, role and model, in three columns.

*paid* in this sitting · *earlier*: paid by this run before it was resumed · *inherited* from a verified record. On resume the ledger is rebuilt from
the journal; a journal hit adds nothing, since it is there already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

from motet.models.model import Price, Reply
from motet.usage import Origin, Totals, Usage


class Line(NamedTuple):
    """What a ledger line is about."""

    scope: str
    role: str
    model: str
    origin: Origin


class Ledger:
    """Sums of usage by line. Not thread-safe: it belongs to the event loop of its run."""

    def __init__(self, lines: Mapping[Line, Totals] | None = None) -> None:
        self._lines: dict[Line, Totals] = dict(lines or {})

    def add(self, line: Line, usage: Usage, *, money: float | None, failed: bool = False) -> None:
        """Count one attempt."""
        self._lines[line] = self._lines.get(line, Totals()).plus(usage, money=money, failed=failed)

    def add_call(self, line: Line, price: Price | None, *, reply: Reply | None, lost: tuple[Usage, ...]) -> None:
        """Count a finished call: its failed attempts that may have been billed, and its reply if there was one."""
        for usage in lost:
            self.add(line, usage, money=price.of(usage) if price else None, failed=True)
        if reply is not None:
            self.add(line, reply.usage, money=price.of(reply.usage) if price else None)

    def total(self, origin: Origin | None = None, *, under: str = "") -> Totals:
        """The sum of the lines of ``origin`` (``None``: all) whose scope is ``under`` or below it."""
        return sum((totals for line, totals in self._pick(origin, under)), Totals())

    def by(self, key: Callable[[Line], str], origin: Origin | None = None, *, under: str = "") -> dict[str, Totals]:
        """Sums grouped by ``key``, for example ``lambda line: line.role``; the largest first."""
        groups: defaultdict[str, Totals] = defaultdict(Totals)
        for line, totals in self._pick(origin, under):
            groups[key(line)] += totals
        return dict(sorted(groups.items(), key=lambda item: (-item[1].tokens, item[0])))

    def _pick(self, origin: Origin | None, under: str) -> list[tuple[Line, Totals]]:
        return [
            (line, totals)
            for line, totals in self._lines.items()
            if (origin is None or line.origin == origin) and is_under(line.scope, under)
        ]


def is_under(scope: str, prefix: str) -> bool:
    """Whether ``scope`` is ``prefix`` or lies below it; everything lies below the empty scope."""
    return not prefix or scope == prefix or scope.startswith(prefix + "/")
