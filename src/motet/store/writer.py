"""The writer: one thread that commits everybody's writes in groups.

It takes whatever is waiting, does it in one transaction, commits, and only then wakes the callers. So an awaited write costs one commit
shared with everyone who was waiting. Lazy rows and writes that are put later ride on the next commit, or leave by themselves after a moment; what was there before a
write was put is committed with that write or before it.

If a group fails, its writes are tried again one by one, and its lazy rows after them, so that only the one at fault fails.

"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import sqlalchemy as sa

from motet.errors import LeaseLost, StoreError
from motet.store.blobs import Packed, pack
from motet.store.engines import reason
from motet.store.rows import Row, insert_blobs, insert_rows, run_quickly

T = TypeVar("T")
_LAZY_SECONDS = 0.1
_GROUP = 512
_KNOWN_BLOBS = 100_000


class Fence(NamedTuple):
    """A run and the fencing number under which it may be written."""

    run_id: str
    number: int


@dataclass(slots=True)
class Write(Generic[T]):
    """One caller's write: rows, then a function of the connection. All of it happens, or none.

    ``future`` is completed in ``loop`` if there is one, else in the writer's thread.
    """

    rows: Sequence[Row]
    blobs: Mapping[str, bytes]
    then: Callable[[sa.Connection], T] | None
    fence: Fence | None
    future: asyncio.Future[T | None] | Future[T | None]
    loop: asyncio.AbstractEventLoop | None = None


class _Done(NamedTuple):
    write: Write[Any]
    value: Any
    error: Exception | None


class Writer:
    """The writing half of a store. ``name`` is the store's, for errors."""

    def __init__(self, engine: sa.Engine, *, name: str) -> None:
        self._engine = engine
        self._name = name
        self._connection: sa.Connection | None = None
        self._queue: queue.SimpleQueue[Write[Any] | None] = queue.SimpleQueue()
        self._lazy: deque[tuple[Row, Fence | None]] = deque()
        self._later: deque[Write[Any]] = deque()
        self._known_blobs: set[str] = set()
        self._closed = False
        # Held while a write is put, so that none can slip in behind the end mark and wait for ever.
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._loop, name="motet-store-writer", daemon=True)
        self._thread.start()

    def put(self, write: Write[Any]) -> None:
        """Queue ``write``. Raises StoreError once the store is closed."""
        with self._door:
            if self._closed:
                raise StoreError(f"the store {self._name} is closed")
            self._queue.put(write)

    def put_later(self, write: Write[Any]) -> None:
        """Have ``write`` ride on the next commit, before what is put after it. Raises StoreError once the store is closed."""
        with self._door:
            if self._closed:
                raise StoreError(f"the store {self._name} is closed")
            self._later.append(write)

    def append(self, row: Row, fence: Fence | None) -> None:
        """Insert ``row`` lazily."""
        self._lazy.append((row, fence))

    def forget_blobs(self) -> None:
        """Stop assuming that blobs written earlier are still there."""
        self._known_blobs = set()

    def close(self) -> None:
        """Commit what is waiting and end the thread. May be called twice."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        stopping = False
        while not stopping:
            group: list[Write[Any]] = []
            with suppress(queue.Empty):
                item = self._queue.get(timeout=_LAZY_SECONDS)
                while item is not None:
                    group.append(item)
                    if len(group) >= _GROUP:
                        break
                    item = self._queue.get_nowait()
                stopping = item is None
            lazy = [self._lazy.popleft() for _ in range(len(self._lazy))]
            group[:0] = [self._later.popleft() for _ in range(len(self._later))]
            if group or lazy:
                _deliver(self._commit(group, lazy))
        self._drop_connection()

    def _commit(self, group: Sequence[Write[Any]], lazy: Sequence[tuple[Row, Fence | None]]) -> list[_Done]:
        try:
            return self._transaction(group, lazy)
        except _NotBegun as error:
            # Nothing can be written now, and each further try might wait for the whole busy time-out.
            return [_Done(write, None, self._explained(error.cause)) for write in group]
        except Exception as error:  # noqa: BLE001 - every failure is handed to the callers it belongs to
            # A connection that was found broken gets a second try on a new one; so does every member of a group.
            again = len(group) > 1 or bool(lazy) or _is_broken(error)
            if not again:
                return [_Done(write, None, self._explained(error)) for write in group]
        done = [self._alone(write) for write in group]
        for row in lazy:
            # An event that cannot be written must not take the run with it.
            with suppress(Exception):
                self._transaction([], [row])
        return done

    def _alone(self, write: Write[Any]) -> _Done:
        try:
            return self._transaction([write], [])[0]
        except _NotBegun as error:
            return _Done(write, None, self._explained(error.cause))
        except Exception as error:  # noqa: BLE001 - handed to the caller it belongs to
            return _Done(write, None, self._explained(error))

    def _transaction(self, group: Sequence[Write[Any]], lazy: Sequence[tuple[Row, Fence | None]]) -> list[_Done]:
        """Do ``group`` and ``lazy`` in one transaction."""
        fresh: dict[str, Packed] = {}
        for write in group:
            for name, content in write.blobs.items():
                if name not in self._known_blobs and name not in fresh:
                    fresh[name] = pack(content)
        connection = self._begin()
        try:
            lost = _lost(connection, [write.fence for write in group] + [fence for _, fence in lazy])
            if fresh:
                insert_blobs(connection, fresh)
            kept = [row for write in group if write.fence not in lost for row in write.rows]
            insert_rows(connection, kept + [row for row, fence in lazy if fence not in lost])
            done = []
            for write in group:
                if write.fence is not None and write.fence in lost:
                    error = LeaseLost(f"run {write.fence.run_id} has been taken over by another process")
                    done.append(_Done(write, None, error))
                else:
                    done.append(_Done(write, write.then(connection) if write.then else None, None))
            connection.commit()
        except BaseException:
            with suppress(sa.exc.SQLAlchemyError):
                connection.rollback()
            if connection.invalidated or connection.in_transaction():
                self._drop_connection()
            raise
        if len(self._known_blobs) > _KNOWN_BLOBS:
            self._known_blobs.clear()
        self._known_blobs.update(fresh)
        return done

    def _begin(self) -> sa.Connection:
        """The writer's connection, kept from one group to the next, in a new transaction."""
        for fresh in (self._connection is None, True):
            try:
                if self._connection is None:
                    self._connection = self._engine.connect()
                self._connection.begin()
                if self._connection.dialect.name == "postgresql" and not fresh:
                    # A server that went away shows here, where trying again is safe.
                    self._connection.exec_driver_sql("SELECT 1")
                return self._connection
            except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
                self._drop_connection()
                if fresh or not _is_broken(error):
                    raise _NotBegun(error) from error
        raise AssertionError("the second try is on a fresh connection")

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with suppress(sa.exc.SQLAlchemyError):
                self._connection.close()
            self._connection = None

    def _explained(self, error: Exception) -> Exception:
        """What the database refused is the store's failure; anything else is the caller's own."""
        if isinstance(error, sa.exc.DBAPIError | sqlite3.Error):
            return StoreError(f"the store {self._name} could not be written: {reason(error)}")
        return error


