"""A store as one file of JSON lines, and back.

The first line names the format; then comes one line per row, in an order that depends on the content alone; the last line holds the number of
rows of each table and the SHA-256 of everything before it, so that a file that was cut or changed is noticed even where it still parses.
A blob is text where it is UTF-8 (it nearly always is JSON), else base64. Calls carry no id: the order of the lines is the order they were written in.

Importing what an export wrote into an empty store and exporting that gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import sqlalchemy as sa

from motet.canonical import digest_bytes
from motet.errors import InputError
from motet.store.blobs import pack, unpacked
from motet.store.queries import family
from motet.store.references import references
from motet.store.rows import Row, insert_blobs, insert_rows
from motet.store.schema import blobs, calls, events, records, runs, scores, tasks
from motet.store.store import Store

FORMAT = "motet-export"
VERSION = 1
_BATCH = 200

# In the order of the lines, each with what orders its rows. Children come after all runs that may be their parents.
_TABLES: dict[str, tuple[sa.Table, tuple[sa.ColumnElement[Any], ...]]] = {
    "runs": (runs, (runs.c.parent.is_not(None), runs.c.id)),
    "tasks": (tasks, (tasks.c.run_id, tasks.c.task_id)),
    "calls": (calls, (calls.c.run_id, calls.c.id)),
    "events": (events, (events.c.run_id, events.c.seq)),
    "scores": (scores, (scores.c.run_id, scores.c.task_id, scores.c.scorer)),
    "records": (records, (records.c.namespace, records.c.key)),
    "blobs": (blobs, (blobs.c.hash,)),
}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import brought in: the runs that are new, the runs that were there already, and the number of new rows by table."""

    run_ids: tuple[str, ...]
    present: tuple[str, ...]
    rows: dict[str, int]


def export(store: Store, target: Path | IO[bytes], *, run_ids: Sequence[str] | None = None) -> dict[str, int]:
    """Write the store, or only ``run_ids`` with their children, the records they made and the blobs they need; returns the number of rows by table.

    A path is replaced only once everything is written. Raises InputError for a run that is not there, or is a child whose parent is not asked for, and
    Damaged for a damaged blob.
    """
    if not isinstance(target, Path):
        return store.read_now(lambda connection: _export(connection, target, run_ids))
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            try:
                counts = store.read_now(lambda connection: _export(connection, file, run_ids))
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                os.unlink(file.name)
                raise
        os.replace(file.name, target)
    except OSError as error:
        raise InputError(f"the export cannot be written to {target}: {error.strerror or error}") from None
    return counts


def import_(store: Store, source: Path | IO[bytes]) -> ImportReport:
    """Bring an export into the store, all of it or nothing. A run that is there already, and the same, is left as it is.

    The file is read twice: once to check it, then within one transaction, during which other writers wait. Raises InputError naming the line that is
    wrong, or the run that is there with other content.
    """
    if isinstance(source, Path):
        try:
            with source.open("rb") as file:
                return _import(store, file, source.name)
        except OSError as error:
            raise InputError(f"{source} cannot be read: {error.strerror or error}") from None
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(source, copy)
        return _import(store, copy, "the import")


def _export(connection: sa.Connection, target: IO[bytes], run_ids: Sequence[str] | None) -> dict[str, int]:
    postgresql = connection.dialect.name == "postgresql"
    if postgresql:
        # One moment of the store, as SQLite's read transaction gives it.
        connection.execution_options(isolation_level="REPEATABLE READ")
    if run_ids is not None:
        _require(connection, run_ids)
    sha = hashlib.sha256()
    counts: Counter[str] = Counter()

    def put(value: Mapping[str, Any]) -> None:
        line = _line(value)
        sha.update(line)
        target.write(line)

    put({"format": FORMAT, "version": VERSION})
    for name, (table, order) in _TABLES.items():
        # PostgreSQL would sort text by its locale.
        by = [column.collate("C") if postgresql and isinstance(column.type, sa.String) else column for column in order]
        query = sa.select(table).order_by(*by)
        if run_ids is not None:
            query = query.where(_chosen(table, family(run_ids), connection.dialect.name))
        for row in connection.execute(query.execution_options(yield_per=_BATCH)).mappings():
            put({"table": name, "row": _blob_out(row) if table is blobs else _row_out(table, row)})
            counts[name] += 1
    rows = {name: counts[name] for name in _TABLES}
    target.write(_line({"end": {"rows": rows, "sha256": sha.hexdigest()}}))
    return rows


