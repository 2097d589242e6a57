"""Readers: what the command and the reports ask of a store, as frozen values."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, TypeVar

import sqlalchemy as sa
from pydantic import JsonValue

from motet.errors import Damaged, InputError
from motet.settings import nearest
from motet.store.blobs import unpacked
from motet.store.history import Histories
from motet.store.schema import blobs, calls, events, metadata, runs
from motet.store.store import Store
from motet.usage import Totals, Usage

V = TypeVar("V")
TotalsKey: TypeAlias = Literal["role", "scope", "model"]
_CHUNK = 500  # values in one IN list
_SUMMED = ("prompt", "cached", "completion", "reasoning", "latent_steps", "money")


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run's row, column by column. ``status`` is what the row says: a run whose owner died still says running."""

    id: str
    kind: str
    title: str
    system: str
    model: str
    config: str
    status: str
    result: str | None
    error: str | None
    created: float
    updated: float
    elapsed: float
    owner: str | None
    heartbeat: float
    fence: int
    cancel: bool
    parent: str | None


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call with its texts: ``messages`` is the whole conversation, ``request`` the rest of the request or a tool's arguments.

    ``reply`` is ``None`` for a call without an answer.
    """

    id: int
    scope: str
    ordinal: int
    kind: str
    name: str
    model: str
    digest: str
    state: str
    superseded: bool
    origin: str
    request: JsonValue
    messages: tuple[JsonValue, ...]
    reply: JsonValue
    usage: Usage
    money: float | None
    attempts: int
    lost: tuple[Usage, ...]
    seconds: float
    created: float


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event with its payload, also where that lies in a blob."""

    seq: int
    time: float
    scope: str
    kind: str
    payload: JsonValue


@dataclass(frozen=True, slots=True)
class TotalsRow:
    """What the calls with this key cost: ``origin`` is paid or inherited."""

    key: str
    origin: str
    totals: Totals


@dataclass(frozen=True, slots=True)
class Sizes:
    """How big a store is: rows by table, bytes on disk, and the bytes of all blobs before and after compression."""

    rows: dict[str, int]
    disk: int
    content: int
    compressed: int


_RUN_COLUMNS = [runs.c[field.name] for field in fields(RunRow)]


def run_list(
    store: Store,
    *,
    status: str | None = None,
    system: str | None = None,
    text: str | None = None,
    limit: int = 50,
    before: str | None = None,
    parent: str | None = None,
) -> list[RunRow]:
    """Runs without a parent, newest first. ``text`` must occur in the title or the id, in any case; ``before`` is the id of the last run already seen.

    With ``parent``, the children of that run instead, in the order they were made, and all of them: ``limit`` and ``before`` are for the others.
    """
    query = sa.select(*_RUN_COLUMNS)
    if parent is None:
        query = query.where(runs.c.parent.is_(None)).order_by(runs.c.created.desc(), runs.c.id.desc()).limit(limit)
    else:
        # The shorter id first: the numbers that end them are not padded.
        query = query.where(runs.c.parent == parent).order_by(runs.c.created, sa.func.length(runs.c.id), runs.c.id)
    if status is not None:
        query = query.where(runs.c.status == status)
    if system is not None:
        query = query.where(runs.c.system == system)
    if text is not None:
        query = query.where(runs.c.title.icontains(text, autoescape=True) | runs.c.id.icontains(text, autoescape=True))
    if before is not None and parent is None:
        seen = sa.select(runs.c.created).where(runs.c.id == before).scalar_subquery()
        query = query.where((runs.c.created < seen) | ((runs.c.created == seen) & (runs.c.id < before)))
    rows = store.read_now(lambda connection: connection.execute(query).all())
    return [RunRow(*row) for row in rows]


