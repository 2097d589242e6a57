"""The store: what a run leaves behind, on SQLite or PostgreSQL. One writer thread with group commit, readers in threads."""

from __future__ import annotations

import asyncio
import sqlite3  # its errors come bare from what is done when a connection is made
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import TypeVar

import sqlalchemy as sa

from motet.errors import InputError, StoreError
from motet.settings import store_url
from motet.store.blobs import as_blob, read_blob, unpacked
from motet.store.engines import engines, reason, shown
from motet.store.rows import Row
from motet.store.writer import Fence, Write, Writer

__all__ = ["Fence", "Row", "Store", "as_blob", "read_blob", "unpacked"]

T = TypeVar("T")


class Store:
    """The run store. Open it with ``Store.open``; close it, or use it as a context manager, so that nothing stays unwritten."""

    def __init__(self, url: sa.URL, reader: sa.Engine, writer: sa.Engine) -> None:
        self.url = url
        self._reader = reader
        self._writing = writer
        self._writer = Writer(writer, name=shown(url))

    @classmethod
    def open(cls, url: str | None = None) -> Store:
        """Open the store at ``url`` (default: ``MOTET_STORE``, else SQLite in ``MOTET_HOME``), creating or migrating it.

        Raises InputError for a URL that cannot be used, SchemaMismatch for a store from a newer Motet, StoreError for a damaged file.
        """
        from motet.store.migrate import at_head, upgrade

        wanted = url or store_url()
        try:
            parsed = sa.make_url(wanted)
        except sa.exc.ArgumentError:
            raise InputError(
                f"{wanted!r} is no database URL; one looks like sqlite:///runs.db or postgresql://host/name"
            ) from None
        reader, writer = engines(parsed)
        try:
            if not at_head(reader):
                upgrade(writer)
        except BaseException as error:
            reader.dispose()
            writer.dispose()
            if isinstance(error, sa.exc.OperationalError | sqlite3.OperationalError):
                raise InputError(f"the store {shown(parsed)} cannot be opened: {reason(error)}") from None
            if isinstance(error, sa.exc.DatabaseError | sqlite3.DatabaseError):
                raise StoreError(
                    f"the store {shown(parsed)} is damaged or is no Motet store: {reason(error)}; "
                    "move it away and start a new one, or restore it from an export"
                ) from None
            raise
        return cls(parsed, reader, writer)

    @property
    def name(self) -> str:
        """The store's URL without a password."""
        return shown(self.url)

    # Reading

    def read_now(self, query: Callable[[sa.Connection], T]) -> T:
        """Run ``query`` on a reading connection, in this thread."""
        try:
            with self._reader.connect() as connection:
                return query(connection)
        except (sa.exc.DatabaseError, sqlite3.Error) as error:
            raise StoreError(f"the store {self.name} cannot be read: {reason(error)}") from None

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
        loop = asyncio.get_running_loop()
        # The write does not hang on this future: a cancelled caller must not make the writer skip what others may rely on.
        future: asyncio.Future[T | None] = loop.create_future()
        self._writer.put(Write(rows, blobs or {}, then, fence, future, loop))
        return await future

    def write_now(
        self,
        rows: Sequence[Row] = (),
        *,
        blobs: Mapping[str, bytes] | None = None,
        then: Callable[[sa.Connection], T] | None = None,
        fence: Fence | None = None,
    ) -> T | None:
        """``write`` for callers outside an event loop."""
        future: Future[T | None] = Future()
        self._writer.put(Write(rows, blobs or {}, then, fence, future))
        return future.result()

    def post(self, rows: Sequence[Row], *, blobs: Mapping[str, bytes], fence: Fence) -> None:
        """``write`` for a caller that cannot wait, such as one that is being cancelled. Does nothing once the store is closed."""
        with suppress(StoreError):
            self._writer.put(Write(rows, blobs, None, fence, Future()))

    def post_later(
        self,
        rows: Sequence[Row] = (),
        *,
        blobs: Mapping[str, bytes] | None = None,
        then: Callable[[sa.Connection], T] | None = None,
        fence: Fence | None = None,
    ) -> Future[T | None]:
        """``write`` with the next commit, or by itself after a moment; the future is done by then, in another thread. Raises StoreError once the store is closed.

        A write that is put after it is never committed before it.
        """
        future: Future[T | None] = Future()
        self._writer.put_later(Write(rows, blobs or {}, then, fence, future))
        return future

    def append(self, row: Row, *, fence: Fence | None = None) -> None:
        """Insert ``row`` with the next commit, or by itself after a moment. Dropped if the run has another owner by then.

        A write that is put after it is never committed before it.
        """
        self._writer.append(row, fence)

    def forget_blobs(self) -> None:
        """Stop assuming that blobs written earlier are still there; another process may have pruned them. Called when a run starts."""
        self._writer.forget_blobs()

    async def flush(self) -> None:
        """Wait until everything appended so far is committed."""
        await self.write()

    def vacuum(self) -> None:
        """Give space that nothing uses any more back to the file system. Waits for a moment in which nobody writes."""
        try:
            with self._reader.connect() as connection:
                if connection.dialect.name == "sqlite":
                    # Past SQLAlchemy, which would begin a transaction. The log is emptied too, or it would hold the whole new file.
                    for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                        connection.connection.cursor().execute(statement)
                else:
                    connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("VACUUM")
        except (sa.exc.DatabaseError, sqlite3.Error) as error:
            raise StoreError(f"the store {self.name} could not be vacuumed: {reason(error)}") from None

    def close(self) -> None:
        """Commit what is waiting and close the connections. May be called twice."""
        self._writer.close()
        self._reader.dispose()
        self._writing.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
