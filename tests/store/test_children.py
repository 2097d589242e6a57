"""Runs with a parent: the cells of a bench are found, counted, moved and removed with it."""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from motet.errors import InputError, RunBusy, StoreError
from motet.runs import lease, sitting
from motet.store.check import check
from motet.store.export import export, import_
from motet.store.final import canonical_export
from motet.store.prune import prune, remove_run
from motet.store.queries import resolve_run, run_list, sizes, totals
from motet.store.schema import calls, runs
from motet.store.schema import tasks as task_table
from motet.store.store import Store, as_blob
from motet.task import Task
from tests.store.journal import event, model_call, start_run, whole_run

DAY = 86400.0


def held(owner: str | None, _heartbeat: float) -> bool:
    """Every run that has an owner is being worked on."""
    return owner is not None


def _bench(store: Store, name: str, *, children: int, updated: float | None = None) -> None:
    """A finished bench of whole runs, and the records of each."""
    whole_run(store, name, updated=updated)
    for number in range(children):
        whole_run(store, f"{name}.{number}", parent=name, updated=updated)


def _bytes(store: Store, run_ids: list[str] | None = None) -> bytes:
    target = io.BytesIO()
    export(store, target, run_ids=run_ids)
    return target.getvalue()


def _ids(store: Store, **which: Any) -> list[str]:
    return [run.id for run in run_list(store, **which)]


def _is_postgresql(store: Store) -> bool:
    return store.url.get_backend_name() == "postgresql"


def _break(store: Store, change: sa.Update | sa.Delete) -> None:
    """Change rows without regard to foreign keys, as damage does."""
    if _is_postgresql(store):

        def unchecked(connection: sa.Connection) -> None:
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            connection.execute(change)

        store.write_now(then=unchecked)
        return
    connection = sqlite3.connect(str(store.url.database))
    connection.execute(str(change.compile(compile_kwargs={"literal_binds": True})))
    connection.commit()
    connection.close()


def test_lists_show_runs_without_a_parent_or_the_children_of_one(store: Store) -> None:
    """Lists and pages hold no children; asked for one parent they hold all of its own, in the order they were made, then of their numbers, and the filters apply."""
    for bench in ("b1", "b2"):
        start_run(store, bench, updated=1.0)
        for number in reversed(range(60)):
            status = "completed" if number % 2 else "running"
            start_run(store, f"{bench}.{number}", parent=bench, updated=2.0, status=status)
    start_run(store, "b2.60", parent="b2", updated=1.5)
    assert _ids(store) == ["b2", "b1"]
    assert (_ids(store, limit=1), _ids(store, before="b2")) == (["b2"], ["b1"])
    assert _ids(store, text="1.") == []
    assert _ids(store, parent="b1", limit=2, before="b1.3") == [f"b1.{number}" for number in range(60)]
    assert _ids(store, parent="b2")[:2] == ["b2.60", "b2.0"]
    assert _ids(store, parent="b1", status="completed") == [f"b1.{number}" for number in range(1, 60, 2)]
    assert _ids(store, parent="none") == []
    assert {run.parent for run in run_list(store, parent="b1")} == {"b1"}
    assert {run.parent for run in run_list(store)} == {None}


def test_a_beginning_names_the_parent_before_its_children(store: Store) -> None:
    """Beginnings and ``last`` mean runs without a parent; a child is named by its whole id or by a beginning of its own."""
    start_run(store, "261130-aa", updated=1.0)
    for number in (1, 2, 10, 11, 31):
        start_run(store, f"261130-aa.{number}", parent="261130-aa", updated=2.0 + number)
    for beginning in ("2", "261130-a", "261130-aa", "last"):
        assert resolve_run(store, beginning).id == "261130-aa"
    assert resolve_run(store, "261130-aa.1").id == "261130-aa.1"
    assert resolve_run(store, "261130-aa.3").id == "261130-aa.31"
    start_run(store, "261130-b", updated=1.5)
    assert resolve_run(store, "last").id == "261130-b"
    for wrong, message in (
        ("2", "the beginning of several runs: 261130-aa, 261130-b$"),
        ("261130-aa.", r"the beginning of several runs: 261130-aa\.1, 261130-aa\.10, "),
        ("261130-aa.4", "there is no run '261130-aa.4'"),
    ):
        with pytest.raises(InputError, match=message):
            resolve_run(store, wrong)


def test_a_parents_totals_include_its_childrens(store: Store) -> None:
    """What a bench cost is what its own calls and its children's cost together; a child's totals are its own."""
    lost = json.dumps([{"prompt": 3, "completion": 1}])
    for run_id, parent, scope in (("b", None, "t1"), ("b.1", "b", "t1"), ("b.2", "b", "t2"), ("c", None, "t1")):
        start_run(store, run_id, parent=parent)
        rows, texts = model_call(run_id, scope, 0, ["q"], lost=lost)
        store.write_now(rows, blobs=texts)
    (whole,) = totals(store, "b", by="role")
    assert (whole.totals.calls, whole.totals.failed, whole.totals.tokens) == (6, 3, 57)
    assert {row.key: row.totals.calls for row in totals(store, "b", by="scope")} == {"t1": 4, "t2": 2}
    for run_id in ("b.1", "c"):
        assert [row.totals.calls for row in totals(store, run_id, by="model")] == [2]


