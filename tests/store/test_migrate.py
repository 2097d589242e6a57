"""Creating, recognising and migrating stores."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from motet.errors import InputError, MotetError, SchemaMismatch, StoreError
from motet.store import migrate
from motet.store.engines import engines
from motet.store.schema import metadata
from motet.store.store import Store


def _sql(connection: sa.Connection) -> dict[str, str]:
    """Every index of the database as SQL, so that conditions of partial ones are compared too."""
    query = (
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        if connection.dialect.name == "sqlite"
        else "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()"
    )
    return {row[0]: row[1] for row in connection.exec_driver_sql(query)}


def _differences(connection: sa.Connection) -> list[Any]:
    options = {
        "compare_type": True,
        "version_table": migrate.VERSION_TABLE,
        "include_object": lambda thing, name, kind, *rest: not (kind == "table" and name == migrate.VERSION_TABLE),
    }
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))


def test_migrations_and_schema_agree(new_url: Callable[[], str]) -> None:
    """A database made by the migrations equals one made from the schema, with its partial unique index."""
    shapes = []
    for made_by in ("migrations", "schema"):
        _, engine = engines(sa.make_url(new_url()))
        if made_by == "migrations":
            with engine.begin() as connection:
                command.upgrade(migrate.alembic_config(connection), "head")
        else:
            migrate.upgrade(engine)
        assert migrate.at_head(engine)
        with engine.connect() as connection:
            assert _differences(connection) == []
            inspector = sa.inspect(connection)
            assert inspector.get_columns(migrate.VERSION_TABLE)[0]["nullable"] is False
            shapes.append((_sql(connection), inspector.get_multi_foreign_keys(), inspector.get_multi_pk_constraint()))
        engine.dispose()
    assert shapes[0] == shapes[1]
    assert any("superseded" in sql for sql in shapes[0][0].values())


def test_head_is_the_newest_migration() -> None:
    """The revision that marks a new store is the newest one in the folder."""
    assert ScriptDirectory.from_config(migrate.alembic_config()).get_current_head() == migrate.HEAD


def test_a_store_at_head_opens_without_alembic(store_url: str) -> None:
    """Alembic is imported neither to make a store nor to open one that is up to date."""
    code = (
        "import sys; from motet.store.store import Store\n"
        "for _ in range(2): Store.open(sys.argv[1]).close()\n"
        "assert not [name for name in sys.modules if name.startswith('alembic')]"
    )
    subprocess.run([sys.executable, "-c", code, store_url], check=True)


def test_an_older_store_is_migrated_and_keeps_its_rows(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store at an older revision is brought to the newest one when it is opened, and its rows are there afterwards."""
    with Store.open(store_url) as store:
        store.write_now(blobs={"a" * 64: b"kept"})
    folder = tmp_path / "with 100% more" / "migrations"
    shutil.copytree(migrate.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "v002_more.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\n"
        f"revision, down_revision = 'motet_next', {migrate.HEAD!r}\nbranch_labels = depends_on = None\n"
        "def upgrade():\n    op.add_column('blobs', sa.Column('more', sa.Integer()))\n"
    )
    monkeypatch.setattr(migrate, "MIGRATIONS", folder)
    monkeypatch.setattr(migrate, "HEAD", "motet_next")
    monkeypatch.setattr(migrate, "_VERSION", migrate._VERSION)
    with Store.open(store_url) as store:
        rows = store.read_now(lambda connection: connection.execute(sa.text("SELECT hash, more FROM blobs")).all())
        version = store.read_now(lambda connection: connection.execute(migrate._VERSION).scalar_one())
    assert [tuple(row) for row in rows] == [("a" * 64, None)]
    assert version == "motet_next"


def test_a_newer_store_is_refused_and_left_alone(store_url: str) -> None:
    """A store from a newer Motet gives one line saying so, and is not changed."""
    Store.open(store_url).close()
    _, engine = engines(sa.make_url(store_url))
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {migrate.VERSION_TABLE} SET version_num = 'motet-99'")
    with pytest.raises(SchemaMismatch, match=r"written by a newer Motet .*motet-99.*; upgrade Motet"):
        Store.open(store_url)
    with engine.connect() as connection:
        assert connection.execute(migrate._VERSION).scalar_one() == "motet-99"
    engine.dispose()


def test_a_database_of_something_else_is_refused_and_left_alone(store_url: str, tmp_path: Path) -> None:
    """A database with other tables is named as such, and not a byte of it is changed."""
    _, engine = engines(sa.make_url(store_url))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE songs (title TEXT)")
    engine.dispose()
    files = {path: path.read_bytes() for path in tmp_path.glob("*.db")}
    with pytest.raises(StoreError, match=r"is a database of something else \(its tables: songs\)"):
        Store.open(store_url)
    assert {path: path.read_bytes() for path in files} == files


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A text file in the store's place gives one line, and stays what it is."""
    path = tmp_path / "notes.db"
    path.write_text("Dear diary, this is not a database. " * 100)
    with pytest.raises(StoreError, match="is damaged or is no Motet store"):
        Store.open(f"sqlite:///{path}")
    assert path.read_text().startswith("Dear diary")


def test_a_store_cut_short_is_refused(tmp_path: Path) -> None:
    """A store whose file lost its end is refused when it is opened or read, with one line."""
    path = tmp_path / "runs.db"
    Store.open(f"sqlite:///{path}").close()
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(StoreError) as caught:
        Store.open(f"sqlite:///{path}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("not a url", "is no database URL"),
        ("mysql://host/name", "is neither SQLite nor PostgreSQL"),
        ("sqlite://", "must be a file"),
        ("sqlite:////proc/nothing/here/runs.db", "cannot be made"),
        ("postgresql://nobody@127.0.0.1:1/none", "cannot be opened"),
    ],
)
def test_a_url_that_cannot_be_used_is_bad_input(url: str, message: str) -> None:
    """Each wrong URL gives one clear line."""
    with pytest.raises(InputError, match=message) as caught:
        Store.open(url)
    assert "\n" not in str(caught.value)


def test_a_password_is_never_shown() -> None:
    """The password in a URL is in no error."""
    with pytest.raises(InputError) as caught:
        Store.open("postgresql://nobody:s3cret@127.0.0.1:1/none")
    assert "s3cret" not in str(caught.value)


def test_processes_and_threads_may_open_a_new_store_at_once(store_url: str) -> None:
    """Many openers of a store that is not there yet all get it, and it is made once."""
    code = "import sys; from motet.store.store import Store; sys.stdin.read(); Store.open(sys.argv[1]).close()"
    processes = [subprocess.Popen([sys.executable, "-c", code, store_url], stdin=subprocess.PIPE) for _ in range(4)]
    errors: list[MotetError] = []

    def open_it() -> None:
        try:
            Store.open(store_url).close()
        except MotetError as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    with Store.open(store_url) as store:
        versions = store.read_now(lambda connection: connection.execute(migrate._VERSION).scalars().all())
        assert versions == [migrate.HEAD]
        if store_url.startswith("sqlite"):
            journal = store.read_now(lambda connection: connection.exec_driver_sql("PRAGMA journal_mode").scalar())
            assert journal == "wal"


def test_an_empty_sqlite_file_becomes_a_store(tmp_path: Path) -> None:
    """A file of no bytes, as other tools make it, is an empty database."""
    path = tmp_path / "runs.db"
    path.touch()
    Store.open(f"sqlite:///{path}").close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM runs").fetchone() == (0,)
    connection.close()
