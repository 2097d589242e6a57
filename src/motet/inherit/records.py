"""Records: results of nodes by key, which outlive the run that computed them.

A record is a row that names a blob, which is checked against its hash on every read. What cannot be read, does not match its hash or its key, or is no record,
counts as missing and is told; the next ``put`` replaces it.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Literal, NamedTuple

import sqlalchemy as sa
from pydantic import ValidationError

from motet.canonical import canonical, digest_bytes
from motet.errors import Damaged, InputError
from motet.inherit.keys import Determinants
from motet.runs.run import SHARED, ToolUse
from motet.store.blobs import pack, unpacked
from motet.store.rows import run_quickly
from motet.store.store import Store
from motet.task import Source
from motet.usage import Totals
from motet.value import Value


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
            row = run_quickly(connection, _for(connection, _GET), (self.namespace, key)).fetchone()
            if row is None:
                return None
            name, codec, data = row
            try:
                return f"blob {name} is missing from the store" if data is None else unpacked(name, codec, data)
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
        if (stored := self.post(record)) is None:
            return False
        await self.store.flush()
        stored.result()
        return True

    def post(self, record: NodeRecord) -> Future[None] | None:
        """``put`` with the store's next commit; the future is done by then. ``None`` for a record that is not reusable."""
        if not record.reusable:
            return None
        key = record.determinants.key
        content = _exactly(record)
        name, blob = digest_bytes(content), pack(content)

        def replace(connection: sa.Connection) -> None:
            # Not with the rows of the write, which leave a blob that is there as it is: one of this very content may be damaged.
            now = time.time()
            run_quickly(connection, _for(connection, _PUT_BLOB), (name, *blob, now))
            run_quickly(connection, _for(connection, _PUT), (self.namespace, key, name, record.run_id, now))

        return self.store.post_later(then=replace)


# Past SQLAlchemy's compiler, which would take several times as long as the database. Each is one statement, since another process may
# store the same key at this moment.
_GET = """
SELECT records.body, blobs.codec, blobs.data FROM records LEFT JOIN blobs ON blobs.hash = records.body
WHERE records.namespace = ? AND records."key" = ?
"""
_PUT_BLOB = """
INSERT INTO blobs (hash, size, codec, data, created) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (hash) DO UPDATE SET size = excluded.size, codec = excluded.codec, data = excluded.data, created = excluded.created
"""
_PUT = """
INSERT INTO records (namespace, "key", body, run_id, created) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (namespace, "key") DO UPDATE SET body = excluded.body, run_id = excluded.run_id, created = excluded.created
"""


def _for(connection: sa.Connection, statement: str) -> str:
    """``statement`` with the marks that the database's driver knows."""
    return statement.replace("?", "%s") if connection.dialect.name == "postgresql" else statement


def _exactly(record: NodeRecord) -> bytes:
    """``record`` as JSON in which numbers are read back as they were; canonical JSON would write large integers in another way."""
    try:
        return record.model_dump_json().encode()
    except ValueError:
        # A lone surrogate, which a model may put into a tool's arguments.
        return canonical(record.model_dump(mode="json"))
