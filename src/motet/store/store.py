"""The store: one writer thread with group commit, readers in threads, on SQLite or PostgreSQL.

How a write happens: callers hand rows, and perhaps a function of the connection, to the writer thread; it takes everything
that is waiting, does it in one transaction, commits, and only then wakes the callers. So an awaited write costs one
commit shared with everyone who was waiting. ``append`` is the lazy form, for events: it rides on the next commit, or leaves
by itself after a moment.

If a group fails, its writes are tried again one by one, so that only the one at fault fails.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from motet.canonical import Json, canonical, digest_bytes
from motet.errors import Damaged, InputError, LeaseLost, MotetError, StoreError
from motet.settings import store_url
from motet.store import schema

T = TypeVar("T")
_LAZY_SECONDS = 0.1
_GROUP = 512
_COMPRESS_FROM = 200  # bytes; below this zlib seldom wins


class Fence(NamedTuple):
    """A run and the fencing number under which it may be written."""

    run_id: str
    number: int


class Row(NamedTuple):
    """A row to be inserted."""

    table: sa.Table
    values: Mapping[str, Any]


@dataclass(slots=True)
class _Write(Generic[T]):
    """One caller's write: rows, then a function of the connection. All of it happens, or none."""

    rows: Sequence[Row]
    blobs: Mapping[str, bytes]
    then: Callable[[sa.Connection], T] | None
    fence: Fence | None
    future: Future[T | None] = field(default_factory=Future)


