"""What tools share in reading their arguments and making ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from motet.worlds.workbench.tables import Cell

# An argument: text as a rule; some agents write numbers. Nothing, and whatever is empty or zero, counts as missing.
Given: TypeAlias = str | int | float | None


def text(value: object) -> str:
    """``value``, which must be text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {type(value).__name__} {value!r}")
    return value


def lower(value: object) -> str:
    """``value`` in lower case. Raises TypeError for what is no text."""
    return text(value).lower()


def next_id(ids: Sequence[Cell], *, width: int) -> str:
    """One more than the greatest id, as text is ordered, filled with zeros to ``width``. Raises ValueError for an id that is no number."""
    return str(int(max(text(known) for known in ids)) + 1).zfill(width)