def resolve_run(store: Store, name: str) -> RunRow:
    """The run whose id begins with ``name``, or the newest for ``last``. Raises InputError naming what it may have meant.

    Runs without a parent come first: children are meant only by a whole id, or by a beginning that no other run has.
    """
    if name == "last":
        newest = run_list(store, limit=1)
        if not newest:
            raise InputError("there is no run yet")
        return newest[0]
    # Not LIKE: its wildcards and, on SQLite, its disregard of case would let other names match.
    starts = sa.func.substr(runs.c.id, 1, len(name)) == name
    order = (runs.c.id != name, runs.c.parent.is_not(None), runs.c.id)
    query = sa.select(*_RUN_COLUMNS).where(starts).order_by(*order).limit(6)
    found = [RunRow(*row) for row in store.read_now(lambda connection: connection.execute(query).all())] if name else []
    if found and found[0].id == name:
        return found[0]
    found = [run for run in found if run.parent is None] or found
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(run.id for run in found[:5]) + (", …" if len(found) > 5 else "")
        raise InputError(f"{name!r} is the beginning of several runs: {shown}")
    recent = [run.id for run in run_list(store, limit=500)]
    close = nearest(name, recent[:5] if len(recent) > 20 else recent) if recent else "; there is no run yet"
    raise InputError(f"there is no run {name!r}{close}")


def call_list(store: Store, run_id: str, *, scope: str | None = None) -> list[CallRow]:
    """The calls of a run in the order they were written, those in and below ``scope`` if given, with all their texts. Raises Damaged."""
    return store.read_now(lambda connection: _call_list(connection, run_id, scope))


