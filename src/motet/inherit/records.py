"""Records: results of nodes by key, which outlive the run that computed them.

A record is a row that names a blob, which is checked against its hash on every read. What cannot be read, does not match its hash or its key, or is no record,
counts as missing and is told; the next ``put`` replaces it.
"""

from __future__ import annotations

import time
from typing import Literal, NamedTuple

import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy.dialects import postgresql, sqlite

from motet.errors import Damaged, InputError
from motet.inherit.keys import Determinants
from motet.runs.run import ToolUse
from motet.store.blobs import as_blob, pack, read_blob
from motet.store.rows import insert_blobs
from motet.store.schema import blobs, records
from motet.store.store import Store
from motet.task import Source
from motet.usage import Totals
from motet.value import Value

# `solve` shares its records with every other solve in the store.
SHARED = "solve"


def bench_namespace(run_id: str, *, system: str, epoch: int) -> str:
    """The namespace of one system in one epoch of a bench, which inherits nothing from any other."""
    name = f"bench/{run_id}/{system}/{epoch}"
    if len(name) > 200:
        raise InputError(f"the system's name {system[:40]!r}… is too long for a namespace of records")
    return name


class NodeRecord(Value):
    """A node's result with what determined it, and who computed it: the run and the scope.

    ``usage`` is what it cost there, with ``model``, the names of the models that were asked. ``read_only``: the node could write nothing.
    """

    version: Literal[1] = 1
    determinants: Determinants
    output: str
    trace: tuple[ToolUse, ...] = ()
    sources: tuple[Source, ...] = ()
    usage: Totals = Totals()
    model: str = ""
    read_only: bool
    run_id: str
    scope: str

    @property
    def error_free(self) -> bool:
        """Whether no tool failed on the way: what failed may not fail again."""
        return not any(use.error for use in self.trace)

    @property
    def reusable(self) -> bool:
        """Whether it may stand in for doing the work again."""
        return self.read_only and self.error_free and bool(self.output.strip())


class Lookup(NamedTuple):
    """What was found under a key: a record, or nothing; ``damage`` says what is wrong with one that cannot be used."""

    record: NodeRecord | None
    damage: str = ""


class Records:
    """The records of one namespace of a store."""

    def __init__(self, store: Store, namespace: str = SHARED) -> None:
        self.store = store
        self.namespace = namespace

    async def get(self, key: str) -> Lookup:
        """The record under ``key``."""

        def read(connection: sa.Connection) -> bytes | str | None:
            row = connection.execute(sa.select(records.c.body).where(*self._at(key))).first()
            if row is None:
                return None
            try:
                return read_blob(connection, row.body)
            except Damaged as error:
                return str(error)

        found = await self.store.read(read)
        if not isinstance(found, bytes):
            return Lookup(None, found or "")
        try:
            record = NodeRecord.model_validate_json(found)
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"])) or "its JSON"
            return Lookup(None, f"what is stored under {key} is no record: {place} is wrong")
        if record.determinants.key != key:
            return Lookup(None, f"the record stored under {key} belongs to the key {record.determinants.key}")
        return Lookup(record)

    async def put(self, record: NodeRecord) -> bool:
        """Store ``record`` in the place of any other under its key; returns whether it was, which only reusable ones are."""
        if not record.reusable:
            return False
        key = record.determinants.key
        name, content = as_blob(record.model_dump(mode="json"))

        def replace(connection: sa.Connection) -> None:
            # Written here and not with the row, since a damaged blob of this very content would be left as it is.
            try:
                read_blob(connection, name)
            except Damaged:
                connection.execute(blobs.delete().where(blobs.c.hash == name))
                insert_blobs(connection, {name: pack(content)})
            # In one statement: another process may store the same key at this moment.
            insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
            values = {"body": name, "run_id": record.run_id, "created": time.time()}
            row = insert(records).values(namespace=self.namespace, key=key, **values)
            connection.execute(row.on_conflict_do_update(index_elements=["namespace", "key"], set_=values))

        await self.store.write(then=replace)
        return True

    def _at(self, key: str) -> tuple[sa.ColumnElement[bool], ...]:
        return records.c.namespace == self.namespace, records.c.key == key
