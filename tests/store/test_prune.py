"""Removing runs and what nothing names any more."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
import sqlalchemy as sa

from motet.errors import InputError, RunBusy
from motet.store.check import check
from motet.store.prune import prune, remove_run
from motet.store.queries import call_list, run_list, sizes
from motet.store.schema import records, runs
from motet.store.store import Store, as_blob
from tests.store.journal import start_run, whole_run


def nobody(_owner: str | None, _heartbeat: float) -> bool:
    """No run is being worked on."""
    return False


def held(owner: str | None, _heartbeat: float) -> bool:
    """Every run that has an owner is being worked on."""
    return owner is not None


def test_pruning_takes_old_finished_runs_and_leaves_the_rest_whole(store: Store) -> None:
    """Old finished runs go with all their rows and blobs; younger and unfinished ones, and all records, stay and are in order."""
    whole_run(store, "old", updated=time.time() - 10 * 86400)
    whole_run(store, "young")
    start_run(store, "interrupted", updated=time.time() - 10 * 86400)
    report = prune(store, older_than=timedelta(days=5), is_live=held)
    assert (report.run_ids, report.unfinished, report.dry_run) == (("old",), ("interrupted",), False)
    assert report.blobs > 0
    assert {run.id for run in run_list(store)} == {"young", "interrupted"}
    assert len(store.read_now(lambda connection: connection.execute(sa.select(records)).all())) == 2
    assert check(store).ok
    assert len(call_list(store, "young")) == 5
    again = prune(store, older_than=timedelta(days=5), is_live=held)
    assert (again.run_ids, again.blobs) == ((), 0)


def test_a_dry_run_says_what_would_go_and_takes_nothing(store: Store) -> None:
    """A dry run reports the runs and blobs that the real one then removes, and changes nothing."""
    whole_run(store, "old", updated=1.0)
    before = sizes(store).rows
    planned = prune(store, older_than=timedelta(0), is_live=held, dry_run=True)
    assert sizes(store).rows == before
    done = prune(store, older_than=timedelta(0), is_live=held)
    assert (planned.run_ids, planned.blobs, planned.content) == (done.run_ids, done.blobs, done.content)


def test_space_is_given_back(sqlite_store: Store) -> None:
    """After pruning, the file is smaller by what is reported."""
    for number in range(30):
        whole_run(sqlite_store, f"r{number}", updated=1.0)
    before = sizes(sqlite_store).disk
    report = prune(sqlite_store, older_than=timedelta(0), is_live=held)
    assert report.freed == before - sizes(sqlite_store).disk > 0


def test_blobs_are_written_again_after_a_prune(store: Store) -> None:
    """A store that wrote a blob before a prune took it writes it again when it is needed again."""
    name, body = as_blob({"unused": True})
    store.write_now(blobs={name: body})
    assert prune(store, older_than=None, is_live=held).blobs == 1
    store.write_now(blobs={name: body})
    assert store.blob(name) == body


def test_nothing_is_pruned_while_a_run_is_worked_on(store: Store) -> None:
    """While any run is live, pruning raises RunBusy naming it and takes nothing."""
    whole_run(store, "old", updated=1.0)
    start_run(store, "live", owner='{"pid": 1}', heartbeat=time.time())
    with pytest.raises(RunBusy, match="run live is being worked on"):
        prune(store, older_than=timedelta(0), is_live=held)
    assert {run.id for run in run_list(store)} == {"old", "live"}
    assert prune(store, older_than=timedelta(0), is_live=nobody).run_ids == ("old",)


def test_one_run_is_removed_unless_it_is_live(store: Store) -> None:
    """Removing takes one run and its rows, leaves records, and refuses a live or an unknown run."""
    whole_run(store, "r1")
    whole_run(store, "r2")
    remove_run(store, "r1", is_live=held)
    rows = sizes(store).rows
    assert (rows["runs"], rows["calls"], rows["events"], rows["tasks"], rows["scores"], rows["records"]) == (
        1,
        5,
        3,
        1,
        1,
        2,
    )
    with pytest.raises(InputError, match="there is no run 'r1'"):
        remove_run(store, "r1", is_live=held)
    store.write_now(then=lambda connection: connection.execute(runs.update().values(owner="{}")))
    with pytest.raises(RunBusy, match="run r2 is being worked on"):
        remove_run(store, "r2", is_live=held)
    assert len(call_list(store, "r2")) == 5
