"""Days and times in plain English, as office tasks write them, resolved against the day that the task says it is."""

from __future__ import annotations

import re
from datetime import date, timedelta

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
OPENS, CLOSES = 9, 18  # the office's hours; "at 3" is in the afternoon

# A day as text: 2023-10-10, October 10, Oct 10th, 10 October, today, tomorrow, yesterday.
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
DAY = rf"(?:\d{{4}}-\d\d-\d\d|(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})|today|tomorrow|yesterday)"
# A day to come: one of the above or a weekday, "next" or not.
COMING = rf"(?:(?:next |this |on )?(?:{'|'.join(WEEKDAYS)})|{DAY})"
TIME = r"\d{1,2}(?::\d\d)?(?: ?[ap]\.?m\b\.?)?"

_TODAY = re.compile(r"\b(\d{4}-\d\d-\d\d)\b")
_NAMED = re.compile(rf"(?:(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?({_MONTH})\.?(?: (\d{{1,2}}))?", re.IGNORECASE)


def today_of(text: str) -> date | None:
    """The day that a task says it is: the first date in ISO form."""
    found = _TODAY.search(text)
    return date.fromisoformat(found[1]) if found else None


def day_of(text: str, *, today: date, past: bool = False) -> date | None:
    """The day that ``text`` names; without a year the one nearest to ``today``, and not after it if ``past``."""
    text = text.strip().lower()
    words = {"today": 0, "tomorrow": 1, "yesterday": -1}
    if text in words:
        return today + timedelta(days=words[text])
    if _TODAY.fullmatch(text):
        return date.fromisoformat(text)
    found = _NAMED.search(text)
    number = (found[1] or found[3]) if found else None
    if found is None or number is None:
        return None
    month = next(index for index, name in enumerate(MONTHS, 1) if name.startswith(found[2].lower()[:3]))
    days = []
    for year in (today.year - 1, today.year, today.year + 1):
        try:
            days.append(date(year, month, int(number)))
        except ValueError:
            continue
    fit = [day for day in days if not past or day <= today]
    return min(fit, key=lambda day: abs(day - today), default=None)


def coming(text: str, *, today: date) -> date | None:
    """The day to come that ``text`` names: "Friday" is the first one after today, "next Friday" that of the week after this one."""
    text = text.strip().lower()
    name = text.split()[-1]
    if name not in WEEKDAYS:
        return day_of(text, today=today)
    weekday = WEEKDAYS.index(name)
    if text.startswith("next"):
        return today - timedelta(days=today.weekday()) + timedelta(days=7 + weekday)
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def clock(text: str) -> str:
    """``10:30``, ``3`` or ``2pm`` as HH:MM:SS. Without am or pm the hour falls in the office's hours."""
    found = re.match(r"(\d{1,2})(?::(\d\d))? ?([ap])?", text.strip().lower())
    if found is None:
        return ""
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if (half == "p" and hour < 12) or (half is None and hour < OPENS):
        hour += 12
    elif half == "a" and hour == 12:
        hour = 0
    return f"{hour:02d}:{minute:02d}:00"
