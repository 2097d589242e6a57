"""How Alembic runs Motet's migrations: on the connection, and in the transaction, that ``motet.store.migrate`` holds."""

from __future__ import annotations

from alembic import context

from motet.store.migrate import VERSION_TABLE
from motet.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite cannot alter a table in place; batch mode copies it
)
context.run_migrations()
