"""How WorkBench judges a run: its calls are run again from the pristine tables, and the tables that result are compared with those of the right calls.

- ``correct``: no error ended the run and all five tables are equal. Text is compared in lower case but for status, list and board; what is no text counts as empty.
  2024: values, order of rows, labels and columns. 2026: rows in any order, without labels; and every call must have been one that can be run.
- ``unwanted_side_effects``: not the right state, and not the pristine one either. 2026: plots do not count.
- ``exact_match``: the writing calls are the right ones, as text, in any order. A diagnostic.

Calls that only read never matter, except in 2026 when they cannot be run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from motet.worlds.workbench.actions import run_lenient, run_strict, tool_of
from motet.worlds.workbench.catalogue import catalogue
from motet.worlds.workbench.tables import Cell, Row, State, Table

_AS_WRITTEN = frozenset({"status", "list_name", "board"})
LAST_DAY, DAY_AFTER = "2023-11-29", "2023-11-30"


class Verdict(NamedTuple):
    """What the benchmark says of one run."""

    correct: bool
    unwanted_side_effects: bool
    exact_match: bool


class Judged(NamedTuple):
    """A verdict with the state that the calls led to."""

    verdict: Verdict
    state: State


def judge(
    pristine: State, predicted: Sequence[str], right: Sequence[str], *, error: bool = False, plot_end_date: bool = False
) -> Judged:
    """Judge ``predicted`` calls against the ``right`` ones, in the dialect of ``pristine``.

    ``plot_end_date`` takes a plot up to today for one up to yesterday, the last day with data (a later rule of the 2026 scorer).
    """
    loose = pristine.dialect == "2026"
    ours, theirs = pristine.copy(), pristine.copy()
    if loose:
        sound = run_strict(ours, predicted, adjust=_end_yesterday if plot_end_date else _as_given)
        run_strict(theirs, right, adjust=_end_yesterday if plot_end_date else _as_given)
    else:
        sound = True
        run_lenient(ours, predicted)
        run_lenient(theirs, right)
    same = _same_any_order if loose else _same
    state_correct = sound and all(same(ours.written[name], theirs.written[name]) for name in ours.written)
    watched = [name for name in ours.written if not (loose and name == "plots")]
    before, after = pristine.written, ours.written
    touched = any(_changed(before[name], after[name], loose=loose) for name in watched)
    exact = _writes(predicted) == _writes(right)
    return Judged(Verdict(state_correct and not error, touched and not state_correct, exact), ours)


def _writes(actions: Sequence[str]) -> Counter[str]:
    known = catalogue()
    return Counter(
        action.replace("\n", "\\n").lower()
        for action in actions
        if (entry := known.get(tool_of(action))) is not None and entry.effect == "write"
    )


def _same(one: Table, other: Table) -> bool:
    """Equal in values, order, labels and columns."""
    if one is other:
        return True
    if one.columns != other.columns or one.labels != other.labels:
        return False
    pairs = zip(one.rows, other.rows, strict=True)
    return all(mine is yours or _plain(one, mine) == _plain(other, yours) for mine, yours in pairs)


def _same_any_order(one: Table, other: Table) -> bool:
    """Equal as bags of rows."""
    if one is other:
        return True
    if one.columns != other.columns or len(one) != len(other):
        return False
    return Counter(_plain(one, row) for row in one.rows) == Counter(_plain(other, row) for row in other.rows)


def _plain(table: Table, row: Row) -> Row:
    """``row`` as it is compared."""
    return tuple(_compared(column, cell) for column, cell in zip(table.columns, row, strict=True))


def _compared(column: str, cell: Cell) -> Cell:
    if column in _AS_WRITTEN:
        return cell
    return cell.lower() if isinstance(cell, str) else None


def _changed(before: Table, after: Table, *, loose: bool) -> bool:
    if after is before:
        return False
    if loose:
        return before.columns != after.columns or Counter(before.rows) != Counter(after.rows)
    return before != after


def _as_given(tool: str, arguments: dict[str, str]) -> None:
    """Change nothing."""


def _end_yesterday(tool: str, arguments: dict[str, str]) -> None:
    if tool == "analytics.create_plot" and arguments.get("time_max") == DAY_AFTER:
        arguments["time_max"] = LAST_DAY