def event_list(store: Store, run_id: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
    """At most ``limit`` events of a run whose ``seq`` is greater than ``after``, in order."""

    def read(connection: sa.Connection) -> list[EventRow]:
        query = sa.select(events.c.seq, events.c.time, events.c.scope, events.c.kind, events.c.payload)
        query = query.where(events.c.run_id == run_id, events.c.seq > after).order_by(events.c.seq).limit(limit)
        rows = [(row, json.loads(row.payload)) for row in connection.execute(query)]
        texts = _bodies(connection, filter(None, (payload_blob(payload) for _, payload in rows)))
        return [
            EventRow(row.seq, row.time, row.scope, row.kind, texts.get(payload_blob(payload) or "", payload))
            for row, payload in rows
        ]

    return store.read_now(read)


def totals(store: Store, run_id: str, *, by: TotalsKey) -> list[TotalsRow]:
    """Usage and money of the model calls and the inherited results of a run and its children, the largest first; superseded calls were paid for and count.

    Children's calls are added up under the same keys: by scope, that is over all children in which a scope of that name occurs.
    As in the ledger, an attempt that failed after it may have been billed counts as a failed call.
    """
    key = {"role": calls.c.name, "scope": calls.c.scope, "model": calls.c.model}[by]
    costs = (calls.c.kind == "model") | (calls.c.origin == "inherited")
    where = (calls.c.run_id.in_(family([run_id])), costs)

    def number(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
        return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)

    unknown = calls.c.prompt.is_(None) | calls.c.completion.is_(None)
    sums = [sa.func.coalesce(sa.func.sum(calls.c[name]), 0) for name in _SUMMED]
    done = sa.select(key, calls.c.origin, sa.func.count(), number(unknown), number(calls.c.money.is_(None)), *sums)
    done = done.where(*where, calls.c.state == "done").group_by(key, calls.c.origin)
    lost = sa.select(key, calls.c.origin, calls.c.lost).where(*where, calls.c.lost != "[]")

    def read(connection: sa.Connection) -> list[TotalsRow]:
        groups: defaultdict[tuple[str, str], Totals] = defaultdict(Totals)
        for name, origin, count, unknown, unpriced, *rest in connection.execute(done):
            columns = dict(zip(_SUMMED, rest, strict=True))
            groups[name, origin] = Totals(calls=count, unknown=unknown, unpriced=unpriced, **columns)
        for name, origin, usages in connection.execute(lost):
            for usage, money in read_lost(usages):
                groups[name, origin] = groups[name, origin].plus(usage, money=money, failed=True)
        rows = [TotalsRow(name, origin, total) for (name, origin), total in groups.items()]
        return sorted(rows, key=lambda row: (-row.totals.tokens, row.key, row.origin))

    return store.read_now(read)


def family(run_ids: Sequence[str]) -> sa.Select[tuple[str]]:
    """A query for the ids of ``run_ids`` and of their children."""
    return sa.select(runs.c.id).where(runs.c.id.in_(run_ids) | runs.c.parent.in_(run_ids))


def sizes(store: Store) -> Sizes:
    """How big the store is."""

    def read(connection: sa.Connection) -> Sizes:
        rows = {
            table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in metadata.sorted_tables
        }
        if connection.dialect.name == "sqlite":
            disk = sa.text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        else:
            disk = sa.text(
                "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(CAST(:names AS text[])) AS name"
            )
            disk = disk.bindparams(names=list(rows))
        content, compressed = connection.execute(
            sa.select(
                sa.func.coalesce(sa.func.sum(blobs.c.size), 0),
                sa.func.coalesce(sa.func.sum(sa.func.length(blobs.c.data)), 0),
            )
        ).one()
        return Sizes(rows, int(connection.execute(disk).scalar_one()), int(content), int(compressed))

    return store.read_now(read)


def read_lost(text: str) -> list[tuple[Usage, float | None]]:
    """The failed attempts of a call, from the column ``lost``: the usage of each, and its money where both usage and price were known."""
    attempts: list[dict[str, Any]] = json.loads(text)
    return [
        (Usage(**{name: count for name, count in attempt.items() if name != "money"}), attempt.get("money"))
        for attempt in attempts
    ]


def payload_blob(payload: JsonValue) -> str | None:
    """The blob that stands for an event's payload, if one does."""
    if isinstance(payload, dict) and payload.keys() == {"blob"} and isinstance(payload["blob"], str):
        return payload["blob"]
    return None


def _call_list(connection: sa.Connection, run_id: str, scope: str | None) -> list[CallRow]:
    query = sa.select(calls).where(calls.c.run_id == run_id).order_by(calls.c.id)
    if scope:
        query = query.where(
            (calls.c.scope == scope) | (sa.func.substr(calls.c.scope, 1, len(scope) + 1) == f"{scope}/")
        )
    histories = Histories()
    found = [(row, histories.follow(row)) for row in connection.execute(query)]
    names: set[str] = set()
    for row, messages in found:
        names.update(messages, filter(None, (row.request, row.reply)))
    texts = _bodies(connection, names)
    return [
        CallRow(
            id=row.id,
            scope=row.scope,
            ordinal=row.ordinal,
            kind=row.kind,
            name=row.name,
            model=row.model,
            digest=row.digest,
            state=row.state,
            superseded=row.superseded,
            origin=row.origin,
            request=texts[row.request] if row.request else None,
            messages=tuple(texts[name] for name in messages),
            reply=texts[row.reply] if row.reply else None,
            usage=Usage(
                prompt=row.prompt,
                cached=row.cached,
                completion=row.completion,
                reasoning=row.reasoning,
                latent_steps=row.latent_steps,
            ),
            money=row.money,
            attempts=row.attempts,
            lost=tuple(usage for usage, _ in read_lost(row.lost)),
            seconds=row.seconds,
            created=row.created,
        )
        for row, messages in found
    ]


def _bodies(connection: sa.Connection, names: Iterable[str]) -> dict[str, JsonValue]:
    """The JSON in each of these blobs. Raises Damaged."""
    wanted = sorted(set(names))
    found: dict[str, JsonValue] = {}
    for chunk in chunks(wanted, _CHUNK):
        query = sa.select(blobs.c.hash, blobs.c.codec, blobs.c.data).where(blobs.c.hash.in_(chunk))
        for name, codec, data in connection.execute(query):
            found[name] = json.loads(unpacked(name, codec, data))
    missing = [name for name in wanted if name not in found]
    if missing:
        raise Damaged(f"blob {missing[0]} is missing from the store")
    return found


def chunks(values: Sequence[V], size: int) -> Iterable[Sequence[V]]:
    """``values`` in pieces of at most ``size``."""
    return (values[start : start + size] for start in range(0, len(values), size))