class Store:
    """The run store. Open it with ``Store.open``; close it, or use it as a context manager, so that nothing stays unwritten."""

    def __init__(self, url: sa.URL, reader: sa.Engine, writer: sa.Engine) -> None:
        self.url = url
        self._reader = reader
        self._writer = writer
        self._queue: queue.SimpleQueue[_Write[Any] | None] = queue.SimpleQueue()
        self._lazy: deque[tuple[Row, Fence | None]] = deque()
        self._known_blobs: set[str] = set()
        self._closed = False
        self._thread = threading.Thread(target=self._write_loop, name="motet-store-writer", daemon=True)
        self._thread.start()

    @classmethod
    def open(cls, url: str | None = None) -> Store:
        """Open the store at ``url`` (default: ``MOTET_STORE``, else SQLite in ``MOTET_HOME``), creating or migrating it.

        Raises InputError for a URL that cannot be used, SchemaMismatch for a store from a newer Motet, StoreError for a damaged file.
        """
        from motet.store.migrate import at_head, upgrade

        try:
            parsed = sa.make_url(url or store_url())
        except sa.exc.ArgumentError:
            raise InputError(
                f"{url!r} is no database URL; one looks like sqlite:///runs.db or postgresql://host/name"
            ) from None
        reader, writer = _engines(parsed)
        try:
            if not at_head(reader):
                upgrade(writer)
        except sa.exc.OperationalError as error:
            raise InputError(f"the store {_shown(parsed)} cannot be opened: {_reason(error)}") from None
        except sa.exc.DatabaseError as error:
            raise StoreError(
                f"the store {_shown(parsed)} is damaged or is no Motet store: {_reason(error)}; move it away and start a new one, "
                "or restore it from an export"
            ) from None
        return cls(parsed, reader, writer)

    @property
    def name(self) -> str:
        """The store's URL without a password."""
        return _shown(self.url)

    # Reading

    def read_now(self, query: Callable[[sa.Connection], T]) -> T:
        """Run ``query`` on a reading connection, in this thread."""
        try:
            with self._reader.connect() as connection:
                return query(connection)
        except sa.exc.DatabaseError as error:
            raise StoreError(f"the store {self.name} cannot be read: {_reason(error)}") from None

    async def read(self, query: Callable[[sa.Connection], T]) -> T:
        """Run ``query`` on a reading connection, in a worker thread."""
        return await asyncio.to_thread(self.read_now, query)

    def blob(self, name: str) -> bytes:
        """The content named ``name``. Raises Damaged when it is missing or does not match its hash."""
        return self.read_now(lambda connection: read_blob(connection, name))

    # Writing

    async def write(
        self,
        rows: Sequence[Row] = (),
        *,
        blobs: Mapping[str, bytes] | None = None,
        then: Callable[[sa.Connection], T] | None = None,
        fence: Fence | None = None,
    ) -> T | None:
        """Insert ``blobs`` and ``rows``, call ``then``, and return its value once all of it is committed.

        With ``fence``, raises LeaseLost and writes nothing if the run has another owner by now. A caller that is cancelled while it waits
        does not undo the write.
        """
        return await asyncio.wrap_future(self._put(rows, blobs or {}, then, fence))

    def write_now(
        self,
        rows: Sequence[Row] = (),
        *,
        blobs: Mapping[str, bytes] | None = None,
        then: Callable[[sa.Connection], T] | None = None,
        fence: Fence | None = None,
    ) -> T | None:
        """``write`` for callers outside an event loop."""
        return self._put(rows, blobs or {}, then, fence).result()

    def post(self, rows: Sequence[Row], *, blobs: Mapping[str, bytes], fence: Fence) -> None:
        """``write`` for a caller that cannot wait, such as one that is being cancelled."""
        if not self._closed:
            self._put(rows, blobs, None, fence)

    def append(self, row: Row, *, fence: Fence | None = None) -> None:
        """Insert ``row`` with the next commit, or by itself after a moment. Dropped if the run has another owner by then."""
        self._lazy.append((row, fence))

    def forget_blobs(self) -> None:
        """Stop assuming that blobs written earlier are still there; another process may have pruned them. Called when a run starts."""
        self._known_blobs = set()

    async def flush(self) -> None:
        """Wait until everything appended so far is committed."""
        await self.write()

    def close(self) -> None:
        """Commit what is waiting and close the connections. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(None)
        self._thread.join()
        self._reader.dispose()
        self._writer.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _put(
        self,
        rows: Sequence[Row],
        blobs: Mapping[str, bytes],
        then: Callable[[sa.Connection], T] | None,
        fence: Fence | None,
    ) -> Future[T | None]:
        if self._closed:
            raise StoreError(f"the store {self.name} is closed")
        item: _Write[T] = _Write(rows=rows, blobs=blobs, then=then, fence=fence)
        # Running already: cancelling the awaiting task must not make the writer skip a write that others may rely on.
        item.future.set_running_or_notify_cancel()
        self._queue.put(item)
        return item.future

    # The writer thread

    def _write_loop(self) -> None:
        stopping = False
        while not stopping:
            group: list[_Write[Any]] = []
            with suppress(queue.Empty):
                item = self._queue.get(timeout=_LAZY_SECONDS)
                while item is not None:
                    group.append(item)
                    if len(group) >= _GROUP:
                        break
                    item = self._queue.get_nowait()
                stopping = item is None
            lazy = [self._lazy.popleft() for _ in range(len(self._lazy))]
            if group or lazy:
                self._commit(group, lazy)

    def _commit(self, group: list[_Write[Any]], lazy: list[tuple[Row, Fence | None]]) -> None:
        try:
            values = self._transaction(group, lazy)
        except Exception as error:  # noqa: BLE001 - every failure is handed to the callers it belongs to
            if len(group) == 1 and not lazy:
                group[0].future.set_exception(self._explained(error))
                return
            for row in lazy:
                # An event that cannot be written must not take the run with it.
                with suppress(Exception):
                    self._transaction([], [row])
            for item in group:
                self._commit([item], [])
            return
        for item, value in zip(group, values, strict=True):
            if isinstance(value, LeaseLost):
                item.future.set_exception(value)
            else:
                item.future.set_result(value)

    def _transaction(self, group: list[_Write[Any]], lazy: list[tuple[Row, Fence | None]]) -> list[Any]:
        """Do ``group`` and ``lazy`` in one transaction; the values of the group's functions, or LeaseLost in their place."""
        fresh: dict[str, bytes] = {}
        rows: dict[sa.Table, list[Mapping[str, Any]]] = defaultdict(list)
        values: list[Any] = []
        with self._writer.begin() as connection:
            lost = self._lost(connection, [item.fence for item in group] + [fence for _, fence in lazy])
            good = [item for item in group if item.fence not in lost]
            for item in good:
                fresh.update((name, data) for name, data in item.blobs.items() if name not in self._known_blobs)
                for row in item.rows:
                    rows[row.table].append(row.values)
            for row, fence in lazy:
                if fence not in lost:
                    rows[row.table].append(row.values)
            if fresh:
                self._insert_blobs(connection, fresh)
            for table in (schema.runs, schema.tasks, schema.calls, schema.events, schema.records, schema.scores):
                if rows[table]:
                    connection.execute(table.insert(), rows[table])
            for item in group:
                if item.fence is not None and item.fence in lost:
                    values.append(LeaseLost(f"run {item.fence.run_id} has been taken over by another process"))
                else:
                    values.append(item.then(connection) if item.then else None)
        if len(self._known_blobs) > 100_000:
            self._known_blobs.clear()
        self._known_blobs.update(fresh)
        return values

    @staticmethod
    def _lost(connection: sa.Connection, fences: Sequence[Fence | None]) -> set[Fence]:
        wanted = {fence for fence in fences if fence is not None}
        if not wanted:
            return set()
        query = sa.select(schema.runs.c.id, schema.runs.c.fence).where(schema.runs.c.id.in_({f.run_id for f in wanted}))
        if connection.dialect.name == "postgresql":
            query = query.with_for_update(read=True)
        current = {Fence(run_id, number) for run_id, number in connection.execute(query)}
        return wanted - current

    def _insert_blobs(self, connection: sa.Connection, fresh: Mapping[str, bytes]) -> None:
        insert = postgresql_insert if connection.dialect.name == "postgresql" else sqlite_insert
        now = time.time()
        # Sorted, so that two processes that insert the same blobs wait for each other and never deadlock.
        rows = [{"hash": name, "created": now, **_packed(data)} for name, data in sorted(fresh.items())]
        connection.execute(insert(schema.blobs).on_conflict_do_nothing(), rows)

    def _explained(self, error: Exception) -> Exception:
        if isinstance(error, MotetError) or not isinstance(error, sa.exc.SQLAlchemyError):
            return error
        return StoreError(f"the store {self.name} could not be written: {_reason(error)}")


