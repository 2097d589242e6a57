"""The final state of a run, without what may differ between two runs that did the same work.

An interrupted and resumed run must end in the state of an uninterrupted one. So this leaves out ids, times, latencies, owners and fences; superseded
calls; what retries cost (attempts, lost usage, charges), since faults strike each run differently; and the split of the result's usage into sittings.
What each call itself cost is there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue

from motet.errors import InputError
from motet.store.blobs import read_blob
from motet.store.queries import call_list, event_list, run_list
from motet.store.schema import runs, scores, tasks
from motet.store.store import Store

# Events that tell of a sitting, or of what the rows of calls and tasks hold for good. A kill may take such an event that was not committed yet.
TRANSIENT_EVENTS = frozenset(
    {
        "run.started",
        "run.resumed",
        "run.finished",
        "task.started",
        "task.finished",
        "model.retry",
        "model.failed",
        "model.replied",
        "tool.called",
        "tool.replied",
    }
)
_RESULT = frozenset({"run_id", "usage", "earlier", "inherited"})
_REPLY = frozenset({"attempts", "lost", "seconds"})
_PAYLOAD = frozenset({"attempts", "seconds", "wait", "time", "replayed"})


def canonical_export(store: Store, run_id: str, *, leave_out: Collection[str] = TRANSIENT_EVENTS) -> JsonValue:
    """The final state of ``run_id`` as JSON; equal for two runs that did the same work. ``leave_out`` are kinds of events.

    Calls come by scope and place; their conversations are named by their digests. An event that a resumed run told a second time counts once.
    A parent's state holds the states of its children, in the order of their numbers and named by them, as ``RUN.1``. Raises InputError and Damaged.
    """
    parent, state = _state(store, run_id, leave_out)
    children = sorted(run_list(store, parent=run_id), key=lambda row: (len(row.id), row.id))
    if children:
        state["children"] = [{"id": row.id, **_state(store, row.id, leave_out)[1]} for row in children]
    # The id may stand in texts, such as an advice on how to resume; a child's begins with its parent's.
    named: JsonValue = json.loads(json.dumps(state).replace(json.dumps(parent or run_id)[1:-1], "RUN"))
    return named


def _state(store: Store, run_id: str, leave_out: Collection[str]) -> tuple[str | None, dict[str, JsonValue]]:
    """The parent of a run, and its own state without its children's."""
    parent, state = store.read_now(lambda connection: _rows(connection, run_id))
    return parent, {**state, "calls": _calls(store, run_id), "events": _events(store, run_id, leave_out)}


def _rows(connection: sa.Connection, run_id: str) -> tuple[str | None, dict[str, JsonValue]]:
    def body(name: str | None, drop: Collection[str] = ()) -> JsonValue:
        return None if name is None else _without(json.loads(read_blob(connection, name)), drop)

    run = connection.execute(sa.select(runs).where(runs.c.id == run_id)).first()
    if run is None:
        raise InputError(f"there is no run {run_id!r}")
    task_rows = sa.select(tasks).where(tasks.c.run_id == run_id).order_by(tasks.c.position, tasks.c.task_id)
    score_rows = sa.select(scores).where(scores.c.run_id == run_id)
    return run.parent, {
        "run": {
            **{name: getattr(run, name) for name in ("kind", "title", "system", "model", "status", "error")},
            "config": body(run.config),
            "result": body(run.result, _RESULT),
        },
        "tasks": [
            {
                **{name: getattr(task, name) for name in ("task_id", "position", "cluster", "status")},
                "body": body(task.body),
                "result": body(task.result, _RESULT),
            }
            for task in connection.execute(task_rows).all()
        ],
        "scores": [
            {name: getattr(score, name) for name in ("task_id", "scorer", "value", "correct", "details")}
            for score in sorted(connection.execute(score_rows), key=lambda row: (row.task_id, row.scorer))
        ],
    }


def _calls(store: Store, run_id: str) -> list[JsonValue]:
    live = sorted(
        (call for call in call_list(store, run_id) if not call.superseded), key=lambda c: (c.scope, c.ordinal)
    )
    kept = ("scope", "ordinal", "kind", "name", "model", "digest", "state", "origin", "request", "money")
    return [
        {
            **{name: getattr(call, name) for name in kept},
            "reply": _without(call.reply, _REPLY) if call.kind == "model" else call.reply,
            "usage": call.usage.model_dump(),
        }
        for call in live
    ]


def _events(store: Store, run_id: str, leave_out: Collection[str]) -> list[JsonValue]:
    told: dict[str, dict[str, Any]] = {}
    for scope, kind, payload in _all_events(store, run_id):
        if kind not in leave_out:
            event = {"scope": scope, "kind": kind, "payload": _without(payload, _PAYLOAD)}
            told.setdefault(json.dumps(event, sort_keys=True), event)
    # Scopes run side by side; within one, the order is the order of the work.
    ordered: list[Any] = sorted(told.values(), key=lambda event: str(event["scope"]))
    return ordered


def _all_events(store: Store, run_id: str) -> Iterator[tuple[str, str, JsonValue]]:
    after = 0
    while batch := event_list(store, run_id, after=after):
        yield from ((event.scope, event.kind, event.payload) for event in batch)
        after = batch[-1].seq


def _without(value: JsonValue, names: Collection[str]) -> JsonValue:
    return {key: item for key, item in value.items() if key not in names} if isinstance(value, dict) else value