def test_removing_a_parent_takes_all_of_its_children(store: Store) -> None:
    """A removed bench leaves no row of its children behind, and every row of the others; a child may be removed by itself."""
    _bench(store, "b1", children=3)
    _bench(store, "b10", children=2)
    remove_run(store, "b10.1", is_live=held)
    assert _ids(store, parent="b10") == ["b10.0"]
    remove_run(store, "b1", is_live=held)
    assert (_ids(store), _ids(store, parent="b1"), _ids(store, parent="b10")) == (["b10"], [], ["b10.0"])
    rows = sizes(store).rows
    assert [rows[name] for name in ("runs", "tasks", "calls", "events", "scores", "records")] == [2, 2, 10, 6, 2, 7]
    assert check(store).ok


def test_a_parent_stays_while_a_child_is_worked_on(store: Store) -> None:
    """A live child keeps its parent and all siblings from being removed and anything from being pruned; the error names the child."""
    _bench(store, "b", children=2, updated=1.0)
    start_run(store, "b.2", parent="b", owner='{"pid": 1}', heartbeat=time.time())
    before = sizes(store).rows
    with pytest.raises(RunBusy, match=r"run b\.2 is being worked on"):
        remove_run(store, "b", is_live=held)
    with pytest.raises(RunBusy, match=r"run b\.2 is being worked on"):
        prune(store, older_than=timedelta(0), is_live=held)
    assert sizes(store).rows == before


def test_no_child_slips_in_while_its_parent_is_removed(store: Store) -> None:
    """A child that another process adds during the removal is refused, whether it comes before or after the commit."""
    _bench(store, "b", children=1)
    errors: list[Exception] = []

    def add() -> None:
        with Store.open(store.url.render_as_string(hide_password=False)) as other:
            try:
                start_run(other, "b.1", parent="b")
            except StoreError as error:
                errors.append(error)

    adding = threading.Thread(target=add)

    def is_live(_owner: str | None, _heartbeat: float) -> bool:
        if adding.ident is None:
            adding.start()  # the removal holds its locks by now
        return False

    remove_run(store, "b", is_live=is_live)
    adding.join()
    assert len(errors) == 1
    assert sizes(store).rows["runs"] == 0


def test_pruning_goes_by_the_parents_age_and_status(store: Store) -> None:
    """Children go with an old finished parent however young or unfinished they are, stay with a young or unfinished one, and are not counted apart."""
    now = time.time()
    for name, status, age in (("old", "completed", 10), ("young", "completed", 1), ("open", "running", 10)):
        start_run(store, name, status=status, updated=now - age * DAY)
        start_run(store, f"{name}.0", parent=name, status="completed", updated=now - 10 * DAY)
        start_run(store, f"{name}.1", parent=name, status="running", updated=now - 10 * DAY)
        start_run(store, f"{name}.2", parent=name, status="completed", updated=now)
    planned = prune(store, older_than=timedelta(days=5), is_live=held, dry_run=True)
    report = prune(store, older_than=timedelta(days=5), is_live=held)
    assert (report.run_ids, report.unfinished) == (planned.run_ids, planned.unfinished) == (("old",), ("open",))
    assert report.blobs == planned.blobs > 0
    assert _ids(store) == ["young", "open"]
    assert [len(_ids(store, parent=name)) for name in ("old", "young", "open")] == [0, 3, 3]
    assert check(store).ok


def test_a_parent_is_exported_and_imported_with_its_children(store: Store, new_url: Callable[[], str]) -> None:
    """An export of a bench holds it whole and nothing else; the parent's line is before its children's, whatever the ids; it round-trips."""
    _bench(store, "b2", children=12)
    _bench(store, "b2x", children=1)
    whole_run(store, "a.0", parent="b2")  # sorts before its parent
    part = _bytes(store, ["b2"])
    lines = [json.loads(line) for line in part.splitlines()[1:-1]]
    listed = [line["row"]["id"] for line in lines if line["table"] == "runs"]
    assert listed == ["b2", "a.0", *sorted(f"b2.{number}" for number in range(12))]
    assert b"b2x" not in part
    with Store.open(new_url()) as other:
        report = import_(other, io.BytesIO(part))
        assert (report.run_ids, report.present) == (tuple(listed), ())
        assert check(other).ok
        assert _bytes(other) == part
        assert canonical_export(other, "b2") == canonical_export(store, "b2")
        assert import_(other, io.BytesIO(_bytes(store))).present == tuple(listed)
        assert _bytes(other) == _bytes(store)


def test_a_child_is_exported_only_with_its_parent(store: Store) -> None:
    """Asking for a child alone is bad input that names the parent; asking for both is asking for the parent."""
    _bench(store, "b", children=2)
    with pytest.raises(InputError, match=r"run b\.1 is a part of run b"):
        _bytes(store, ["b.1"])
    assert _bytes(store, ["b.1", "b"]) == _bytes(store, ["b"])


