"""Inserting rows: many to a statement, and past SQLAlchemy's compiler.

Each statement that the driver steps through lets go of the interpreter lock, and beside a busy event loop getting it back can take
milliseconds; compiling and type processing would cost more than the insert itself.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from motet.errors import StoreError
from motet.store import schema
from motet.store.blobs import Packed

_CHUNKS = (64, 8, 2, 1)  # rows in one statement; few sizes, so that the driver's statement cache holds them all


class Row(NamedTuple):
    """A row to be inserted. Columns that are left out get their default."""

    table: sa.Table
    values: Mapping[str, Any]


def insert_rows(connection: sa.Connection, rows: Iterable[Row]) -> None:
    """Insert ``rows``, table by table in the order that foreign keys ask for. Raises StoreError for a column that is not there."""
    by_table: dict[str, list[list[Any]]] = defaultdict(list)
    for row in rows:
        by_table[row.table.name].append(_flat(row))
    for name, columns in _COLUMNS.items():
        if name in by_table:
            _insert(connection, name, list(columns), by_table[name])


def insert_run(connection: sa.Connection, run: Row, rest: Iterable[Row]) -> bool:
    """Insert ``run`` and ``rest``, its other rows; nothing at all if there is a run of that id. Returns whether it is new.

    Of several processes that try at once, one inserts it and the others find it.
    """
    new = _insert(connection, "runs", list(_COLUMNS["runs"]), [_flat(run)], skip_present=True) == 1
    if new:
        insert_rows(connection, rest)
    return new


def insert_blobs(
    connection: sa.Connection, fresh: Mapping[str, Packed], *, created: Mapping[str, float] | None = None
) -> None:
    """Insert those of ``fresh`` that are not there yet; ``created`` is now unless it is given."""
    now = time.time()
    # Sorted, so that two processes that insert the same blobs wait for each other and never deadlock.
    rows = [[name, *packed, created[name] if created else now] for name, packed in sorted(fresh.items())]
    _insert(connection, "blobs", ["hash", "size", "codec", "data", "created"], rows, skip_present=True)


def _insert(
    connection: sa.Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    skip_present: bool = False,
) -> int:
    """Insert ``rows`` and return how many of them are new."""
    mark = "%s" if connection.dialect.name == "postgresql" else "?"
    one = f"({', '.join([mark] * len(columns))})"
    names = ", ".join(f'"{column}"' for column in columns)
    end = " ON CONFLICT DO NOTHING" if skip_present else ""
    start = new = 0
    while start < len(rows):
        count = next(size for size in _CHUNKS if size <= len(rows) - start)
        statement = f"INSERT INTO {table} ({names}) VALUES {', '.join([one] * count)}{end}"  # noqa: S608 - names from the schema
        flat = tuple(value for row in rows[start : start + count] for value in row)
        new += run_quickly(connection, statement, flat).rowcount
        start += count
    return new


def run_quickly(connection: sa.Connection, statement: str, values: Sequence[Any]) -> Any:
    """Run a driver's ``statement`` and return the cursor. On SQLite past SQLAlchemy, which takes three times as long as a small statement itself; errors are the driver's."""
    if connection.dialect.name != "sqlite":
        return connection.exec_driver_sql(statement, tuple(values))
    return connection.connection.cursor().execute(statement, values)


def _flat(row: Row) -> list[Any]:
    """The values of ``row`` in the order of ``_COLUMNS``."""
    columns = _COLUMNS[row.table.name]
    if not row.values.keys() <= columns.keys():
        raise StoreError(f"{row.table.name} has no column {min(row.values.keys() - columns.keys())!r}")
    return [row.values.get(column, default) for column, default in columns.items()]


def _columns(table: sa.Table) -> dict[str, Any]:
    """The columns that an insert names, with their defaults."""
    return {
        column.name: column.default.arg if isinstance(column.default, ScalarElementColumnDefault) else None
        for column in table.columns
        if column.autoincrement is not True
    }


# In the order that foreign keys ask for.
_COLUMNS: dict[str, dict[str, Any]] = {
    table.name: _columns(table)
    for table in (schema.runs, schema.tasks, schema.calls, schema.events, schema.records, schema.scores)
}
