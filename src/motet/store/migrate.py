"""Creating a store and bringing an older one up to date.

A new store is made straight from the schema, and one that is up to date is recognised by a single query: Alembic, slow to import, is
loaded only when there is something to migrate. A test holds the migrations and the schema to the same result.

Several processes may open a new store at once: one makes it, the others wait and find it made. A database that is not a Motet store is
refused before anything is written to it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from motet.errors import SchemaMismatch, StoreError
from motet.store.schema import metadata

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "motet_1"  # the newest revision; a test compares it with the folder
VERSION_TABLE = "motet_version"  # a name of our own, so that another program's migrations are never taken for ours
MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x6D6F746574  # "motet": the PostgreSQL advisory lock that creation and migration hold
_VERSION = sa.text(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608 - a constant
_PATIENCE = 30.0  # seconds to wait for another process that is making the store


def at_head(engine: sa.Engine) -> bool:
    """Whether the database behind ``engine`` is a Motet store of this version. Takes no lock and writes nothing.

    What is wrong otherwise, ``upgrade`` finds out and says.
    """
    try:
        with engine.connect() as connection:
            return bool(connection.execute(_VERSION).scalar() == HEAD)
    except (sa.exc.OperationalError, sa.exc.ProgrammingError):
        return False


def upgrade(engine: sa.Engine) -> None:
    """Create the store if the database is empty; migrate it if it is older than this Motet.

    ``engine`` must begin its transactions as a writer. Raises SchemaMismatch for a store from a newer Motet and StoreError for a database
    of something else.
    """
    if engine.dialect.name == "sqlite":
        _use_wal(engine)
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        tables = _tables(connection)
        if not tables:
            metadata.create_all(connection, checkfirst=False)
            # The table that Alembic itself would make.
            version = sa.Table(VERSION_TABLE, sa.MetaData(), sa.Column("version_num", sa.String(32), nullable=False))
            version.append_constraint(sa.PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"))
            version.create(connection)
            connection.execute(version.insert().values(version_num=HEAD))
            return
        revision = _revision(connection, tables)
        if revision != HEAD:
            _migrate(connection, revision)


def alembic_config(connection: sa.Connection | None = None) -> Config:
    """Alembic's configuration for the migrations that ship in this package, run on ``connection``."""
    from alembic.config import Config

    config = Config()
    # ConfigParser reads a percent sign in a path as the start of an interpolation.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _migrate(connection: sa.Connection, revision: str) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    config = alembic_config(connection)
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision not in known:
        raise SchemaMismatch(
            f"the store was written by a newer Motet (its schema is {revision}, this Motet knows {HEAD}); upgrade Motet"
        )
    command.upgrade(config, "head")


def _tables(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())


def _revision(connection: sa.Connection, tables: set[str]) -> str:
    """The schema version of a Motet store. Raises StoreError for a database of something else."""
    name = connection.engine.url.render_as_string(hide_password=True)
    if VERSION_TABLE not in tables:
        shown = ", ".join(sorted(tables)[:5])
        raise StoreError(
            f"{name} is a database of something else (its tables: {shown}); give the store a database of its own"
        )
    version: str | None = connection.execute(_VERSION).scalar()
    if version is None:
        raise StoreError(f"{name} has lost its schema version; restore it from a copy or an export")
    return version


def _use_wal(engine: sa.Engine) -> None:
    """Give a new SQLite file its write-ahead log, so that readers and the writer do not wait for each other. The file remembers it.

    A file that has tables already is left as it is: it may belong to something else.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        connection = engine.raw_connection()
        try:
            cursor = connection.cursor()
            if cursor.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
                cursor.execute("PRAGMA journal_mode=WAL")
            return
        except Exception as error:
            # The switch does not honour the busy time-out, so another process that is doing the same is waited for here.
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        finally:
            connection.close()
