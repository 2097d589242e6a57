"""Rows of an office's tables as text: read from what tools return, written into reports, and read from reports again."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any, TypeAlias

from motet.models.scripted_policies.office.asked import (
    ANALYTICS,
    CALENDAR,
    CUSTOMERS,
    DIRECTORY,
    EMAIL,
    PROJECTS,
    Find,
)

Row: TypeAlias = Mapping[str, str]

IDS = {CALENDAR: "event_id", EMAIL: "email_id", PROJECTS: "task_id", CUSTOMERS: "customer_id"}
TIMES = {CALENDAR: "event_start", EMAIL: "sent_datetime"}
PEOPLE = {
    CALENDAR: "participant_email",
    EMAIL: "sender",
    PROJECTS: "assigned_to_email",
    CUSTOMERS: "assigned_to_email",
}
_COLUMNS = {
    CALENDAR: ("event_id", "event_name", "participant_email", "event_start", "duration"),
    EMAIL: ("email_id", "sender", "subject", "sent_datetime"),
    PROJECTS: ("task_id", "task_name", "assigned_to_email", "list_name", "board"),
    CUSTOMERS: ("customer_id", "customer_name", "assigned_to_email", "status", "product_interest"),
}
_NOUNS = {CALENDAR: "events", EMAIL: "e-mails", PROJECTS: "tasks", CUSTOMERS: "customers"}
PAGE = 5  # rows that a search shows at most

_KEYS = sorted({column for columns in _COLUMNS.values() for column in columns})
_CELL = re.compile(rf"(?:^|; )({'|'.join(_KEYS)}) (.*?)(?=; (?:{'|'.join(_KEYS)}) |$)")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_DAY = r"\d{4}-\d\d-\d\d"
_HEAD = re.compile(
    rf"^({'|'.join((*_NOUNS, ANALYTICS, DIRECTORY))}): (.*)$",
)
_FOUND = re.compile(r"(\d+) found(, there may be more)?")
_WINDOW = re.compile(rf"from ({_DAY})(?: to ({_DAY}))?")
_READING = re.compile(rf"(on|least|most) (-?\d+(?:\.\d+)?) on ({_DAY})|({_DAY}) (-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Section:
    """What one look-up found: ``rows`` of a table, an ``address``, or a metric's ``series`` (in a report only the telling days of it). ``cut`` says that there may be more."""

    find: Find
    rows: tuple[Row, ...] = ()
    cut: bool = False
    addresses: tuple[str, ...] = ()
    series: Mapping[str, float] = field(default_factory=dict)


@lru_cache(maxsize=4096)
def read_rows(text: str) -> tuple[Row, ...]:
    """The records in what a search returned, with text cells; none where it found nothing or failed."""
    value = _value(text)
    if not isinstance(value, list):
        return ()
    return tuple(
        {_column(str(name)): str(cell) for name, cell in row.items() if cell is not None}
        for row in value
        if isinstance(row, dict)
    )


@lru_cache(maxsize=4096)
def read_series(text: str) -> Mapping[str, float]:
    """A metric by day, as the analytics tools return it."""
    value = _value(text)
    if not isinstance(value, dict):
        return {}
    return {str(day): float(number) for day, number in value.items() if isinstance(number, int | float)}


def was_cut(text: str) -> bool:
    """Whether whoever passed a tool's answer on has cut it."""
    return text.rstrip().endswith("(cut)")


def read_addresses(text: str) -> tuple[str, ...]:
    """The e-mail addresses in a text, in order."""
    return tuple(dict.fromkeys(address.rstrip(".") for address in _ADDRESS.findall(text)))


def write_section(section: Section, *, ids: bool = True) -> str:
    """A section of a report; ``ids=False`` leaves the ids of the rows out."""
    find = section.find
    domain = find.domain
    if domain == DIRECTORY:
        known = ", ".join(section.addresses) or "none found"
        return f"{domain}: the address of {find.person}: {known}"
    if domain == ANALYTICS:
        return f"{domain}: {find.metric} {_window(find)}: {_telling(section.series)}"
    more = ", there may be more" if section.cut else ""
    about = [f"with {find.person}"] if find.person else []
    about += [f"about '{find.words}'"] if find.words else []
    about += [_window(find)] if find.start else []
    about += [f"{column} {value}" for column, value in find.where]
    lines = [f"{domain}: {_NOUNS[domain]} {', '.join(about)}: {len(section.rows)} found{more}"]
    for row in section.rows:
        cells = [(column, row[column]) for column in _COLUMNS[domain] if column in row]
        lines.append("- " + "; ".join(f"{column} {cell}" for column, cell in cells if ids or column != IDS[domain]))
    return "\n".join(lines)


