"""The tables of WorkBench: immutable, so that a copy of a world costs nothing, and labelled as the benchmark's own are.

A table has rows in an order, a label for each row, and named columns. Labels matter: the benchmark compares them, an appended event carries the label 0, and
a sent e-mail is written at the label that equals the number of rows, over whatever is there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

Dialect: TypeAlias = Literal["2024", "2026"]


@dataclass(frozen=True, order=True, slots=True)
class Timestamp:
    """A moment that a tool wrote. It is no text: ordering it against text raises TypeError, as it does in the benchmark."""

    text: str

    def __repr__(self) -> str:
        return f"Timestamp({self.text!r})"


# None stands for an empty cell. Numbers come only from agents that do not write them as text.
Cell: TypeAlias = str | int | float | Timestamp | None
Row: TypeAlias = tuple[Cell, ...]
Record: TypeAlias = dict[str, Cell]


@dataclass(frozen=True)
class Table:
    """Rows with labels. Every change returns a new table that shares the rows it did not touch."""

    columns: tuple[str, ...]
    labels: tuple[int, ...] = ()
    rows: tuple[Row, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of columns, labels and cells."""
        text = json.dumps([self.columns, self.labels, self.rows], default=_moment, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def column(self, name: str) -> list[Cell]:
        """The cells of one column. Raises ValueError for an unknown one."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def first(self, column: str, value: object) -> Record | None:
        """The first row whose ``column`` is ``value``."""
        index = self.columns.index(column)
        return next((self.record(row) for row in self.rows if row[index] == value), None)

    def record(self, row: Row) -> Record:
        """``row`` by column names."""
        return dict(zip(self.columns, row, strict=True))

    def where(self, column: str, holds: Callable[[Cell], bool]) -> Table:
        """The rows whose ``column`` holds."""
        index = self.columns.index(column)
        return self._kept(holds(row[index]) for row in self.rows)

    def without(self, column: str, value: object) -> Table:
        """The table without the rows whose ``column`` is ``value``; the others keep their labels."""
        return self.where(column, lambda cell: cell != value)

    def set(self, column: str, value: object, *, field: str, new: Cell) -> Table:
        """Write ``new`` into ``field`` of every row whose ``column`` is ``value``. An unknown field becomes a new column, empty elsewhere."""
        table = self if field in self.columns else self._widened(field)
        key, changed = table.columns.index(column), table.columns.index(field)
        rows = tuple((*row[:changed], new, *row[changed + 1 :]) if row[key] == value else row for row in table.rows)
        return replace(table, rows=rows)

    def append(self, record: Mapping[str, Cell], *, label: int) -> Table:
        """One more row, at the end, with ``label``."""
        return replace(self, labels=(*self.labels, label), rows=(*self.rows, self._row(record)))

    def put(self, record: Mapping[str, Cell], *, label: int) -> Table:
        """Write a row at ``label``: over the row that has it, else at the end."""
        if label not in self.labels:
            return self.append(record, label=label)
        index = self.labels.index(label)
        return replace(self, rows=(*self.rows[:index], self._row(record), *self.rows[index + 1 :]))

    def relabelled(self) -> Table:
        """The same rows with the labels 0, 1, 2, …"""
        return replace(self, labels=tuple(range(len(self.rows))))

    def _row(self, record: Mapping[str, Cell]) -> Row:
        return tuple(record.get(column) for column in self.columns)

    def _kept(self, keep: Iterable[bool]) -> Table:
        chosen = [pair for pair, kept in zip(zip(self.labels, self.rows, strict=True), keep, strict=True) if kept]
        return replace(self, labels=tuple(label for label, _ in chosen), rows=tuple(row for _, row in chosen))

    def _widened(self, field: str) -> Table:
        return replace(self, columns=(*self.columns, field), rows=tuple((*row, None) for row in self.rows))


def table_of(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """A table with the labels 0, 1, 2, …"""
    made = tuple(tuple(row) for row in rows)
    return Table(tuple(columns), tuple(range(len(made))), made)


@dataclass
class State:
    """Everything the tools read and write. A change replaces a table; the tables themselves never change."""

    calendar: Table
    email: Table
    plots: Table
    projects: Table
    crm: Table
    analytics: Table
    directory: tuple[str, ...]
    dialect: Dialect = "2024"

    @property
    def written(self) -> dict[str, Table]:
        """The five tables that tools may change, by name."""
        return {
            "calendar": self.calendar,
            "email": self.email,
            "plots": self.plots,
            "projects": self.projects,
            "crm": self.crm,
        }

    def copy(self) -> State:
        """A state of its own that shares every table with this one until it is changed."""
        return replace(self)

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of every table, by name."""
        tables = {**self.written, "analytics": self.analytics}
        directory = hashlib.sha256("\n".join(self.directory).encode()).hexdigest()
        return {**{name: table.digest for name, table in tables.items()}, "directory": directory}


def _moment(value: object) -> dict[str, str]:
    assert isinstance(value, Timestamp)
    return {"timestamp": value.text}
