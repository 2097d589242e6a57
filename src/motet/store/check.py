"""Checking a store: is every byte there, does it match its hash, and does everything that is named exist?

What is checked: the database's own structure (SQLite), each blob against its hash, every reference to a blob, each child's parent, each model call's
conversation against the digest of the request that was sent, and the JSON in events. What cannot be: numbers and titles have no hash, so a changed one is
seen only where it breaks one of these.

Reads row by row, so that memory does not grow with the store.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from motet.canonical import digest
from motet.errors import Damaged
from motet.store.blobs import read_blob, unpacked
from motet.store.engines import reason
from motet.store.history import Histories, place
from motet.store.queries import payload_blob
from motet.store.schema import blobs, calls, events, records, runs, tasks
from motet.store.store import Store

Progress = Callable[[str, int, int], None]  # what is being checked, how many are done, how many there are
_BATCH = 500
_UNREADABLE = (sa.exc.DatabaseError, ValueError, TypeError, OverflowError)  # what a driver makes of damaged pages


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: ``text`` is a line for a person, the rest says where it is, as far as that is known."""

    text: str
    blob: str | None = None
    run_id: str | None = None
    scope: str | None = None
    ordinal: int | None = None


@dataclass(slots=True)
class CheckReport:
    """What was checked and what is wrong. ``notes`` are oddities that a run may well have, such as a call that was never answered."""

    blobs: int = 0
    calls: int = 0
    events: int = 0
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class _Use(NamedTuple):
    """A row that names a blob."""

    blob: str
    what: str
    run_id: str
    scope: str | None = None
    ordinal: int | None = None


def check(store: Store, *, progress: Progress | None = None) -> CheckReport:
    """Check the whole store. Problems are reported, never raised."""
    report = CheckReport()
    tell = progress or (lambda _what, _done, _total: None)
    bad: dict[str, str] = {}
    for name, stage in (
        ("structure", lambda connection: _structure(connection)),
        ("blobs", lambda connection: _blobs(connection, report, bad, tell)),
        ("calls", lambda connection: _calls(connection, report, bad, tell)),
        ("runs, tasks and records", lambda connection: _rows(connection, bad)),
        ("parents of runs", lambda connection: _parents(connection)),
        ("events", lambda connection: _events(connection, report, bad, tell)),
        ("order of calls", lambda connection: _gaps(connection, report)),
    ):
        try:
            store.read_now(functools.partial(_collect, stage=stage, report=report))
        except _Unreadable as error:
            report.problems.append(Problem(f"{name}: the database cannot be read further: {error}"))
    return report


class _Unreadable(Exception):
    """A stage met something that the driver could not read."""


def _collect(
    connection: sa.Connection, *, stage: Callable[[sa.Connection], Iterable[Problem]], report: CheckReport
) -> None:
    try:
        for problem in stage(connection):
            report.problems.append(problem)  # one by one: what was found before the stage broke off must stay
    except _UNREADABLE as error:
        raise _Unreadable(reason(error)) from None


