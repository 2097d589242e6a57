"""Looking things up: which searches a find needs, how a search that was cut is narrowed, and what was found. Without state: replayed from the calls made so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TypeAlias

from motet.models.scripted_policies.mistakes import Tendency
from motet.models.scripted_policies.office.asked import (
    ANALYTICS,
    CALENDAR,
    CUSTOMERS,
    DIRECTORY,
    EMAIL,
    PROJECTS,
    Arguments,
    Find,
)
from motet.models.scripted_policies.office.records import (
    PAGE,
    TIMES,
    Row,
    Section,
    fits,
    joined,
    read_addresses,
    read_rows,
    read_series,
    was_cut,
)

Key: TypeAlias = tuple[str, Arguments]

READERS = {
    CALENDAR: "calendar_search_events",
    EMAIL: "email_search_emails",
    PROJECTS: "project_management_search_tasks",
    CUSTOMERS: "customer_relationship_manager_search_customers",
    DIRECTORY: "company_directory_find_email_address",
}
_METRICS = {
    "total_visits": "analytics_total_visits_count",
    "session_duration_seconds": "analytics_get_average_session_duration",
    "user_engaged": "analytics_engaged_users_count",
}
_MOST = 24  # searches for one find; whatever has not been found by then is reported as cut


@dataclass(frozen=True)
class Looked:
    """How far a find has come: the calls still to be made, and what is known so far."""

    calls: tuple[Key, ...]
    section: Section


def reader(find: Find) -> str:
    """The tool that looks ``find`` up."""
    if find.domain == ANALYTICS:
        return _METRICS.get(find.metric, "analytics_traffic_source_count")
    return READERS[find.domain]


def look(find: Find, seen: Mapping[Key, str], tendency: Tendency) -> Looked:
    """What to search next for ``find``, given the calls made so far with what they returned."""
    if find.domain == DIRECTORY and tendency.to("guessed_address"):
        return Looked((), Section(find, addresses=(f"{find.person}@atlas.com",)))
    if find.counted and tendency.to("window"):
        find = _miscounted(find)
    tool = reader(find)
    waiting = [_first(find)]
    rows: list[Row] = []
    texts: list[str] = []
    asked: set[Arguments] = set()
    missing: list[Key] = []
    cut = False
    while waiting:
        arguments = waiting.pop(0)
        if arguments in asked:
            continue
        asked.add(arguments)
        text = seen.get((tool, arguments))
        if text is None:
            missing.append((tool, arguments))
            continue
        texts.append(text)
        page = read_rows(text)
        new = [row for row in page if row not in rows]
        rows += new
        if find.one in ("any", "last") and find.domain == EMAIL and any(fits(find, row) for row in rows):
            break  # e-mails come newest first
        if find.domain in (PROJECTS, DIRECTORY, ANALYTICS) or not new or (len(page) < PAGE and not was_cut(text)):
            continue
        if tendency.to("cut_off") or len(asked) >= _MOST:
            cut = True
            continue
        waiting += _narrower(find, dict(arguments), page)
    if find.domain == DIRECTORY:
        addresses = [address for text in texts for address in read_addresses(text)]
        return Looked(tuple(missing), Section(find, addresses=tuple(addresses)))
    if find.domain == ANALYTICS:
        series = {day: number for text in texts for day, number in read_series(text).items()}
        return Looked(tuple(missing), Section(find, series=series))
    kept = joined((row for row in rows if fits(find, row)), domain=find.domain)
    return Looked(tuple(missing), Section(find, kept, cut))


def pending(sections: Collection[Looked]) -> list[Key]:
    """All calls still to be made, without repeats."""
    return list(dict.fromkeys(call for looked in sections for call in looked.calls))


def _first(find: Find) -> Arguments:
    if find.domain == CALENDAR:
        return _given(
            query=find.person,
            time_min=find.start and f"{find.start} 00:00:00",
            time_max=find.end and f"{find.end} 23:59:59",
        )
    if find.domain == EMAIL:
        query = f"{find.person} {find.words}".strip()
        return _given(query=query, date_min=find.start and str(find.start), date_max=find.end and str(find.end))
    if find.domain == ANALYTICS:
        source = find.metric.removeprefix("visits_").replace("_", " ") if find.metric not in _METRICS else ""
        return _given(
            time_min=find.start and str(find.start), time_max=find.end and str(find.end), traffic_source=source
        )
    if find.domain == DIRECTORY:
        return _given(name=find.person)
    return _given(assigned_to_email=find.person, **dict(find.where))


def _narrower(find: Find, arguments: dict[str, str], page: tuple[Row, ...]) -> list[Arguments]:
    """Searches for what a full page may have left out: later events, earlier e-mails, customers of shorter spans of time."""
    last = page[-1].get(TIMES.get(find.domain, ""), "")
    if find.domain == CALENDAR:
        return [_given(**{**arguments, "time_min": last})]
    if find.domain == EMAIL:
        return [_given(**{**arguments, "date_max": last[:10]})]
    days = sorted(row["last_contact_date"] for row in page if row.get("last_contact_date"))
    if not days:
        return []
    middle = days[len(days) // 2]
    before = str(date.fromisoformat(middle) - timedelta(days=1))
    least, most = arguments.get("last_contact_date_min", ""), arguments.get("last_contact_date_max", "9999")
    if least == most:
        return []
    halves = [{"last_contact_date_min": max(least, middle)}]
    if before >= least:
        halves.append({"last_contact_date_max": before})
    return [_given(**{**arguments, **half}) for half in halves]


def _miscounted(find: Find) -> Find:
    """``find`` over days that are counted wrongly: a week that begins in its middle, a first or last day too few."""
    assert find.start is not None
    assert find.end is not None
    if find.end - find.start == timedelta(days=6):
        half = timedelta(days=3)
        return replace(find, start=find.start + half, end=find.end + half)
    if find.domain == EMAIL:
        return replace(find, start=find.start + timedelta(days=1))
    return replace(find, end=find.end - timedelta(days=1))


def _given(**arguments: date | str | None) -> Arguments:
    return tuple(sorted((name, str(value)) for name, value in arguments.items() if value))
