"""Which rows name which blobs. A blob's content never names another one, so these columns are all that keeps blobs alive."""

from __future__ import annotations

# table, its column for the run, the column that names a blob
NAMING_COLUMNS = (
    ("runs", "id", "config"),
    ("runs", "id", "result"),
    ("tasks", "run_id", "body"),
    ("tasks", "run_id", "result"),
    ("calls", "run_id", "request"),
    ("calls", "run_id", "reply"),
    ("records", "run_id", "body"),
)

# A damaged list of messages names nothing; `check` is what reports it.
_SQLITE = (
    "SELECT each.value, calls.run_id FROM calls, "
    "json_each(CASE WHEN json_valid(calls.messages) THEN calls.messages ELSE '[]' END) AS each",
    "SELECT json_extract(payload, '$.blob'), run_id FROM events WHERE payload LIKE '{\"blob\"%' AND json_valid(payload)",
)
_POSTGRESQL = (
    "SELECT each.value, calls.run_id FROM calls "
    "CROSS JOIN LATERAL jsonb_array_elements_text(CAST(calls.messages AS jsonb)) AS each(value)",
    "SELECT CAST(payload AS jsonb) ->> 'blob', run_id FROM events WHERE payload LIKE '{\"blob\"%'",
)


def references(dialect: str) -> str:
    """A query, without parameters, for ``hash`` and ``run_id`` of every reference to a blob; a hash may be null or repeat."""
    columns = [f"SELECT {column} AS hash, {run} AS run_id FROM {table}" for table, run, column in NAMING_COLUMNS]  # noqa: S608
    return " UNION ALL ".join([*columns, *(_POSTGRESQL if dialect == "postgresql" else _SQLITE)])