class _NotBegun(Exception):
    """No transaction could be started."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _is_broken(error: BaseException) -> bool:
    return isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated


def _deliver(done: Iterable[_Done]) -> None:
    """Wake the callers: one wake-up for each event loop, however many wait in it."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Done]] = defaultdict(list)
    for item in done:
        if item.write.loop is not None:
            by_loop[item.write.loop].append(item)
        else:
            _settle([item])
    for loop, items in by_loop.items():
        # A loop that is closed by now has nobody waiting.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, items)


def _settle(items: Iterable[_Done]) -> None:
    for write, value, error in items:
        if write.future.done():
            continue  # its caller was cancelled; the write stands
        if error is not None:
            write.future.set_exception(error)
        else:
            write.future.set_result(value)


def _lost(connection: sa.Connection, fences: Iterable[Fence | None]) -> set[Fence | None]:
    """Those of ``fences`` whose run has another owner by now."""
    lost: set[Fence | None] = set()
    postgresql = connection.dialect.name == "postgresql"
    # On SQLite the transaction keeps other writers out; on PostgreSQL the row must not change until the commit.
    query = f"SELECT fence FROM runs WHERE id = {'%s FOR SHARE' if postgresql else '?'}"  # noqa: S608 - two constants
    for fence in sorted({fence for fence in fences if fence is not None}):
        row = run_quickly(connection, query, (fence.run_id,)).fetchone()
        if row is None or row[0] != fence.number:
            lost.add(fence)
    return lost