@lru_cache(maxsize=4096)
def read_sections(text: str) -> tuple[Section, ...]:
    """The sections of a report, or of several one after the other."""
    found: list[Section] = []
    rows: list[Row] = []
    for line in text.splitlines():
        head = _HEAD.match(line.strip())
        if head:
            found.append(_section(head[1], head[2]))
            rows = []
        elif found and line.startswith("- "):
            row = dict(_CELL.findall(line[2:].strip()))
            if row:
                rows.append(row)
                last = found[-1]
                found[-1] = Section(last.find, tuple(rows), last.cut)
    return tuple(found)


def _section(domain: str, text: str) -> Section:
    if domain == DIRECTORY:
        who = re.search(r"the address of (\S+):", text)
        return Section(Find(domain, person=who[1] if who else ""), addresses=read_addresses(text))
    window = _WINDOW.search(text)
    start = date.fromisoformat(window[1]) if window else None
    end = date.fromisoformat(window[2]) if window and window[2] else None
    if domain == ANALYTICS:
        metric = text.split(" ", 1)[0]
        series = {match[3] or match[4]: float(match[2] or match[5]) for match in _READING.finditer(text)}
        return Section(Find(domain, metric=metric, start=start, end=end), series=series)
    person = re.search(r"\bwith (\w[\w-]*)", text)
    count = _FOUND.search(text)
    find = Find(domain, person=person[1] if person else "", start=start, end=end)
    return Section(find, cut=bool(count and count[2]))


def first_name(address: str) -> str:
    """``raj`` of ``raj.patel@atlas.com``."""
    return re.split(r"[.@]", address, maxsplit=1)[0].lower()


def fits(find: Find, row: Row) -> bool:
    """Whether a row is one of those that ``find`` means."""
    domain = find.domain
    if find.person and first_name(row.get(PEOPLE[domain], "")) != find.person:
        return False
    if find.words and find.words.lower() not in row.get("subject", "").lower():
        return False
    day = row.get(TIMES.get(domain, ""), "")[:10]
    if (find.start and day < find.start.isoformat()) or (find.end and day > find.end.isoformat()):
        return False
    return all(row.get(column, "") == value for column, value in find.where)


def joined(rows: Iterable[Row], *, domain: str) -> tuple[Row, ...]:
    """Rows without repeats, in order of time where they have one."""
    key, time = IDS[domain], TIMES.get(domain)
    unique: dict[str, Row] = {}
    for row in rows:
        unique.setdefault(row.get(key) or json.dumps(dict(row)), row)
    return tuple(sorted(unique.values(), key=lambda row: row.get(time, ""))) if time else tuple(unique.values())


def _column(name: str) -> str:
    return "sender" if name == "sender/recipient" else name


def _window(find: Find) -> str:
    if find.start is None:
        return ""
    return f"from {find.start}" + (f" to {find.end}" if find.end else "")


def _telling(series: Mapping[str, float]) -> str:
    """The days of a series that can decide anything: the first, the last, the least, the most."""
    if not series:
        return "no figures"
    days = sorted(series)
    least, most = min(days, key=series.__getitem__), max(days, key=series.__getitem__)
    count = f"{len(days)} day{'s' if len(days) > 1 else ''}"
    ends = "; ".join(f"{day} {series[day]:.10g}" for day in dict.fromkeys((days[0], days[-1])))
    return f"{ends}; least {series[least]:.10g} on {least}; most {series[most]:.10g} on {most}; {count}"


def _value(text: str) -> Any:
    """A tool's answer as a value, JSON or Python as it may be; ``None`` where it is plain words. Of a list that was cut, what is whole."""
    if text[:1] not in "[{":
        return None
    if was_cut(text):
        text = text[: text.rfind("}") + 1] + "]"
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(re.sub(r"(?<=: )nan(?=[,}])", "None", text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
