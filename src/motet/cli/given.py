"""What a user gives to a command besides the configuration: the task, tools, budgets and a price."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from motet.errors import InputError
from motet.runs.budget import Budget


def read_task(given: str) -> str:
    """The task's text: ``given`` itself, standard input for ``-``, or a file for ``@file``. Raises InputError."""
    if given == "-":
        origin, text = "standard input", _decoded(sys.stdin.buffer.read(), "standard input")
    elif given.startswith("@"):
        path = Path(given[1:])
        origin = f"task file {path}"
        try:
            text = _decoded(path.read_bytes(), origin)
        except OSError as error:
            raise InputError(f"{origin} cannot be read: {error.strerror}") from None
    else:
        # In a locale that knows ASCII only, the rest of UTF-8 arrives as lone surrogates.
        origin, text = "the task", _decoded(given.encode("utf-8", "surrogateescape"), "the task")
    if not text.strip():
        raise InputError(f"{origin} is empty: give the task as text, - for standard input, or @FILE")
    return text.strip() if given in ("-",) or given.startswith("@") else text


def split_names(values: Sequence[str]) -> list[str]:
    """Names that were given with commas, repeated options, or both."""
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def numbers(values: Sequence[str], *, flag: str) -> list[int]:
    """Whole numbers above zero that were given as names are. Raises InputError."""
    found = []
    for name in split_names(values):
        if not (name.isascii() and name.isdigit() and int(name) > 0):
            raise InputError(f"{flag} {name}: a whole number above zero is wanted, or several with commas between")
        found.append(int(name))
    return found


def budget_from(
    *,
    tokens: int | None,
    money: float | None,
    calls: int | None,
    seconds: float | None,
    base: Budget | None = None,
    flag: str = "--budget",
) -> Budget | None:
    """A budget from its flags ``--budget-…``, on top of ``base``; ``None`` when nothing is limited. Raises InputError."""
    limits: dict[str, Any] = {"tokens": tokens, "money": money, "calls": calls, "seconds": seconds}
    for name, value in limits.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(f"{flag}-{name} {value:g} is no limit: give a number above zero")
    given = {name: value for name, value in limits.items() if value is not None}
    if not given:
        return base
    return (base or Budget()).model_copy(update=given)


def _decoded(data: bytes, origin: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{origin} is no UTF-8 text (byte {error.start})") from None
