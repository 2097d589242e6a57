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
        self._lines: dict[Line, Totals] = {}
        # The lines of each scope and of all below it, so that one node of many is summed without looking at the others.
        self._under: defaultdict[str, list[Line]] = defaultdict(list)
        for line, totals in (lines or {}).items():
            self._set(line, totals)

    def add(self, line: Line, usage: Usage, *, money: float | None, failed: bool = False) -> None:
        """Count one attempt."""
        self._set(line, self._lines.get(line, Totals()).plus(usage, money=money, failed=failed))

    def add_call(self, line: Line, price: Price | None, *, reply: Reply | None, lost: tuple[Usage, ...]) -> None:
        """Count a finished call: its failed attempts that may have been billed, and its reply if there was one."""
        for usage in lost:
            self.add(line, usage, money=price.of(usage) if price else None, failed=True)
        if reply is not None:
            self.add(line, reply.usage, money=price.of(reply.usage) if price else None)

    def total(self, origin: Origin | None = None, *, under: str = "") -> Totals:
        """The sum of the lines of ``origin`` (``None``: all) whose scope is ``under`` or below it."""
        return _sum([totals for _, totals in self._pick(origin, under)])

    def by(self, key: Callable[[Line], str], origin: Origin | None = None, *, under: str = "") -> dict[str, Totals]:
        """Sums grouped by ``key``, for example ``lambda line: line.role``; the largest first."""
        groups: defaultdict[str, list[Totals]] = defaultdict(list)
        for line, totals in self._pick(origin, under):
            groups[key(line)].append(totals)
        sums = {name: _sum(parts) for name, parts in groups.items()}
        return dict(sorted(sums.items(), key=lambda item: (-item[1].tokens, item[0])))

    def _set(self, line: Line, totals: Totals) -> None:
        if line not in self._lines:
            for scope in _path(line.scope):
                self._under[scope].append(line)
        self._lines[line] = totals

    def _pick(self, origin: Origin | None, under: str) -> list[tuple[Line, Totals]]:
        return [
            (line, self._lines[line]) for line in self._under.get(under, ()) if origin is None or line.origin == origin
        ]


def _sum(parts: list[Totals]) -> Totals:
    return parts[0] if len(parts) == 1 else sum(parts, Totals())


def is_under(scope: str, prefix: str) -> bool:
    """Whether ``scope`` is ``prefix`` or lies below it; everything lies below the empty scope."""
    return not prefix or scope == prefix or scope.startswith(prefix + "/")


def _path(scope: str) -> list[str]:
    """``scope`` and all that it lies below, the empty scope last."""
    path = [scope]
    while path[-1]:
        path.append(path[-1].rpartition("/")[0])
    return path