def _require(connection: sa.Connection, run_ids: Sequence[str]) -> None:
    parents = {
        row.id: row.parent
        for row in connection.execute(sa.select(runs.c.id, runs.c.parent).where(runs.c.id.in_(run_ids)))
    }
    for run_id in run_ids:
        if run_id not in parents:
            raise InputError(f"there is no run {run_id!r}")
        if parents[run_id] is not None and parents[run_id] not in parents:
            raise InputError(f"run {run_id} is a part of run {parents[run_id]}, and goes only with it: export that one")


def _chosen(table: sa.Table, members: sa.Select[tuple[str]], dialect: str) -> sa.ColumnElement[bool]:
    if table is not blobs:
        return (runs.c.id if table is runs else table.c.run_id).in_(members)
    named = sa.text(f"SELECT hash, run_id FROM ({references(dialect)}) AS named")  # noqa: S608
    names = named.columns(sa.column("hash", sa.String), sa.column("run_id", sa.String)).subquery()
    return blobs.c.hash.in_(sa.select(names.c.hash).where(names.c.run_id.in_(members)))


def _line(value: Mapping[str, Any]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Line ends to some readers, though not to JSON.
    for character in "\u2028\u2029\x85":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode() + b"\n"


def _row_out(table: sa.Table, row: Mapping[Any, Any]) -> dict[str, Any]:
    return {column.name: row[column] for column in _columns(table)}


def _blob_out(row: Mapping[Any, Any]) -> dict[str, Any]:
    content = unpacked(row["hash"], row["codec"], row["data"])
    head = {"hash": row["hash"], "created": row["created"]}
    try:
        return {**head, "text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {**head, "base64": base64.b64encode(content).decode()}


def _columns(table: sa.Table) -> list[sa.Column[Any]]:
    return [column for column in table.columns if column.autoincrement is not True]


class _Read(NamedTuple):
    """A line's row, as it is to be inserted; ``content`` is a blob's."""

    table: sa.Table
    values: Mapping[str, Any]
    content: bytes = b""


def _import(store: Store, file: IO[bytes], name: str) -> ImportReport:
    for _ in _read(file, name):
        pass  # a first reading, so that a wrong file never holds up the writers

    def bring(connection: sa.Connection) -> ImportReport:
        return _bring(connection, _read(file, name))

    report = store.write_now(then=bring)
    assert report is not None
    return report


def _bring(connection: sa.Connection, rows: Iterator[_Read]) -> ImportReport:
    present: dict[str, None] = {}  # in the order of the file
    fresh: list[str] = []
    counts: Counter[str] = Counter()
    batch: list[_Read] = []

    def flush() -> None:
        if not batch:
            return
        table = batch[0].table
        if table is blobs:
            known = _present(connection, blobs.c.hash, [row.values["hash"] for row in batch])
            new = {row.values["hash"]: row for row in batch if row.values["hash"] not in known}
            insert_blobs(
                connection,
                {key: pack(row.content) for key, row in new.items()},
                created={key: row.values["created"] for key, row in new.items()},
            )
            counts["blobs"] += len(new)
        else:
            insert_rows(connection, [Row(row.table, row.values) for row in batch])
            counts[table.name] += len(batch)
        batch.clear()

    for row in rows:
        if row.table is runs:
            found = connection.execute(sa.select(runs).where(runs.c.id == row.values["id"])).mappings().first()
            if found is not None and dict(found) != row.values:
                raise InputError(
                    f"run {row.values['id']} is in the store already, with other content; remove it first: "
                    f"motet runs rm {row.values['id']}"
                )
            skip = found is not None
            if skip:
                present[row.values["id"]] = None
            else:
                fresh.append(row.values["id"])
        elif row.table is records:
            place = (records.c.namespace == row.values["namespace"]) & (records.c.key == row.values["key"])
            skip = connection.execute(sa.select(records.c.key).where(place)).first() is not None
        else:
            skip = row.table is not blobs and row.values["run_id"] in present
        if skip:
            continue
        if batch and (batch[0].table is not row.table or len(batch) >= _BATCH):
            flush()
        batch.append(row)
    flush()
    return ImportReport(tuple(fresh), tuple(present), {name: counts[name] for name in _TABLES})


def _present(connection: sa.Connection, column: sa.Column[Any], values: Sequence[str]) -> set[str]:
    return set(connection.execute(sa.select(column).where(column.in_(values))).scalars())


def _read(file: IO[bytes], name: str) -> Iterator[_Read]:
    """The rows of an export, each checked. Raises InputError naming the line."""
    file.seek(0)
    sha = hashlib.sha256()
    counts: Counter[str] = Counter()
    run_ids: set[str] = set()
    parents: set[str | None] = {None}
    ended = False
    number = 0
    for number, line in enumerate(file, start=1):
        where = f"{name}, line {number}"
        value = _parsed(line, where)
        if number == 1:
            _check_head(value, name)
        elif ended:
            raise InputError(f"{where}: the file goes on after its last line")
        elif "end" in value:
            rows = {table: counts[table] for table in _TABLES}
            if value["end"] != {"rows": rows, "sha256": sha.hexdigest()}:
                raise InputError(
                    f"{where}: the rows before it are not those that were exported; the file was changed or has lost lines"
                )
            ended = True
        else:
            row = _row_in(value, where)
            if row.table is runs:
                parent = row.values["parent"]
                if parent not in parents:
                    raise InputError(
                        f"{where}: run {row.values['id']} is a part of run {parent}, which is not before it"
                    )
                run_ids.add(row.values["id"])
                if parent is None:
                    parents.add(row.values["id"])
            elif row.table not in (blobs, records) and row.values["run_id"] not in run_ids:
                raise InputError(f"{where}: run {row.values['run_id']} is not in the file")
            counts[row.table.name] += 1
            yield row
        sha.update(line)
    if not ended:
        raise InputError(f"{name} is cut off after line {number}: its last line is missing")


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        raise InputError(f"{where}: the line is cut off")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f"{where}: not a JSON object; the line is damaged")
    return value


def _check_head(value: Mapping[str, Any], name: str) -> None:
    if value.get("format") != FORMAT:
        raise InputError(f"{name} is no export of a Motet store")
    if value.get("version") != VERSION:
        raise InputError(
            f"{name} is an export of version {value.get('version')}, and this Motet reads version {VERSION}; upgrade Motet"
        )


def _row_in(value: Mapping[str, Any], where: str) -> _Read:
    known = _TABLES.get(str(value.get("table")))
    row = value.get("row")
    if known is None or not isinstance(row, dict) or value.keys() != {"table", "row"}:
        raise InputError(f"{where}: not a row of an export; the line is damaged")
    table = known[0]
    if table is blobs:
        return _blob_in(row, where)
    columns = {column.name: column for column in _columns(table)}
    if row.keys() != columns.keys():
        odd = min(row.keys() ^ columns.keys())
        raise InputError(f"{where}: the column {odd!r} of {table.name} is {'missing' if odd in columns else 'unknown'}")
    for key, item in row.items():
        if not _fits(columns[key], item):
            raise InputError(f"{where}: {key} of {table.name} is {item!r:.60}, which its column does not take")
    return _Read(table, row)


def _fits(column: sa.Column[Any], value: Any) -> bool:
    if value is None:
        return bool(column.nullable)
    wanted = column.type.python_type
    if wanted is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    return type(value) is wanted


def _blob_in(row: Mapping[str, Any], where: str) -> _Read:
    hash_, created = row.get("hash"), row.get("created")
    form = row.keys() - {"hash", "created"}
    content = None
    if isinstance(hash_, str) and isinstance(created, float | int) and len(form) == 1:
        try:
            if form == {"text"}:
                content = row["text"].encode()
            elif form == {"base64"}:
                content = base64.b64decode(row["base64"], validate=True)
        except (AttributeError, TypeError, ValueError):
            content = None
    if content is None:
        raise InputError(f"{where}: not a blob of an export; the line is damaged")
    if digest_bytes(content) != hash_:
        raise InputError(f"{where}: the blob {hash_} does not match its hash; the line is damaged")
    return _Read(blobs, {"hash": hash_, "created": created}, content)
