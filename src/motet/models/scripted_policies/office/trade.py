"""What somebody who knows the office's trade can say of a team at work on a task, from the task and what its members wrote alone.

This is what the control half of the policy builds on: which domains and tools a task needs, and what is seen to be wrong, whose it is, which edit helps, and
the words that end it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from motet.models.scripted_policies.mistakes import Table, Tendency
from motet.models.scripted_policies.office.asked import DIRECTORY, Ask, Find
from motet.models.scripted_policies.office.mistakes import faultless, shipped
from motet.models.scripted_policies.office.plan import (
    Call,
    choice_of,
    found_rows,
    is_plan,
    make_plan,
    read_calls,
    try_condition,
)
from motet.models.scripted_policies.office.records import IDS, Section, read_sections
from motet.models.scripted_policies.office.search import reader
from motet.models.scripted_policies.office.seat import domain_of, writes
from motet.models.scripted_policies.office.wording import understand

EditKind: TypeAlias = Literal["prompt", "add_worker", "insert_critic", "insert_verifier", "tools"]


_DAYS = ("time_min", "time_max", "event_start", "due_date")


@dataclass(frozen=True)
class Fault:
    """Something wrong in a team's work.

    ``node`` is whose it is, empty where somebody is missing; ``kind`` a mistake of the table, ``missing_domain`` or ``missing_tool``; ``problem`` what is wrong in
    words; ``remedy`` the words to be written into the node's prompt, or the subtask of the worker to be added; ``edits`` the kinds of edit that help, the best
    first; ``domain`` that of the worker to be added; ``tools`` those that are missing.
    """

    node: str
    kind: str
    problem: str
    remedy: str
    edits: tuple[EditKind, ...] = ("prompt",)
    domain: str = ""
    tools: tuple[str, ...] = ()


def domains(question: str) -> list[str]:
    """The domains in which something must be looked up for the task, in the order in which it is needed; none for a task that is not understood."""
    ask = understand(question)
    return list(dict.fromkeys(find.domain for find in ask.finds)) if ask else []


def tools_for(question: str, tools: Iterable[str]) -> list[str]:
    """Those of ``tools`` that the task needs: the readers for what must be looked up, and the one that writes. See ``domain_of`` and ``writes`` for sorting them."""
    ask = understand(question)
    needed = {reader(find) for find in ask.finds} | {ask.tool} if ask else set()
    return [name for name in tools if name in needed]


def faults(question: str, outputs: Mapping[str, tuple[str, str]], *, table: Table | None = None) -> list[Fault]:
    """What is seen to be wrong in ``outputs`` (role and text by node), workers' faults first. ``table`` has the remedies; the committed one by default."""
    ask = understand(question)
    if ask is None:
        return []
    table = table or shipped()
    reports = {node: read_sections(text) for node, (role, text) in outputs.items() if role == "worker"}
    found = _in_reports(ask, reports, table)
    sections = [section for own in reports.values() for section in own]
    right = make_plan(ask, sections, Tendency(faultless(), "integrator", question)).calls
    for node, (role, text) in outputs.items():
        if role in ("integrator", "verifier") and (is_plan(text) or role == "integrator"):
            wrong = _in_plan(ask, node, text, right, sections, table)
            if role == "verifier" and wrong:
                problem = f"it passed on a plan in which {wrong[0].problem}"
                wrong = [_fault(table, node, "overlooked", problem)]
            found += wrong
        elif role == "executor":
            found += _in_execution(ask, node, text, table)
    return found


def _in_reports(ask: Ask, reports: Mapping[str, Sequence[Section]], table: Table) -> list[Fault]:
    found: list[Fault] = []
    looked = {section.find.domain for own in reports.values() for section in own}
    for find in ask.finds:
        if find.domain not in looked:
            remedy = f"look up in the {find.domain.replace('_', ' ')} what the task needs"
            problem = f"nobody looked anything up in the {find.domain.replace('_', ' ')}"
            found.append(
                Fault("", "missing_domain", problem, remedy, ("add_worker", "tools"), find.domain, (reader(find),))
            )
    for node, own in reports.items():
        for section in own:
            # Where a domain is asked for more than once, the section answers what it fits best.
            wrongs = [list(_in_section(ask, find, section)) for find in ask.finds if find.domain == section.find.domain]
            found += [_fault(table, node, kind, problem) for kind, problem in min(wrongs, key=len, default=[])]
    return found


