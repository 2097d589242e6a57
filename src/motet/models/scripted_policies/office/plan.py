"""The plan: which calls a task and its findings lead to, as text and read from text, with the mistakes of whoever writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from motet.models.scripted_policies.mistakes import Tendency
from motet.models.scripted_policies.office.asked import ANALYTICS, Arguments, Ask, Condition, Find
from motet.models.scripted_policies.office.records import (
    IDS,
    PEOPLE,
    TIMES,
    Row,
    Section,
    first_name,
    fits,
    joined,
)

NOTHING = "Nothing to do."
_CALL = re.compile(r"^\s*\d+[.)]\s*([a-z]\w+)\((.*)\)\s*$", re.MULTILINE)
_ARGUMENT = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')
# For each value of a choice the one that it is mistaken for.
_OTHER = {
    "plot_type": {"histogram": "bar", "line": "scatter", "bar": "histogram", "scatter": "line"},
    "list_name": {
        "Backlog": "In Progress",
        "In Progress": "Backlog",
        "In Review": "Completed",
        "Completed": "In Review",
    },
    "board": {"Front end": "Design", "Back end": "Front end", "Design": "Front end"},
    "status": {"Qualified": "Lead", "Won": "Qualified", "Lost": "Qualified", "Lead": "Qualified", "Proposal": "Lead"},
    "duration": {"30": "60", "60": "30", "90": "60", "120": "60"},
}
_DATES = ("due_date", "event_start", "time_min")
_TEXTS = ("body", "event_name", "task_name", "subject", "new_value")


@dataclass(frozen=True)
class Call:
    """A call to be made."""

    tool: str
    arguments: Arguments

    def __str__(self) -> str:
        written = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.arguments)
        return f"{self.tool}({written})"


@dataclass(frozen=True)
class Plan:
    """Calls in their order. ``test`` is the condition as it was tested; ``lacking`` what could not be found in the findings."""

    calls: tuple[Call, ...] = ()
    test: str = ""
    lacking: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"Condition: {self.test}"] if self.test else []
        lines += [f"Not in the findings: {', '.join(self.lacking)}."] if self.lacking else []
        lines += [f"{number}. {call}" for number, call in enumerate(self.calls, 1)] or [NOTHING]
        return "\n".join(lines)


def is_plan(text: str) -> bool:
    """Whether a text is a plan."""
    return bool(_CALL.search(text)) or any(
        line.strip().lower().startswith("nothing to do") for line in text.splitlines()
    )


@lru_cache(maxsize=4096)
def read_calls(text: str) -> tuple[Call, ...]:
    """The calls of a plan written as text."""
    return tuple(
        Call(tool, tuple((name, json.loads(value)) for name, value in _ARGUMENT.findall(arguments)))
        for tool, arguments in _CALL.findall(text)
    )


def make_plan(ask: Ask, sections: Sequence[Section], tendency: Tendency) -> Plan:
    """The plan for a task from what was found."""
    test, holds = "", True
    lacking: list[str] = []
    if ask.condition is not None and not tendency.to("dropped_condition"):
        tested = try_condition(ask.condition, sections)
        if tested is None:
            lacking.append(f"what the condition needs ({ask.condition.find.domain})")
        else:
            test, holds = tested
    if not holds:
        return Plan(test=test)
    fixed = dict(ask.fixed)
    if tendency.to("reworded"):
        fixed = {name: _reworded(value) if _is_text(name, fixed) else value for name, value in fixed.items()}
    if tendency.to("other_choice"):
        fixed = {name: _other_choice(name, value, fixed) for name, value in fixed.items()}
    if tendency.to("day_off"):
        dates = (*_DATES, "time_max") if fixed.get("time_min") == fixed.get("time_max") else _DATES
        fixed = {name: _day_late(value) if name in dates else value for name, value in fixed.items()}
    if ask.address is not None:
        name, person = ask.address
        address = known_address(person, sections)
        if not address:
            lacking.append(f"the address of {person}")
        fixed[name] = address or f"{person}@atlas.com"
    if ask.target is None:
        calls = [Call(ask.tool, tuple(fixed.items()))]
    else:
        if not _looked(ask.target, sections):
            lacking.append(f"anything from {ask.target.domain}")
        rows = _chosen(ask.target, found_rows(ask.target, sections), tendency)
        with_id = [row for row in rows if all(column in row for _, column in ask.from_row)]
        if len(with_id) < len(rows):
            lacking.append(f"the {IDS[ask.target.domain]} of {len(rows) - len(with_id)} rows")
        calls = [
            Call(ask.tool, (*((name, row[column]) for name, column in ask.from_row), *fixed.items())) for row in with_id
        ]
    if tendency.to("first_only"):
        calls = calls[:1]
    if calls and tendency.to("one_too_many"):
        calls.append(_another(calls[-1], ask))
    return Plan(tuple(calls), test, tuple(lacking))


def try_condition(condition: Condition, sections: Iterable[Section]) -> tuple[str, bool] | None:
    """The test of a condition in words and whether it holds; ``None`` where the findings do not say."""
    find = condition.find
    if condition.kind == "none found":
        told = [section for section in sections if section.find.domain == find.domain]
        if not told:
            return None
        rows = found_rows(find, told)
        return f"{len(rows)} found with {find.person} from {find.start} to {find.end}; none was asked for.", not rows
    series: dict[str, float] = {}
    for section in sections:
        if section.find.domain == ANALYTICS and section.find.metric == find.metric:
            series.update(section.series)
    days = sorted(day for day in series if find.start is None or day >= str(find.start))
    if not days:
        return None
    if condition.kind == "growth":
        then, now = series[days[0]], series[days[-1]]
        change = (now - then) / then * 100 if then else 0.0
        holds = change > condition.limit if condition.up else -change > condition.limit
        return (
            f"{find.metric} went from {then:g} on {days[0]} to {now:g} on {days[-1]}, {change:+.1f} %: {_yes(holds)}.",
            holds,
        )
    value = max(series[day] for day in days) if condition.up else min(series[day] for day in days)
    holds = value > condition.limit if condition.up else value < condition.limit
    return (
        f"the {'most' if condition.up else 'least'} {find.metric} is {value:g}, the limit {condition.limit:g}: {_yes(holds)}.",
        holds,
    )


def found_rows(find: Find, sections: Iterable[Section]) -> tuple[Row, ...]:
    """The rows in the findings that ``find`` means."""
    rows = (row for section in sections if section.find.domain == find.domain for row in section.rows)
    return joined((row for row in rows if fits(find, row)), domain=find.domain)


def known_address(person: str, sections: Sequence[Section]) -> str:
    """The address of a person by first name: from the directory, else from any row that has it."""
    listed = [address for section in sections for address in section.addresses]
    listed += [row.get(PEOPLE[section.find.domain], "") for section in sections for row in section.rows]
    whole = [address for address in listed if first_name(address) == person]
    # One that has a last name is an address that somebody has seen.
    return max(whole, key=lambda address: "." in address.partition("@")[0], default="")


def _looked(find: Find, sections: Iterable[Section]) -> bool:
    return any(section.find.domain == find.domain for section in sections)


def _chosen(find: Find, rows: Sequence[Row], tendency: Tendency) -> Sequence[Row]:
    if find.one not in ("first", "last") or not rows:
        return rows
    ordered = sorted(rows, key=lambda row: row.get(TIMES.get(find.domain, ""), ""))
    last = (find.one == "last") != tendency.to("other_end")
    return [ordered[-1 if last else 0]]


def choice_of(name: str, fixed: Mapping[str, str]) -> str:
    """The choice that an argument makes: its own name, or that of the field whose new value it is; empty where it makes none."""
    chosen = fixed.get("field", "") if name == "new_value" else name
    return chosen if chosen in _OTHER else ""


def _other_choice(name: str, value: str, fixed: Mapping[str, str]) -> str:
    return _OTHER.get(choice_of(name, fixed), {}).get(value, value)


def _is_text(name: str, fixed: Mapping[str, str]) -> bool:
    return name in _TEXTS and (name != "new_value" or fixed.get("field") == "event_name")


def _reworded(text: str) -> str:
    """A text as somebody gives it who has not copied it: the first word changed, the stop at its end lost."""
    first, _, rest = text.rstrip(".?!").partition(" ")
    return f"{first.capitalize()}: {rest}" if rest else f"{first} (new)"


def _day_late(value: str) -> str:
    day = date.fromisoformat(value[:10]) + timedelta(days=1)
    return f"{day}{value[10:]}"


def _another(call: Call, ask: Ask) -> Call:
    """A call beside the last: the row with the next id, or the same once more."""
    ids = {name for name, column in ask.from_row if column in IDS.values()}
    return Call(
        call.tool,
        tuple(
            (name, f"{int(value) + 1:08d}" if name in ids and value.isdigit() else value)
            for name, value in call.arguments
        ),
    )


def _yes(holds: bool) -> str:
    return "it holds" if holds else "it does not hold"