def test_an_import_without_a_childs_parent_is_refused(store: Store) -> None:
    """A file whose child has no parent before it, or a child for a parent, is refused with the line, before anything is written."""
    _bench(store, "b", children=2)
    head, parent, *rest = _bytes(store).splitlines(keepends=True)
    first, second = rest[0], rest[1].replace(b'"parent":"b"', b'"parent":"b.0"')
    remove_run(store, "b", is_live=held)
    for line, file in ((2, [head, first]), (2, [head, first, parent]), (4, [head, parent, first, second])):
        with pytest.raises(
            InputError, match=rf"line {line}: run b\.\d is a part of run b(\.0)?, which is not before it"
        ):
            import_(store, io.BytesIO(b"".join(file)))
    assert sizes(store).rows["runs"] == 0


def test_a_child_without_its_parent_is_found(store: Store) -> None:
    """A child whose parent is gone, and one whose parent is itself a child, are each one problem that names both."""
    _bench(store, "b", children=2)
    _bench(store, "c", children=2)
    assert check(store).ok
    _break(store, runs.update().where(runs.c.id == "b.1").values(parent="gone"))
    _break(store, runs.update().where(runs.c.id == "c.1").values(parent="c.0"))
    assert [(problem.run_id, problem.text) for problem in check(store).problems] == [
        ("b.1", "run b.1 is a part of run gone, which is missing"),
        ("c.1", "run c.1 is a part of run c.0, which is itself a part of run c"),
    ]


def _worked(store: Store, name: str, numbers: list[int]) -> None:
    """A bench whose cells did the same work as those of any other bench made here, in the order of ``numbers``."""
    start_run(store, name, status="completed")
    for number in numbers:
        cell = f"{name}.{number}"
        fence = start_run(store, cell, parent=name, status="completed", error=f"motet resume {cell}")
        rows, blobs = model_call(cell, "t1", 0, [f"cell {number}"])
        store.write_now([*rows, event(cell, 1, "agent.note", {"bench": name, "run": cell})], blobs=blobs, fence=fence)


def test_two_benches_that_did_the_same_work_are_equal(store: Store) -> None:
    """A bench's final state holds its children's by number, free of ids and of the order of the work; a child's own is part of it."""
    _worked(store, "261130-smooth", list(range(12)))
    _worked(store, "261130-bumpy", list(reversed(range(12))))
    smooth: Any = canonical_export(store, "261130-smooth")
    assert smooth == canonical_export(store, "261130-bumpy")
    assert "261130" not in str(smooth)
    assert [child["id"] for child in smooth["children"]] == [f"RUN.{number}" for number in range(12)]
    assert smooth["children"][3]["run"]["error"] == "motet resume RUN.3"
    assert len(smooth["children"][11]["calls"]) == 1
    alone: Any = canonical_export(store, "261130-smooth.11")
    assert {"id": "RUN.11", **alone} == smooth["children"][11]
    second = calls.c.run_id == "261130-bumpy.5"
    store.write_now(then=lambda connection: connection.execute(calls.update().where(second).values(prompt=11)))
    assert smooth != canonical_export(store, "261130-bumpy")


def test_a_child_may_be_made_by_several_processes_at_once(store: Store) -> None:
    """Of many makers of one child, in two stores, one makes it with its tasks; the others, and later ones with other content, leave it as it is."""
    start_run(store, "b")

    async def make(opened: Store, *tasks: str) -> str:
        found = [Task(question="What?", id=name) for name in tasks]
        return await sitting.create(
            opened,
            kind="cell",
            system="react",
            model="scripted",
            title=" ".join(tasks),
            config={"tasks": list(tasks)},
            tasks=found,
            run_id="b.1",
            parent="b",
        )

    async def scenario(other: Store) -> None:
        made = await asyncio.gather(*(make(opened, "t1", "t2") for _ in range(10) for opened in (store, other)))
        assert set(made) == {"b.1"}
        fence = await lease.take(other, "b.1")
        await make(store, "t3")
        assert await lease.beat(other, fence, elapsed=1.0) is False

    with Store.open(store.url.render_as_string(hide_password=False)) as other:
        asyncio.run(scenario(other))
    (child,) = run_list(store, parent="b")
    assert (child.id, child.title, child.fence) == ("b.1", "t1 t2", 1)
    assert child.config == as_blob({"tasks": ["t1", "t2"]})[0]
    query = sa.select(task_table.c.task_id).where(task_table.c.run_id == "b.1").order_by(task_table.c.position)
    assert store.read_now(lambda connection: connection.execute(query).scalars().all()) == ["t1", "t2"]


def test_a_child_of_no_run_is_refused(store: Store) -> None:
    """A run whose parent is not in the store is not made."""
    with pytest.raises(StoreError):
        start_run(store, "b.1", parent="b")
    assert sizes(store).rows["runs"] == 0
