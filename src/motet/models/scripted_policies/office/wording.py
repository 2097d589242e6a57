"""Reading an office task: its condition, if it has one, and its action are each recognised by itself, so that they combine freely.

Nothing is known of any office's records here: people, days, texts, numbers and limits are slots, filled from the words of the task.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

from motet.models.scripted_policies.office.asked import (
    ANALYTICS,
    CALENDAR,
    CUSTOMERS,
    EMAIL,
    PROJECTS,
    Ask,
    Condition,
    Find,
)
from motet.models.scripted_policies.office.days import COMING, DAY, TIME, clock, coming, day_of, today_of

METRICS = {
    "total visits": "total_visits",
    "average session duration": "session_duration_seconds",
    "session duration": "session_duration_seconds",
    "engaged users": "user_engaged",
    "user engagement": "user_engaged",
    "direct": "visits_direct",
    "referral": "visits_referral",
    "search engine": "visits_search_engine",
    "social media": "visits_social_media",
    "visits": "total_visits",
}
LISTS = {"backlog": "Backlog", "in progress": "In Progress", "in review": "In Review", "completed": "Completed"}
BOARDS = {"front": "Front end", "back": "Back end", "design": "Design"}
STATUSES = ("Qualified", "Won", "Lost", "Lead", "Proposal")
PRODUCTS = ("Software", "Hardware", "Services", "Consulting", "Training")

_NAME = r"([A-Za-z][\w-]*)"
# A text between marks, with apostrophes inside words. The closing mark is sometimes forgotten: then it ends where the task goes on.
_QUOTED = r"'((?:[^']|'(?=\w))+(?='(?!\w))|.+?(?=\s*(?:can|could|would) you\b|$))'?"
_LISTED = "(" + "|".join(name.replace(" ", "[ -]") for name in LISTS) + ")"
_PREFIX = re.compile(r"^.*?end after \S+\s+", re.DOTALL)
_FLAGS = re.IGNORECASE | re.DOTALL


@lru_cache(maxsize=4096)
def understand(question: str) -> Ask | None:
    """What ``question`` asks for; ``None`` where it names no day that it is, or asks for nothing known."""
    today = today_of(question)
    if today is None:
        return None
    text = _PREFIX.sub("", question).strip()
    condition = next((found for read in _CONDITIONS if (found := read(text, today)) is not None), None)
    for act in _ACTIONS:
        ask = act(text, today, condition)
        if ask is not None:
            return ask
    return None


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, _FLAGS)


def _metric(text: str) -> str:
    lowered = text.lower()
    return next((value for words, value in METRICS.items() if words in lowered), "")


def _growth(text: str, today: date) -> Condition | None:
    found = _search(
        rf"(?:more than|over|by) (\d+(?:\.\d+)?) ?(?:%|percent) (higher|lower|more|less|up|down)\b.*?({DAY})", text
    )
    metric = _metric(text)
    day = day_of(found[3], today=today, past=True) if found else None
    if found is None or day is None or not metric:
        return None
    find = Find(ANALYTICS, metric=metric, start=day, end=today - timedelta(days=1))
    return Condition("growth", find, up=found[2].lower() in ("higher", "more", "up"), limit=float(found[1]))


def _beyond(text: str, today: date) -> Condition | None:
    found = _search(
        rf"(more|less|fewer|higher|lower|over|under|above|below)(?: than)? (\d+(?:\.\d+)?)\b(?! ?%).*?since ({DAY})",
        text,
    )
    metric = _metric(text)
    day = day_of(found[3], today=today, past=True) if found else None
    if found is None or day is None or not metric:
        return None
    find = Find(ANALYTICS, metric=metric, start=day, end=today - timedelta(days=1))
    return Condition("beyond", find, up=found[1].lower() in ("more", "higher", "over", "above"), limit=float(found[2]))


def _no_emails(text: str, today: date) -> Condition | None:
    window = _search(r"sent me (?:any|an|a single) e-?mails? in the (?:past|last) (\d+) days?", text)
    who = _search(rf"heard from {_NAME}", text) or _search(rf"\bif {_NAME} (?:hasn't|has not|did not|didn't)", text)
    if window is None or who is None:
        return None
    start = today - timedelta(days=int(window[1]))
    return Condition("none found", Find(EMAIL, person=who[1].lower(), start=start, end=today, counted=True, one="any"))


def _no_meetings(text: str, today: date) -> Condition | None:
    found = _search(rf"meetings? (?:scheduled |planned )?with {_NAME} (?:scheduled )?in the next (\d+) days?", text)
    if found is None:
        return None
    end = today + timedelta(days=int(found[2]))
    return Condition(
        "none found", Find(CALENDAR, person=found[1].lower(), start=today, end=end, counted=True, one="any")
    )


_CONDITIONS: tuple[Callable[[str, date], Condition | None], ...] = (_growth, _beyond, _no_emails, _no_meetings)


def _plot(text: str, today: date, condition: Condition | None) -> Ask | None:
    metric = _metric(text)
    if not metric or not _search(r"\b(?:plot|chart|histogram|graph)", text):
        return None
    kinds = {"histogram": "distribution|histogram", "line": r"\bline", "bar": r"\bbars?\b", "scatter": "scatter"}
    kind = next((kind for kind, words in kinds.items() if _search(words, text)), "line")
    yesterday = today - timedelta(days=1)
    days = [day for found in re.findall(DAY, text, _FLAGS) if (day := day_of(found, today=today, past=True))]
    if not days:
        return None
    start = days[0]
    if (condition is not None and condition.find.domain == ANALYTICS) or _search(r"\bsince\b", text):
        end = yesterday
    else:
        end = days[1] if len(days) > 1 else start
    fixed = (
        ("time_min", start.isoformat()),
        ("time_max", end.isoformat()),
        ("value_to_plot", metric),
        ("plot_type", kind),
    )
    return Ask(today, "analytics_create_plot", fixed, condition=condition)


def _schedule(text: str, today: date, condition: Condition | None) -> Ask | None:
    found = _search(
        rf"\b(?:schedule|book|set up) an? (.+?) (?:meeting|call) with {_NAME} (?:for|on) ({COMING}) at ({TIME})", text
    )
    title = _search(rf"(?:called|call it|titled|named) {_QUOTED}", text)
    if found is None or title is None:
        return None
    day = coming(found[3], today=today)
    person = _who(found[2], condition)
    if day is None or not person:
        return None
    fixed = (
        ("event_name", title[1]),
        ("event_start", f"{day.isoformat()} {clock(found[4])}"),
        ("duration", _minutes(found[1])),
    )
    return Ask(today, "calendar_create_event", fixed, address=("participant_email", person), condition=condition)


def _minutes(text: str) -> str:
    number = re.search(r"\d+(?:\.\d+)?", text)
    if "half" in text.lower():
        return "90" if re.search(r"and a half", text, re.IGNORECASE) else "30"
    if "hour" in text.lower():
        return str(round(60 * float(number[0]))) if number else "60"
    return number[0] if number else "30"


def _who(word: str, condition: Condition | None) -> str:
    """The first name that ``word`` is or stands for."""
    if word.lower() in ("them", "him", "her", "they"):
        return condition.find.person if condition else ""
    return word.lower()


def _attendees(text: str, today: date, condition: Condition | None) -> Ask | None:
    found = _search(rf"\b(first|last) (?:event|meeting) on ({DAY})", text)
    body = _search(rf"(?:tell them|saying|say|and) {_QUOTED}", text)
    day = day_of(found[2], today=today) if found else None
    if (
        found is None
        or day is None
        or body is None
        or not _search(r"e-?mail.*(?:attendee|everyone|participant)|(?:attendee|everyone|participant).*e-?mail", text)
    ):
        return None
    end: Literal["first", "last"] = "first" if found[1].lower() == "first" else "last"
    target = Find(CALENDAR, start=day, end=day, one=end)
    return Ask(
        today,
        "email_send_email",
        (("body", body[1]),),
        target=target,
        from_row=(("recipient", "participant_email"), ("subject", "event_name")),
        condition=condition,
    )


def _send(text: str, today: date, condition: Condition | None) -> Ask | None:
    found = _search(
        rf"\bsend {_NAME} an e-?mail (?:titled|called|with the (?:title|subject)) {_QUOTED}.*?(?:saying|that says|and say) {_QUOTED}",
        text,
    )
    person = _who(found[1], condition) if found else ""
    if found is None or not person:
        return None
    fixed = (("subject", found[2]), ("body", found[3]))
    return Ask(today, "email_send_email", fixed, address=("recipient", person), condition=condition)


def _new_task(text: str, today: date, condition: Condition | None) -> Ask | None:
    title = _search(rf"\b(?:make|create|add) an? {_LISTED}? ?task called {_QUOTED}", text)
    who = _search(rf"assign(?:ed)? (?:it )?to (?:for )?{_NAME}", text) or _search(rf"'\s+for {_NAME}", text)
    board = _search(r"\b(front|back|design)[ -]?(?:end)? board", text)
    due = _search(rf"(?:deadline (?:of|on)|due(?: on)?|by) ({COMING})", text) or _search(
        rf"with ({COMING}) as the (?:deadline|due date)", text
    )
    day = coming(due[1], today=today) if due else None
    if title is None or who is None or board is None or day is None:
        return None
    fixed = (
        ("task_name", title[2]),
        ("list_name", LISTS[(title[1] or "backlog").lower().replace("-", " ")]),
        ("due_date", day.isoformat()),
        ("board", BOARDS[board[1].lower()]),
    )
    address = ("assigned_to_email", who[1].lower())
    return Ask(today, "project_management_create_task", fixed, address=address, condition=condition)


def _rename(text: str, today: date, condition: Condition | None) -> Ask | None:
    found = _search(
        rf"(?:change the name of|rename) the (first|last) (?:event|meeting) on ({DAY}) to (.+?)[?.!]?$", text
    )
    day = day_of(found[2], today=today) if found else None
    if found is None or day is None:
        return None
    end: Literal["first", "last"] = "first" if found[1].lower() == "first" else "last"
    fixed = (("field", "event_name"), ("new_value", found[3].strip("'\"")))
    target = Find(CALENDAR, start=day, end=day, one=end)
    return Ask(today, "calendar_update_event", fixed, target, from_row=(("event_id", "event_id"),), condition=condition)


def _cancel(text: str, today: date, condition: Condition | None) -> Ask | None:
    found = _search(
        rf"\b(?:cancel|delete) (?:all )?(?:of )?(?:my )?(?:the )?(?:future|upcoming) (?:meetings|events) with {_NAME}",
        text,
    )
    if found is None:
        return None
    word = found[1]
    if word.lower() in ("them", "him", "her"):
        who = _search(rf"^(?:since |as )?{_NAME}(?:'s| is| has)", text)
        word = who[1] if who else ""
    if not word:
        return None
    target = Find(CALENDAR, person=word.lower(), start=today)
    return Ask(today, "calendar_delete_event", target=target, from_row=(("event_id", "event_id"),), condition=condition)


def _customers(text: str, today: date, condition: Condition | None) -> Ask | None:
    who = _search(rf"\b{_NAME}'s (?:customers|leads|clients)", text)
    if who is None:
        return None
    where = []
    status = _search(rf"(?:in the |that are |are )({'|'.join(STATUSES)})(?: stage)?\b", text)
    product = _search(rf"interested in ({'|'.join(PRODUCTS)})", text)
    if status:
        where.append(("status", status[1].capitalize()))
    if product:
        where.append(("product_interest", product[1].capitalize()))
    target = Find(CUSTOMERS, person=who[1].lower(), where=tuple(where))
    key = (("customer_id", "customer_id"),)
    moved = _search(rf"\bto (?:the )?({'|'.join(STATUSES)})\b", text)
    if moved:
        fixed = (("field", "status"), ("new_value", moved[1].capitalize()))
        return Ask(today, "customer_relationship_manager_update_customer", fixed, target, key, condition=condition)
    if _search(r"\b(?:delete|remove)\b", text):
        return Ask(
            today, "customer_relationship_manager_delete_customer", target=target, from_row=key, condition=condition
        )
    given = _search(rf"(?:reassign|assign|give|move|transfer)\b.* to {_NAME}", text)
    if given is None:
        return None
    return Ask(
        today,
        "customer_relationship_manager_update_customer",
        (("field", "assigned_to_email"),),
        target,
        key,
        ("new_value", given[1].lower()),
        condition,
    )


def _reply(text: str, today: date, condition: Condition | None) -> Ask | None:
    found = _search(
        rf"(?:reply|respond|get back) to {_NAME}'s (?:last|latest|most recent) e-?mail about {_QUOTED} (?:with|saying) {_QUOTED}",
        text,
    )
    if found is None:
        return None
    target = Find(EMAIL, person=found[1].lower(), words=found[2], one="last")
    return Ask(
        today,
        "email_reply_email",
        (("body", found[3]),),
        target,
        from_row=(("email_id", "email_id"),),
        condition=condition,
    )


def _forward(text: str, today: date, condition: Condition | None) -> Ask | None:
    found = _search(rf"e-?mails? from {_NAME} (?:from )?(?:in the )?last week about {_QUOTED}", text)
    to = _search(rf"^{_NAME} (?:needs|wants)", text) or _search(rf"'\s+to {_NAME}", text)
    if found is None or to is None or not _search(r"\bforward", text):
        return None
    monday = today - timedelta(days=today.weekday() + 7)
    sunday = monday + timedelta(days=6)
    target = Find(EMAIL, person=found[1].lower(), words=found[2], start=monday, end=sunday, counted=True)
    return Ask(
        today,
        "email_forward_email",
        target=target,
        from_row=(("email_id", "email_id"),),
        address=("recipient", to[1].lower()),
        condition=condition,
    )


def _tasks(text: str, today: date, condition: Condition | None) -> Ask | None:
    who = _search(rf"\b{_NAME}'s (?:{_LISTED} )?tasks", text) or _search(rf"^{_NAME} is ", text)
    listed = _search(rf"(?:are |their |'s |all )(?:still )?{_LISTED}", text)
    if who is None or listed is None or not _search(r"\btasks?\b|\bones\b", text):
        return None
    where = (("list_name", _list_name(listed[1])),)
    target = Find(PROJECTS, person=who[1].lower(), where=where)
    key = (("task_id", "task_id"),)
    moved = _search(rf"\bto (?:the )?{_LISTED}\b", text)
    if moved:
        fixed = (("field", "list_name"), ("new_value", _list_name(moved[1])))
        return Ask(today, "project_management_update_task", fixed, target, key, condition=condition)
    given = _search(rf"\b(?:reassign|assign|give|move|transfer)\b.* to {_NAME}", text)
    if given is None:
        return None
    fixed_field = (("field", "assigned_to_email"),)
    address = ("new_value", given[1].lower())
    return Ask(today, "project_management_update_task", fixed_field, target, key, address, condition)


def _list_name(text: str) -> str:
    return LISTS[text.lower().replace("-", " ")]


_ACTIONS: tuple[Callable[[str, date, Condition | None], Ask | None], ...] = (
    _new_task,
    _schedule,
    _attendees,
    _send,
    _rename,
    _cancel,
    _reply,
    _forward,
    _customers,
    _tasks,
    _plot,
)