def _in_section(ask: Ask, find: Find, section: Section) -> Iterable[tuple[str, str]]:
    key = IDS.get(find.domain)
    needs_id = find == ask.target and any(column == key for _, column in ask.from_row)
    if section.cut:
        yield "cut_off", f"the {find.domain} search was cut and there may be more rows"
    if needs_id and any(key not in row for row in section.rows):
        yield "no_ids", f"rows from {find.domain} have no {key}"
    if find.counted and (section.find.start, section.find.end) != (find.start, find.end):
        yield (
            "window",
            f"it searched from {section.find.start} to {section.find.end}, not from {find.start} to {find.end}",
        )
    if find.domain == DIRECTORY and any("." not in address.partition("@")[0] for address in section.addresses):
        yield "guessed_address", f"{section.addresses[0]} has no last name and is not from the directory"


def _in_plan(
    ask: Ask, node: str, text: str, right: Sequence[Call], sections: Sequence[Section], table: Table
) -> list[Fault]:
    """Where a plan differs from what follows from the task and the findings."""
    calls = read_calls(text)
    if [_plain(call) for call in calls] == [_plain(call) for call in right]:
        return []
    tested = try_condition(ask.condition, sections) if ask.condition else None
    if tested is not None and not tested[1] and calls:
        problem = f"the condition was not tested, and it does not hold: {tested[0].rstrip('.')}"
        return [_plan_fault(table, node, "dropped_condition", problem)]
    found = []
    fixed = dict(ask.fixed)
    off = [(name, value) for call in calls for name, value in call.arguments if fixed.get(name, value) != value]
    for name, value in dict.fromkeys(off):
        kind = "day_off" if name in _DAYS else "other_choice" if choice_of(name, fixed) else "reworded"
        found.append(_plan_fault(table, node, kind, f"{name} is {value!r}, the task says {fixed[name]!r}"))
    if len(calls) > len(right):
        found.append(
            _plan_fault(
                table, node, "one_too_many", f"it has {len(calls)} calls, and the findings lead to {len(right)}"
            )
        )
    elif len(calls) < len(right):
        found.append(
            _plan_fault(table, node, "first_only", f"it has {len(calls)} calls, and the findings lead to {len(right)}")
        )
    elif not found and ask.target is not None and ask.target.one and len(found_rows(ask.target, sections)) > 1:
        found.append(_plan_fault(table, node, "other_end", f"it takes another row than the {ask.target.one} one"))
    return found


def _in_execution(ask: Ask, node: str, text: str, table: Table) -> list[Fault]:
    if "I have no tool" in text:
        return [Fault(node, "missing_tool", f"it has no {ask.tool}", f"hold {ask.tool}", ("tools",), tools=(ask.tool,))]
    counted = re.search(r"(\d+) of (\d+) calls made", text)
    if counted is None or counted[1] == counted[2]:
        return []
    kind = "not_done" if counted[1] == "0" else "last_skipped"
    return [_fault(table, node, kind, f"{counted[1]} of {counted[2]} calls of the plan were made")]


def _fault(table: Table, node: str, kind: str, problem: str) -> Fault:
    return Fault(node, kind, problem, table.mistakes[kind].remedy)


def _plan_fault(table: Table, node: str, kind: str, problem: str) -> Fault:
    return replace(_fault(table, node, kind, problem), edits=("prompt", "insert_verifier"))


def _plain(call: Call) -> tuple[str, tuple[tuple[str, str], ...]]:
    return call.tool, tuple(sorted(call.arguments))


__all__ = ["EditKind", "Fault", "domain_of", "domains", "faults", "tools_for", "writes"]
