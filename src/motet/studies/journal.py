"""What studies read in the journals of teams: who called what in which step, and what came from outside."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from pydantic import JsonValue

from motet.fugue.note import Note
from motet.store.schema import calls
from motet.store.store import read_blob

_MANY = 500  # runs asked for at a time


class Made(NamedTuple):
    """A tool call of a peer: in which of its steps, with what, and whether it failed. ``page`` is what it opened, by its address, or empty; ``place`` its place in the order of the run."""

    place: int
    peer: str
    step: int
    tool: str
    arguments: dict[str, JsonValue]
    error: bool
    page: str = ""


class Story(NamedTuple):
    """What happened in one team: its calls and its notes, each with its place in the order of the run."""

    calls: tuple[Made, ...]
    notes: tuple[tuple[int, Note], ...]


def read_stories(connection: sa.Connection, run_ids: Sequence[str]) -> dict[str, Story]:
    """The stories of teams that had one task each."""
    made: dict[str, list[Made]] = defaultdict(list)
    steps: dict[tuple[str, str], int] = defaultdict(int)
    for some in _parts(run_ids):
        rows = connection.execute(
            sa.select(
                calls.c.id, calls.c.run_id, calls.c.scope, calls.c.kind, calls.c.name, calls.c.request, calls.c.reply
            )
            .where(calls.c.run_id.in_(some), calls.c.kind.in_(("model", "tool")), *_FOLLOWED)
            .order_by(calls.c.run_id, calls.c.scope, calls.c.ordinal)
        ).all()
        for row in rows:
            at = (row.run_id, row.scope)
            if row.kind == "model":
                steps[at] += 1
                continue
            assert row.request is not None
            arguments = json.loads(read_blob(connection, row.request)).get("arguments", {})
            peer = row.scope.rpartition("/")[2]
            told = json.loads(read_blob(connection, row.reply))
            error = bool(told.get("error", False))
            page = "" if error else _page(arguments, told.get("data"))
            made[row.run_id].append(Made(row.id, peer, steps[at], row.name, arguments, error, page))
    notes: dict[str, list[tuple[int, Note]]] = defaultdict(list)
    for run_id in run_ids:
        for place, value in read_inputs(connection, [run_id], "note "):
            if isinstance(value, dict) and "note" in value:
                notes[run_id].append((place, Note.model_validate(value["note"])))
    return {
        run_id: Story(tuple(sorted(made[run_id], key=lambda call: call.place)), tuple(notes[run_id]))
        for run_id in run_ids
    }


def read_inputs(connection: sa.Connection, run_ids: Sequence[str], prefix: str) -> list[tuple[int, JsonValue]]:
    """The inputs of runs whose name begins with ``prefix``, in their order: (place, value)."""
    found: list[tuple[int, JsonValue]] = []
    for some in _parts(run_ids):
        rows = connection.execute(
            sa.select(calls.c.id, calls.c.reply)
            .where(
                calls.c.run_id.in_(some),
                calls.c.kind == "input",
                calls.c.name.startswith(prefix, autoescape=True),
                *_FOLLOWED,
            )
            .order_by(calls.c.id)
        ).all()
        found += [(row.id, json.loads(read_blob(connection, row.reply)).get("value")) for row in rows]
    return found


def pages_of(story: Story, note: Note) -> set[str]:
    """The pages that were opened in the steps of ``note``."""
    return {
        call.page
        for call in story.calls
        if call.peer == note.peer and note.first <= call.step <= note.last and call.page
    }


def _page(arguments: Mapping[str, JsonValue], data: object) -> str:
    known = data.get("address") if isinstance(data, dict) else None
    given = known or arguments.get("address") or arguments.get("url")
    return given if isinstance(given, str) else ""


_FOLLOWED = (calls.c.state == "done", sa.not_(calls.c.superseded))


def _parts(run_ids: Sequence[str]) -> list[Sequence[str]]:
    return [run_ids[start : start + _MANY] for start in range(0, len(run_ids), _MANY)]