def as_blob(value: Json) -> tuple[str, bytes]:
    """Name and bytes of ``value``'s canonical JSON, ready for ``write(blobs=…)``."""
    data = canonical(value)
    return digest_bytes(data), data


def read_blob(connection: sa.Connection, name: str) -> bytes:
    """The content named ``name``, checked against its hash. Raises Damaged."""
    row = connection.execute(
        sa.select(schema.blobs.c.codec, schema.blobs.c.data).where(schema.blobs.c.hash == name)
    ).first()
    if row is None:
        raise Damaged(f"blob {name} is missing from the store")
    return unpacked(name, row.codec, row.data)


def unpacked(name: str, codec: str, data: bytes) -> bytes:
    """The content of a stored blob. Raises Damaged when it does not match ``name``."""
    try:
        content = zlib.decompress(data) if codec == "zlib" else bytes(data)
    except zlib.error:
        raise Damaged(f"blob {name} is damaged: its data cannot be decompressed") from None
    if digest_bytes(content) != name:
        raise Damaged(f"blob {name} is damaged: its content does not match its hash")
    return content


def _packed(data: bytes) -> dict[str, Any]:
    if len(data) >= _COMPRESS_FROM:
        small = zlib.compress(data, 1)
        if len(small) < len(data):
            return {"size": len(data), "codec": "zlib", "data": small}
    return {"size": len(data), "codec": "raw", "data": data}


def _engines(url: sa.URL) -> tuple[sa.Engine, sa.Engine]:
    """A reading and a writing engine for ``url``."""
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise InputError("the store must be a file: a database in memory cannot be resumed or shown")
        folder = Path(url.database).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the store's folder {folder} cannot be made: {error.strerror}") from None
        return _sqlite(url, "BEGIN"), _sqlite(url, "BEGIN IMMEDIATE")
    if url.get_backend_name() == "postgresql":
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        try:
            engine = sa.create_engine(url, pool_pre_ping=True)
        except ModuleNotFoundError:
            raise InputError("PostgreSQL needs its driver: pip install 'motet[postgres]'") from None
        return engine, engine
    raise InputError(f"the store {_shown(url)} is neither SQLite nor PostgreSQL")


def _sqlite(url: sa.URL, begin: str) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": 30.0, "check_same_thread": False})

    def connected(connection: Any, _record: object) -> None:
        # The driver's own transaction handling would start a transaction at the first write only, and never IMMEDIATE.
        connection.isolation_level = None
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {pragma}").close()

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def _shown(url: sa.URL) -> str:
    return url.render_as_string(hide_password=True)


def _reason(error: BaseException) -> str:
    original = getattr(error, "orig", None) or error
    return (str(original).strip().splitlines() or [type(original).__name__])[0]
