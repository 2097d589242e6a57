"""Database engines for a store's URL: one that reads, one that writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from motet.errors import InputError


def engines(url: sa.URL) -> tuple[sa.Engine, sa.Engine]:
    """A reading and a writing engine for ``url``. Raises InputError for a URL that cannot hold a store."""
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
    raise InputError(f"the store {shown(url)} is neither SQLite nor PostgreSQL")


def shown(url: sa.URL) -> str:
    """``url`` without its password."""
    return url.render_as_string(hide_password=True)


def reason(error: BaseException) -> str:
    """The first line of what the database said."""
    original = getattr(error, "orig", None) or error
    return (str(original).strip().splitlines() or [type(original).__name__])[0]


def _sqlite(url: sa.URL, begin: str) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": 30.0, "check_same_thread": False})

    def connected(connection: Any, _record: object) -> None:
        # The driver's own transaction handling would start a transaction at the first write only, and never IMMEDIATE.
        connection.isolation_level = None
        # The write-ahead log is set where the store is made: here it would change a file that may belong to something else.
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
            connection.execute(f"PRAGMA {pragma}").close()

    sa.event.listen(engine, "connect", connected)
    # Past SQLAlchemy, as every read and every commit begins so.
    sa.event.listen(engine, "begin", lambda connection: connection.connection.cursor().execute(begin).close())
    return engine
