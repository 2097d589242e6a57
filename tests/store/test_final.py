"""The final state of a run."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from motet.errors import InputError
from motet.store.final import canonical_export
from motet.store.schema import calls, runs, scores, tasks
from motet.store.store import Row, Store, as_blob
from motet.task import Result
from motet.usage import Totals
from tests.store.journal import event, model_call, start_run, tool_call


def _worked(store: Store, name: str, *, sittings: int) -> None:
    """A run of three model calls and a tool call, done in some sittings: more sittings leave more traces of themselves."""
    fence = start_run(store, name, updated=float(sittings), elapsed=float(sittings), owner=str(sittings))
    order = [("t1/b", 0), ("t1/a", 0), ("t1/a", 1)]
    for scope, ordinal in order if sittings == 1 else reversed(order):
        rows, blobs = model_call(name, scope, ordinal, ["same", "words"], attempts=sittings, charged=sittings)
        store.write_now(rows, blobs=blobs, fence=fence)
    rows, blobs = tool_call(name, "t1/b", 1, {"query": "x"})
    store.write_now(rows, blobs=blobs, fence=fence)
    for number in range(1, sittings + 1):
        told = event(name, number * 2, "agent.step", {"step": 1, "seconds": 0.1 * number})
        store.write_now([told, event(name, number * 2 + 1, "run.resumed", {"run": name})])
    for number in range(sittings - 1):
        rows, blobs = model_call(name, "t1/a", number, [f"other {number}"], superseded=True)
        store.write_now(rows, blobs=blobs)
    shares = {"usage": Totals(calls=3)} if sittings == 1 else {"usage": Totals(calls=1), "earlier": Totals(calls=2)}
    result = as_blob(Result(status="completed", answer="42", run_id=name, **shares).model_dump(mode="json"))
    final = {"status": "completed", "result": result[0]}

    def finish(connection: sa.Connection) -> None:
        connection.execute(runs.update().where(runs.c.id == name).values(**final, error=f"motet resume {name}"))
        connection.execute(tasks.update().where(tasks.c.run_id == name).values(**final))

    score = {"run_id": name, "task_id": "t1", "scorer": "exact", "value": 1.0}
    store.write_now([Row(scores, score)], blobs=dict([result]), then=finish)


def test_the_final_state_is_free_of_sittings(store: Store) -> None:
    """Runs with the same work are equal though ids, times, owners, order of writing, superseded calls, retries and repeated events differ."""
    _worked(store, "261130-smooth", sittings=1)
    _worked(store, "261130-bumpy", sittings=3)
    smooth = canonical_export(store, "261130-smooth")
    assert smooth == canonical_export(store, "261130-bumpy")
    assert isinstance(smooth, dict)
    assert [len(smooth[part]) for part in ("tasks", "calls", "events", "scores")] == [1, 4, 1, 1]  # type: ignore[arg-type]
    assert "261130" not in str(smooth)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        (runs, {"status": "budget"}),
        (runs, {"error": "another"}),
        (tasks, {"status": "failed"}),
        (tasks, {"result": None}),
        (calls, {"digest": "0" * 64}),
        (calls, {"state": "failed"}),
        (calls, {"prompt": 11}),
        (calls, {"money": None}),
        (calls, {"superseded": True}),
        (scores, {"value": 0.5}),
    ],
)
def test_other_work_has_another_final_state(store: Store, table: sa.Table, change: dict[str, Any]) -> None:
    """Whatever a run's outcome or the cost of its calls differs in, its final state differs."""
    _worked(store, "261130-a", sittings=1)
    before = canonical_export(store, "261130-a")
    store.write_now(then=lambda connection: connection.execute(table.update().values(change)))
    assert canonical_export(store, "261130-a") != before


def test_an_unknown_run_has_no_final_state(store: Store) -> None:
    """A run that is not there is bad input."""
    with pytest.raises(InputError, match="there is no run 'none'"):
        canonical_export(store, "none")
