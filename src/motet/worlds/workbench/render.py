"""What a tool returned, as an agent reads it.

- ``2024``: text as it is, anything else as Python prints it: records with single quotes, ``nan`` for an empty cell, addresses as a numpy array of objects.
- ``2026``: text as it is, anything else as JSON, with ``null`` for an empty cell.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from motet.worlds.workbench.tables import Cell, Dialect, Record, Timestamp

_WIDTH = 75  # where numpy breaks a line


@dataclass(frozen=True)
class Addresses:
    """What the directory found."""

    found: tuple[str, ...]


Output: TypeAlias = str | Record | dict[str, int] | dict[str, float] | list[Record] | Addresses


def render(output: Output, *, dialect: Dialect) -> str:
    """``output`` as text."""
    if isinstance(output, str):
        return output
    return _python(output) if dialect == "2024" else _json(output)


def _json(output: Output) -> str:
    plain = list(output.found) if isinstance(output, Addresses) else output
    return json.dumps(plain, ensure_ascii=False, default=_moment)


def _moment(value: object) -> str:
    assert isinstance(value, Timestamp)
    return value.text


def _python(output: Output) -> str:
    if isinstance(output, Addresses):
        return _array(output.found)
    if isinstance(output, list):
        return f"[{', '.join(_record(record) for record in output)}]"
    assert isinstance(output, dict)
    return _record(output)


def _record(record: Record | dict[str, int] | dict[str, float]) -> str:
    return "{" + ", ".join(f"{name!r}: {_cell(cell)}" for name, cell in record.items()) + "}"


def _cell(cell: Cell) -> str:
    return "nan" if cell is None else repr(cell)


def _array(items: tuple[str, ...]) -> str:
    """``items`` as numpy prints an array of objects: lines broken before the width, and the type on a line of its own where it does not fit."""
    indent = " " * len("array([")
    lines, line = [], indent
    for item in items:
        word = repr(item)
        # The bracket, or comma, that follows the word and the comma that follows the array belong to the line.
        if len(line) + len(word) > _WIDTH - 2 and len(line) > len(indent):
            lines.append(line.rstrip())
            line = indent
        line += f"{word}, "
    text = "array([" + "\n".join([*lines, line.removesuffix(", ")])[len(indent) :] + "],"
    last = len(text) - (text.rfind("\n") + 1)
    end = "dtype=object)"
    return f"{text}\n{' ' * len('array(')}{end}" if last + 1 + len(end) > _WIDTH else f"{text} {end}"
