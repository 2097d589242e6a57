"""Removing runs, and the blobs that nothing names any more. Children go with their parent; records outlive the runs that made them.

Blobs are shared by all runs, and a working process trusts that those it wrote are still there. So a prune refuses while any run is worked on, and
whoever takes a run up forgets what it knew (``Store.forget_blobs``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple, TypeAlias

import sqlalchemy as sa

from motet.errors import InputError, RunBusy
from motet.store.queries import family, sizes
from motet.store.references import references
from motet.store.schema import calls, events, runs, scores, tasks
from motet.store.store import Store

# Whether a lease with this owner and heartbeat is held: `motet.runs.lease.is_live`, handed in because it lives on a floor above.
IsLive: TypeAlias = Callable[[str | None, float], bool]
_UNFINISHED = ("running", "unconfirmed")  # statuses of runs that can be resumed
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What a prune removed, or would remove. ``freed`` is in bytes on disk, zero in a dry run; ``content`` counts the blobs' compressed bytes.

    ``unfinished`` are runs that are old enough and were left, because they can still be resumed; ``remove_run`` removes one. Children are in neither list.
    """

    run_ids: tuple[str, ...]
    unfinished: tuple[str, ...]
    blobs: int
    content: int
    freed: int
    dry_run: bool


def prune(store: Store, *, older_than: timedelta | None, is_live: IsLive, dry_run: bool = False) -> PruneReport:
    """Remove finished runs last touched longer ago than ``older_than`` (``None``: no run), then blobs that nothing names, and vacuum.

    A child goes when its parent does, whatever its own age and status. Raises RunBusy while any run is being worked on.
    """
    before = 0 if dry_run else sizes(store).disk
    limit = None if older_than is None else time.time() - older_than.total_seconds()

    def remove(connection: sa.Connection) -> _Found:
        _lock(connection)
        _refuse_if_live(connection, is_live)
        query = sa.select(runs.c.id, runs.c.status).where(runs.c.parent.is_(None)).order_by(runs.c.created, runs.c.id)
        touched = connection.execute(query.where(runs.c.updated < limit)).all() if limit is not None else []
        old = tuple(row.id for row in touched if row.status not in _UNFINISHED)
        unfinished = tuple(row.id for row in touched if row.status in _UNFINISHED)
        _remove_runs(connection, old)
        unused = _unused_blobs(connection.dialect.name)
        count, content = connection.execute(
            sa.text(f"SELECT count(*), coalesce(sum(length(data)), 0) FROM blobs WHERE hash IN ({unused})")  # noqa: S608
        ).one()
        found = _Found(old, unfinished, int(count), int(content))
        if dry_run:
            raise _Undone(found)
        connection.execute(sa.text(f"DELETE FROM blobs WHERE hash IN ({unused})"))  # noqa: S608
        # In the writer's thread, so that no write of this process can still trust a blob that has just gone.
        store.forget_blobs()
        return found

    try:
        done = store.write_now(then=remove)
    except _Undone as undone:
        return PruneReport(*undone.found, freed=0, dry_run=True)
    assert done is not None
    store.vacuum()
    return PruneReport(*done, freed=max(before - sizes(store).disk, 0), dry_run=False)


def remove_run(store: Store, run_id: str, *, is_live: IsLive) -> None:
    """Remove one run with its children, and all their calls, events, tasks and scores; their blobs go with the next prune.

    Raises InputError, and RunBusy while it or one of its children is being worked on.
    """

    def remove(connection: sa.Connection) -> None:
        # Locked until the commit, so that nobody takes one of them up in between. The parent first: then no child can be added any more.
        query = sa.select(runs.c.id, runs.c.owner, runs.c.heartbeat).with_for_update()
        own = connection.execute(query.where(runs.c.id == run_id)).all()
        if not own:
            raise InputError(f"there is no run {run_id!r}")
        for row in [*own, *connection.execute(query.where(runs.c.parent == run_id).order_by(runs.c.id))]:
            _refuse(row.id, row.owner, row.heartbeat, is_live)
        _remove_runs(connection, [run_id])

    store.write_now(then=remove)


class _Found(NamedTuple):
    run_ids: tuple[str, ...]
    unfinished: tuple[str, ...]
    blobs: int
    content: int


class _Undone(Exception):
    """Ends a dry run's transaction, so that it leaves no trace; carries what it found."""

    def __init__(self, found: _Found) -> None:
        super().__init__()
        self.found = found


def _lock(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        # SQLite's transaction keeps writers out by itself. Blobs first, as every writer does, so that none waits for us while we wait for it.
        connection.exec_driver_sql("LOCK TABLE blobs, runs IN SHARE ROW EXCLUSIVE MODE")


def _refuse_if_live(connection: sa.Connection, is_live: IsLive) -> None:
    owned = sa.select(runs.c.id, runs.c.owner, runs.c.heartbeat).where(runs.c.owner.is_not(None))
    for run_id, owner, heartbeat in connection.execute(owned):
        _refuse(run_id, owner, heartbeat, is_live)


def _refuse(run_id: str, owner: str | None, heartbeat: float, is_live: IsLive) -> None:
    if is_live(owner, heartbeat):
        raise RunBusy(
            f"run {run_id} is being worked on; wait for it, or stop it with: motet runs cancel {run_id}",
            owner=owner or "",
        )


def _remove_runs(connection: sa.Connection, run_ids: Sequence[str]) -> None:
    for start in range(0, len(run_ids), _CHUNK):
        chunk = run_ids[start : start + _CHUNK]
        for table in (scores, events, calls, tasks):
            connection.execute(table.delete().where(table.c.run_id.in_(family(chunk))))
        connection.execute(runs.delete().where(runs.c.id.in_(chunk)))  # takes the children with them


def _unused_blobs(dialect: str) -> str:
    return f"SELECT hash FROM blobs EXCEPT SELECT hash FROM ({references(dialect)}) AS named"  # noqa: S608
