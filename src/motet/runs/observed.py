"""What tools answered in a run so far, read back from its journal: for scorers that ask what an agent has seen.

The journal holds the answers of earlier sittings too, so a resumed run gives the same as one that was never interrupted.
"""

from __future__ import annotations

import json

import sqlalchemy as sa

from motet.runs.ledger import is_under
from motet.runs.run import Run
from motet.store.blobs import read_blob
from motet.store.schema import calls
from motet.tools.tool import Observation


async def observed(run: Run, tool: str, *, under: str = "") -> list[Observation]:
    """The observations of the reading tool called ``tool`` in the scopes at and below ``under``, by scope and in the order of the calls; failures left out."""

    def read(connection: sa.Connection) -> list[str]:
        rows = connection.execute(
            sa.select(calls.c.scope, calls.c.reply)
            .where(
                calls.c.run_id == run.id,
                calls.c.kind == "tool",
                calls.c.name == tool,
                calls.c.state == "done",
                sa.not_(calls.c.superseded),
            )
            .order_by(calls.c.scope, calls.c.ordinal)
        ).all()
        return [read_blob(connection, row.reply).decode() for row in rows if is_under(row.scope, under)]

    bodies = await run.store.read(read)
    found = [Observation.model_validate(json.loads(body)) for body in bodies]
    return [observation for observation in found if not observation.error]
