"""Dates and times as agents write them."""

from __future__ import annotations

import re
from datetime import datetime

# The benchmark's day: every task takes place now.
NOW = "2023-11-30 00:00:00"

_LOOSE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{1,2})(?::(\d{1,2}))?)?")


def moment(text: object) -> datetime:
    """Read an ISO 8601 date or time; the digits of month, day and hour may be single.

    The benchmark's own reader takes many more forms (month names, American order). No recorded call uses one; here such a text raises
    ValueError, and anything but text TypeError.
    """
    if not isinstance(text, str):
        raise TypeError(f"a date must be text such as '2023-11-30' or '2023-11-30 09:00:00', not {type(text).__name__}")
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        parts = _LOOSE.fullmatch(text.strip())
        if parts is None:
            raise ValueError(f"{text[:60]!r} is no date such as '2023-11-30' or '2023-11-30 09:00:00'") from None
        return datetime(*(int(part) for part in parts.groups(default="0")))  # type: ignore[arg-type]
