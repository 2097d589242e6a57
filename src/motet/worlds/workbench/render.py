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
    start, end = "array([", ", dtype=object)"
    if not items:
        return f"{start}]{end}"
    lines, line = [], start
    for index, item in enumerate(items):
        last = index == len(items) - 1
        word = repr(item)
        # The last word needs room for the brackets that close the array.
        if len(line) + len(word) + (1 if last else 0) >= _WIDTH and len(line) > len(start):
            lines.append(line.rstrip())
            line = " " * len(start)
        line += word if last else f"{word}, "
    text = "\n".join([*lines, f"{line}]"])
    tail = len(text) - (text.rfind("\n") + 1)
    return f"{text},\n      dtype=object)" if tail + len(end) > _WIDTH else text + end
