"""A run as it lies in the store, gathered for ``motet show`` and ``motet compare``."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from motet.cli.render import Columns
from motet.runs.budget import Budget, Charge
from motet.runs.journal import Journal
from motet.runs.lease import shown_status
from motet.runs.ledger import Ledger, Line
from motet.runs.run import spent_under
from motet.runs.sitting import read_config
from motet.store.queries import EventRow, RunRow, event_list, totals
from motet.store.store import Fence, Store
from motet.task import Result, Task
from motet.usage import Totals

_PAGE = 1000


@dataclass(frozen=True)
class Sight:
    """A run, its tasks, its result if it has one, and what it cost. ``status`` is the one for people."""

    row: RunRow
    status: str
    config: dict[str, Any]
    tasks: list[Task]
    result: Result | None
    ledger: Ledger
    spent: Charge

    @property
    def budget(self) -> Budget:
        """The limits given at the start."""
        return Budget.model_validate(self.config.get("budget") or {})

    @property
    def totals(self) -> Totals:
        """What this run paid for, over all its sittings."""
        return self.ledger.total("earlier")

    def columns(self, by: str) -> dict[str, Columns]:
        """The ledger by ``role``, ``scope`` or ``model``. What was paid is one column: a finished sitting looks like any other."""

        def key(line: Line) -> str:
            return str(getattr(line, by))

        paid, inherited = self.ledger.by(key, "earlier"), self.ledger.by(key, "inherited")
        return {
            name: {"paid": paid.get(name, Totals()), "inherited": inherited.get(name, Totals())}
            for name in {**paid, **inherited}
        }


def look(store: Store, row: RunRow) -> Sight:
    """Gather what the store holds about a run, but for its calls and events. Raises Damaged."""
    config, tasks = asyncio.run(read_config(store, row.id))
    # Read as a sitting would read it, so that what is shown is what a resumed run would start from.
    _, ledger, charged = asyncio.run(Journal.load(store, Fence(row.id, row.fence)))
    if row.kind == "bench":
        # What a bench cost is what its cells cost.
        spent = totals(store, row.id, by="role")
        ledger = Ledger(
            {
                Line("", item.key, "", "inherited" if item.origin == "inherited" else "earlier"): item.totals
                for item in spent
            }
        )
    result = Result.model_validate(json.loads(store.blob(row.result))) if row.result else None
    return Sight(
        row=row,
        status=shown_status(row.status, row.owner, row.heartbeat),
        config=config if isinstance(config, dict) else {},
        tasks=tasks,
        result=result,
        ledger=ledger,
        spent=spent_under(charged, ""),
    )


def events_of(store: Store, run_id: str) -> list[EventRow]:
    """All events of a run."""
    found: list[EventRow] = []
    while page := event_list(store, run_id, after=found[-1].seq if found else 0, limit=_PAGE):
        found += page
    return found


def errors_by_kind(events: list[EventRow]) -> Counter[str]:
    """How often each kind of trouble was told: model errors by their class, failed attempts, failed tools."""
    counts: Counter[str] = Counter()
    for event in events:
        payload: JsonValue = event.payload
        if not isinstance(payload, dict):
            continue
        if event.kind == "model.failed":
            counts[str(payload.get("error"))] += 1
        elif event.kind == "model.retry":
            counts["attempt failed, retried"] += 1
        elif event.kind == "tool.replied" and payload.get("error"):
            counts[f"tool {payload.get('tool')} failed"] += 1
        elif event.kind == "agent.step" and payload.get("problem"):
            counts["reply could not be used"] += 1
    return counts


def totals_json(totals: Totals) -> dict[str, Any]:
    """Totals for JSON, with the sum of tokens."""
    return {**totals.model_dump(), "tokens": totals.tokens}