def _structure(connection: sa.Connection) -> Iterator[Problem]:
    if connection.dialect.name != "sqlite":
        return
    for (line,) in connection.exec_driver_sql("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield Problem(f"SQLite's structure is damaged: {' '.join(str(line).split())}")
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        if table != parent:  # a child without its parent is found, by name, on every database
            yield Problem(f"row {row} of {table} belongs to no row of {parent}")


def _blobs(connection: sa.Connection, report: CheckReport, bad: dict[str, str], tell: Progress) -> Iterator[Problem]:
    total = connection.execute(sa.select(sa.func.count()).select_from(blobs)).scalar_one()
    query = sa.select(blobs.c.hash, blobs.c.codec, blobs.c.data, blobs.c.size)
    for name, codec, data, size in connection.execute(query.execution_options(yield_per=50)):
        report.blobs += 1
        try:
            content = unpacked(name, codec, data)
        except Damaged as error:
            bad[name] = str(error)
            yield Problem(str(error), blob=name)
        else:
            if len(content) != size:
                yield Problem(f"blob {name} has {len(content)} bytes, and its row says {size}", blob=name)
        if report.blobs % 1000 == 0 or report.blobs == total:
            tell("blobs", report.blobs, total)


def _calls(connection: sa.Connection, report: CheckReport, bad: dict[str, str], tell: Progress) -> Iterator[Problem]:
    total = connection.execute(sa.select(sa.func.count()).select_from(calls)).scalar_one()
    columns = ("run_id", "scope", "ordinal", "kind", "state", "kept", "messages", "digest", "request", "reply")
    query = sa.select(*(calls.c[name] for name in columns)).order_by(calls.c.run_id, calls.c.scope, calls.c.id)
    histories, scope = Histories(), ("", "")
    # Several readers on one connection: the outer query streams while the inner ones look blobs up.
    rest = functools.lru_cache(maxsize=64)(functools.partial(_json_blob, connection))
    uses: list[_Use] = []
    for call in connection.execute(query.execution_options(yield_per=200)):
        report.calls += 1
        where = {"run_id": call.run_id, "scope": call.scope, "ordinal": call.ordinal}
        if (call.run_id, call.scope) != scope:
            histories, scope = Histories(), (call.run_id, call.scope)
        try:
            messages = histories.follow(call)
        except Damaged as error:
            yield Problem(str(error), **where)
            continue
        uses.extend(_Use(name, "message", **where) for name in messages[call.kept :])
        uses.extend(
            _Use(name, what, **where) for what, name in (("request", call.request), ("reply", call.reply)) if name
        )
        if call.kind == "model" and call.request and not _is_asked(call, messages, rest):
            yield Problem(f"{place(call)} does not match the digest of the request that was sent", **where)
        if call.state == "done" and not call.reply:
            yield Problem(f"{place(call)} is done and has no reply", **where)
        if len(uses) >= _BATCH:
            yield from _unmet(connection, uses, bad)
            uses.clear()
        if report.calls % 1000 == 0 or report.calls == total:
            tell("calls", report.calls, total)
    yield from _unmet(connection, uses, bad)


def _is_asked(call: Any, messages: tuple[str, ...], rest: Callable[[str], Any]) -> bool:
    """Whether request and messages give the digest under which the call was recorded. A request that is not there is another problem."""
    try:
        request = rest(call.request)
    except Damaged:
        return True
    return isinstance(request, dict) and digest({**request, "messages": list(messages)}) == call.digest


def _json_blob(connection: sa.Connection, name: str) -> Any:
    # Canonical JSON writes a whole float without a point; beyond 2^53 an integer would be named differently.
    return json.loads(read_blob(connection, name), parse_int=_number)


def _number(digits: str) -> int | float:
    value = int(digits)
    return value if abs(value) < 2**53 else float(digits)


def _rows(connection: sa.Connection, bad: dict[str, str]) -> Iterator[Problem]:
    queries = (
        ("configuration", sa.select(runs.c.id, runs.c.config)),
        ("result", sa.select(runs.c.id, runs.c.result)),
        ("task", sa.select(tasks.c.run_id, tasks.c.body)),
        ("task's result", sa.select(tasks.c.run_id, tasks.c.result)),
        ("record", sa.select(records.c.run_id, records.c.body)),
    )
    for what, query in queries:
        for batch in connection.execute(query.execution_options(yield_per=_BATCH)).partitions():
            yield from _unmet(connection, [_Use(blob, what, run_id) for run_id, blob in batch if blob], bad)


def _parents(connection: sa.Connection) -> Iterator[Problem]:
    """Children whose parent is missing, or is a child itself."""
    parent = runs.alias()
    query = (
        sa.select(runs.c.id, runs.c.parent, parent.c.parent)
        .outerjoin(parent, parent.c.id == runs.c.parent)
        .where(runs.c.parent.is_not(None), parent.c.id.is_(None) | parent.c.parent.is_not(None))
        .order_by(runs.c.id)
    )
    for run_id, missing, above in connection.execute(query):
        state = "is missing" if above is None else f"is itself a part of run {above}"
        yield Problem(f"run {run_id} is a part of run {missing}, which {state}", run_id=run_id)


def _events(connection: sa.Connection, report: CheckReport, bad: dict[str, str], tell: Progress) -> Iterator[Problem]:
    total = connection.execute(sa.select(sa.func.count()).select_from(events)).scalar_one()
    query = sa.select(events.c.run_id, events.c.seq, events.c.scope, events.c.payload)
    for batch in connection.execute(query.execution_options(yield_per=_BATCH)).partitions():
        uses = []
        for run_id, seq, scope, payload in batch:
            report.events += 1
            try:
                name = payload_blob(json.loads(payload))
            except ValueError:
                yield Problem(
                    f"event {seq} of run {run_id} is damaged: its payload is not JSON", run_id=run_id, scope=scope
                )
            else:
                uses += [_Use(name, f"event {seq}", run_id, scope)] if name else []
        yield from _unmet(connection, uses, bad)
        tell("events", report.events, total)


def _unmet(connection: sa.Connection, uses: list[_Use], bad: dict[str, str]) -> Iterator[Problem]:
    """Those of ``uses`` whose blob is missing or damaged."""
    present: set[str] = set()
    names = sorted({use.blob for use in uses})
    for start in range(0, len(names), _BATCH):
        query = sa.select(blobs.c.hash).where(blobs.c.hash.in_(names[start : start + _BATCH]))
        present.update(connection.execute(query).scalars())
    for use in uses:
        if use.blob in present and use.blob not in bad:
            continue
        state = "damaged" if use.blob in bad else "missing"
        spot = f", scope {use.scope!r}" if use.scope is not None else ""
        spot += f", call {use.ordinal}" if use.ordinal is not None else ""
        yield Problem(
            f"run {use.run_id}{spot}: its {use.what} is in blob {use.blob}, which is {state}",
            blob=use.blob,
            run_id=use.run_id,
            scope=use.scope,
            ordinal=use.ordinal,
        )


def _gaps(connection: sa.Connection, report: CheckReport) -> Iterator[Problem]:
    """Note scopes of completed runs that miss a call. No problem by itself: a call that was cancelled in flight leaves no row."""
    count, last = sa.func.count(), sa.func.max(calls.c.ordinal)
    query = (
        sa.select(calls.c.run_id, calls.c.scope, count, last)
        .join(runs, runs.c.id == calls.c.run_id)
        .where(sa.not_(calls.c.superseded), runs.c.status == "completed")
        .group_by(calls.c.run_id, calls.c.scope)
        .having(last + 1 != count)
        .limit(100)
    )
    for run_id, scope, found, highest in connection.execute(query):
        report.notes.append(f"run {run_id}, scope {scope!r}: {highest + 1 - found} of {highest + 1} calls have no row")
    yield from ()
