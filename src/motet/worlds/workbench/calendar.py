"""The calendar: events with a name, one participant, a start and a duration in minutes."""

from __future__ import annotations

from motet.worlds.workbench.moments import moment
from motet.worlds.workbench.patterns import searcher
from motet.worlds.workbench.render import Output
from motet.worlds.workbench.tables import Cell, State
from motet.worlds.workbench.values import Given, lower, next_id, text

SHOWN = 5  # how many events a search shows


def get_event_information_by_id(state: State, /, event_id: Given = None, field: Given = None) -> Output:
    """One field of an event."""
    if not event_id:
        return "Event ID not provided."
    if not field:
        return "Field not provided."
    event = state.calendar.first("event_id", event_id)
    if event is None:
        return "Event not found."
    return {text(field): event[text(field)]} if field in event else "Field not found."


def search_events(state: State, /, query: Given = "", time_min: Given = None, time_max: Given = None) -> Output:
    """The first events, in the table's order, whose name or participant holds ``query`` and that start between the bounds."""
    holds = searcher(query, ignore_case=True)
    table = state.calendar
    name, participant = table.columns.index("event_name"), table.columns.index("participant_email")
    events = [row for row in table.rows if holds(text(row[name])) or holds(text(row[participant]))]
    start = table.columns.index("event_start")
    if time_min:
        earliest = moment(time_min)
        events = [row for row in events if moment(row[start]) >= earliest]
    if time_max:
        latest = moment(time_max)
        events = [row for row in events if moment(row[start]) <= latest]
    return [table.record(row) for row in events[:SHOWN]] or "No events found."


def create_event(
    state: State,
    /,
    event_name: Given = None,
    participant_email: Given = None,
    event_start: Given = None,
    duration: Given = None,
) -> Output:
    """Add an event; its id is returned. Dates are not checked. Every added event carries the label 0."""
    if not event_name:
        return "Event name not provided."
    if not participant_email:
        return "Participant email not provided."
    if not event_start:
        return "Event start not provided."
    if not duration:
        return "Event duration not provided."
    event_id = next_id(state.calendar.column("event_id"), width=8)
    event: dict[str, Cell] = {
        "event_id": event_id,
        "event_name": event_name,
        "participant_email": lower(participant_email),
        "event_start": event_start,
        "duration": duration,
    }
    state.calendar = state.calendar.append(event, label=0)
    return event_id


def delete_event(state: State, /, event_id: Given = None) -> Output:
    """Delete an event."""
    if not event_id:
        return "Event ID not provided."
    if event_id not in state.calendar.column("event_id"):
        return "Event not found."
    state.calendar = state.calendar.without("event_id", event_id)
    return "Event deleted successfully."


def update_event(state: State, /, event_id: Given = None, field: Given = None, new_value: Given = None) -> Output:
    """Change one field of an event. The field is not checked: an unknown one becomes a new column."""
    if not event_id or not field or not new_value:
        return "Event ID, field, or new value not provided."
    if event_id not in state.calendar.column("event_id"):
        return "Event not found."
    new = lower(new_value) if field == "participant_email" else new_value
    state.calendar = state.calendar.set("event_id", event_id, field=text(field), new=new)
    return "Event updated successfully."
