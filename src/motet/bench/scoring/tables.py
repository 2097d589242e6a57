"""Tables as answers: read out of Markdown, matched with the right table by their keys, and measured by item, by row and as a whole.

Source: WideSearch (Wong et al., arXiv 2508.07999, section 3.3). An *item* is a cell. A row that is given is the row of the right table with the same key, whose key cells then count as right; its other cells
are compared each by its column's rule. A row is right if all its items are, the table if all rows are and there are no others.

No order matters, of rows or of columns. Rows that repeat each other are one. Rows that share a key and differ are one row, of which an item is right only if it is right in all of them, so that nobody gains by
naming several candidates; the published code keeps the first.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Key: TypeAlias = tuple[str, ...]

_LONGEST = 2_000_000  # characters of an answer
_RULE = re.compile(r":?-+:?")
_LINE = re.compile(r"\r\n|\r|\n")
_ESCAPED = re.compile(r"\\\|")


class Table(NamedTuple):
    """Columns by name and rows of as many cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Figures:
    """Precision, recall and F1 by item and by row, and whether the whole table is right."""

    item_precision: float = 0.0
    item_recall: float = 0.0
    item_f1: float = 0.0
    row_precision: float = 0.0
    row_recall: float = 0.0
    row_f1: float = 0.0
    success: bool = False


def read_tables(text: str) -> list[Table]:
    """The Markdown tables in ``text``, in their order, whether fenced or not and with or without pipes at their ends.

    A table is lines with a pipe, of which the first is the header, or the one above a line of dashes. A short row is filled up with empty cells and a long one is cut, as renderers of
    Markdown do. Never raises.
    """
    tables: list[Table] = []
    block: list[list[str]] = []
    for line in (*_LINE.split(text[:_LONGEST]), ""):
        cells = _cells(line)
        if cells:
            block.append(cells)
            continue
        if len(block) > 1:
            tables.append(_table(block))
        block = []
    return tables


def column_name(text: str) -> str:
    """A column's name as it is compared: without case, spaces and emphasis."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().replace("*", "").replace("`", "").split())


def pick_table(tables: Sequence[Table], columns: Sequence[str]) -> Table | None:
    """The table that has most of ``columns``, of equals the last, which is where an answer ends."""
    wanted = set(columns)
    best: Table | None = None
    most = -1
    for table in tables:
        found = len(wanted & {column_name(name) for name in table.columns})
        if found >= most:
            best, most = table, found
    return best


def arrange(table: Table, columns: Sequence[str], *, renamed: Mapping[str, str] | None = None) -> Table | str:
    """``table`` with exactly ``columns``, in their order; else what is wrong with its columns. ``renamed`` says which of its own stand for which."""
    names = [column_name(name) for name in table.columns]
    names = [(renamed or {}).get(name, name) for name in names]
    missing = [name for name in columns if name not in names]
    others = [name for name in names if name not in columns]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if missing or others or twice:
        told = [
            f"{what} {', '.join(found)[:300]}"
            for what, found in (("no column", missing), ("unasked column", others), ("twice", twice))
            if found
        ]
        return "; ".join(told)
    places = [names.index(name) for name in columns]
    return Table(tuple(columns), tuple(tuple(row[place] for place in places) for row in table.rows))


@dataclass(frozen=True)
class Matching:
    """Which given rows stand for which right rows, both by their places; ``others`` is how many keys were given that are none of the right ones."""

    pairs: Mapping[int, tuple[int, ...]]
    right_rows: int
    others: int


def match_rows(right: Sequence[Key], given: Sequence[Key]) -> Matching:
    """The matching of rows by their keys. Of right rows with one key the first counts. A key that says nothing at all is no right one."""
    places: dict[Key, int] = {}
    for place, key in enumerate(right):
        places.setdefault(key, place)
    pairs: dict[int, list[int]] = {}
    others: set[Key] = set()
    for place, key in enumerate(given):
        if key in places and any(key):
            pairs.setdefault(places[key], []).append(place)
        else:
            others.add(key)
    return Matching({place: tuple(rows) for place, rows in pairs.items()}, len(places), len(others))


def figures(matching: Matching, right_items: Mapping[int, int], *, columns: int) -> Figures:
    """The figures of a table of ``columns`` columns, where ``right_items`` says how many items of each matched right row are right, its key's among them."""
    items = sum(right_items.values())
    rows = sum(count == columns for count in right_items.values())
    given_rows, right_rows = len(matching.pairs) + matching.others, matching.right_rows
    item_precision, item_recall = _share(items, given_rows * columns), _share(items, right_rows * columns)
    row_precision, row_recall = _share(rows, given_rows), _share(rows, right_rows)
    return Figures(
        item_precision=item_precision,
        item_recall=item_recall,
        item_f1=_f1(item_precision, item_recall),
        row_precision=row_precision,
        row_recall=row_recall,
        row_f1=_f1(row_precision, row_recall),
        success=rows == given_rows == right_rows > 0,
    )


def _table(block: Sequence[Sequence[str]]) -> Table:
    """The table in consecutive lines of cells, two or more."""
    rule = next(
        (
            place
            for place, cells in enumerate(block)
            if place and len(cells) == len(block[place - 1]) and all(map(_RULE.fullmatch, cells))
        ),
        None,
    )
    header, rows = (block[0], block[1:]) if rule is None else (block[rule - 1], block[rule + 1 :])
    width = len(header)
    return Table(tuple(header), tuple(tuple((*cells, *[""] * width)[:width]) for cells in rows))


def _cells(line: str) -> list[str]:
    """The cells of a line, none where it has no pipe. An escaped pipe is a character like any other."""
    line = line.strip().lstrip(">").strip()
    if "|" not in _ESCAPED.sub("", line):
        return []
    parts = re.split(r"(?<!\\)\|", line)
    if not parts[0].strip():
        parts = parts[1:]
    if parts and not parts[-1].strip():
        parts = parts[:-1]
    return [_ESCAPED.sub("|", part).strip() for part in parts]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0
