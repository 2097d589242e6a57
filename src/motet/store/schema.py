"""The store's tables: one schema for SQLite and PostgreSQL, versioned by Alembic (see ``migrations/``).

Facts that the readers rely on:

- ``calls`` is the journal: every answer that a run received from outside (model, tool, input), in the order of its scope.
  A row is never changed into another answer; rows that a resumed run no longer follows are marked ``superseded``.
- Conversations are stored once. A model call holds ``kept``, the number of leading messages it shares with the previous call of
  its scope, and the hashes of the messages after them; message texts are blobs. Failed calls hold their whole list and are no
  part of that chain; a resumed run starts a new one with ``kept`` = 0.
- A run may have a ``parent``, as the cells of a bench have: each is a whole run, with a lease, journal, events and scores of its own.
  There is one level of this, a child has no children, and a child's id is its parent's with a dot and a number.
- A blob's name is the SHA-256 of its uncompressed content, and is checked on every read.
- Times are seconds since the epoch, money is in US dollars, and token counts are null when unknown.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData(naming_convention={"ix": "ix_%(column_0_N_label)s", "pk": "pk_%(table_name)s"})

_HASH = String(64)
# SQLite numbers rows by itself only for a column of type INTEGER.
_SERIAL = BigInteger().with_variant(Integer(), "sqlite")

runs = Table(
    "runs",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("kind", String(16), nullable=False),  # solve, bench, …
    Column("title", Text, nullable=False, default=""),
    Column("system", Text, nullable=False),
    Column("model", Text, nullable=False, default=""),
    Column("config", _HASH, nullable=False),  # blob: everything needed to run it again
    Column("status", String(16), nullable=False),  # running, or a Result's status, or unconfirmed
    Column("result", _HASH),
    Column("error", Text),
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    Column("elapsed", Float, nullable=False, default=0.0),  # seconds of work, all sittings together
    Column("owner", Text),  # JSON: host, boot, pid, when the process started
    Column("heartbeat", Float, nullable=False, default=0.0),
    Column("fence", Integer, nullable=False, default=0),  # grows by one at each change of owner
    Column("cancel", Boolean, nullable=False, default=False),
    Column("parent", String(40), ForeignKey("runs.id", ondelete="CASCADE")),
)

tasks = Table(
    "tasks",
    metadata,
    Column("run_id", String(40), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("task_id", String(200), primary_key=True),
    Column("position", Integer, nullable=False, default=0),
    Column("cluster", Text),
    Column("body", _HASH, nullable=False),
    Column("status", String(16), nullable=False, default="pending"),
    Column("result", _HASH),
)

calls = Table(
    "calls",
    metadata,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("run_id", String(40), ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("scope", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("kind", String(8), nullable=False),  # model, tool, write, input
    Column("name", Text, nullable=False),  # role of a model call, name of a tool or an input
    Column("model", Text, nullable=False, default=""),
    Column("digest", _HASH, nullable=False),  # of the request
    Column("state", String(8), nullable=False),  # done, failed; a write also sent
    Column("superseded", Boolean, nullable=False, default=False),
    Column("request", _HASH),  # blob: the request without its messages, or a tool's arguments
    Column("kept", Integer, nullable=False, default=0),
    Column("messages", Text, nullable=False, default="[]"),  # JSON list of message blobs
    Column("reply", _HASH),
    Column("origin", String(10), nullable=False, default="paid"),  # paid, inherited
    Column("prompt", Integer),
    Column("cached", Integer),
    Column("completion", Integer),
    Column("reasoning", Integer),
    Column("latent_steps", Integer, nullable=False, default=0),
    Column("money", Float),
    Column(
        "charged", Integer, nullable=False, default=0
    ),  # tokens counted against budgets: unknown usage at its reservation
    Column("charged_money", Float, nullable=False, default=0.0),
    Column("attempts", Integer, nullable=False, default=1),
    Column(
        "lost", Text, nullable=False, default="[]"
    ),  # JSON list of the usages of failed attempts, each with its money
    Column("seconds", Float, nullable=False, default=0.0),
    Column("created", Float, nullable=False),
    # One live answer for each place in a run; superseded ones may share it.
    Index(
        "ux_calls_place",
        "run_id",
        "scope",
        "ordinal",
        unique=True,
        sqlite_where=text("superseded = 0"),
        postgresql_where=text("NOT superseded"),
    ),
    sqlite_autoincrement=True,
)

events = Table(
    "events",
    metadata,
    Column("run_id", String(40), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("time", Float, nullable=False),
    Column("scope", Text, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("payload", Text, nullable=False),  # JSON, at most 4 kB, else {"blob": hash}
)

blobs = Table(
    "blobs",
    metadata,
    Column("hash", _HASH, primary_key=True),
    Column("size", Integer, nullable=False),  # uncompressed bytes
    Column("codec", String(8), nullable=False),  # raw, zlib
    Column("data", LargeBinary, nullable=False),
    Column("created", Float, nullable=False),
)

records = Table(
    "records",
    metadata,
    Column("namespace", String(200), primary_key=True),
    Column("key", _HASH, primary_key=True),
    Column("body", _HASH, nullable=False),
    Column("run_id", String(40), nullable=False),  # who computed it; outlives that run
    Column("created", Float, nullable=False),
)

scores = Table(
    "scores",
    metadata,
    Column("run_id", String(40), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("task_id", String(200), primary_key=True),
    Column("scorer", String(80), primary_key=True),
    Column("value", Float, nullable=False),
    Column("correct", Boolean),
    Column("details", Text, nullable=False, default="{}"),
)

# Lists show runs without a parent; a bench has thousands of children, which they would have to skip.
Index(
    "ix_runs_created",
    runs.c.created,
    sqlite_where=text("parent IS NULL"),
    postgresql_where=text("parent IS NULL"),
)
Index("ix_runs_parent", runs.c.parent, runs.c.status)
# A run's calls with the superseded ones among them: to resume, show and remove it.
Index("ix_calls_run_id", calls.c.run_id)
