"""What each role of the office says next."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from motet.models.model import Request, ToolCall
from motet.models.scripted import Policy, Turn
from motet.models.scripted_policies.control import answer
from motet.models.scripted_policies.mistakes import Table, Tendency
from motet.models.scripted_policies.office.asked import Arguments, Ask, Find
from motet.models.scripted_policies.office.mistakes import shipped
from motet.models.scripted_policies.office.plan import Call, Plan, is_plan, make_plan, read_calls
from motet.models.scripted_policies.office.records import Section, read_sections, write_section
from motet.models.scripted_policies.office.search import look, pending, reader
from motet.models.scripted_policies.office.seat import REVIEW, Seat, writes
from motet.models.scripted_policies.office.trade import faults
from motet.models.scripted_policies.office.wording import understand

LOST = "I cannot tell what this task asks for."
_AT_ONCE = 4  # calls in one reply; a search that was cut may have several narrower ones, a plan many lines


def policy(request: Request) -> Turn:
    """The next turn, with the mistakes of the committed table."""
    return play(request, shipped())


def with_mistakes(table: Table) -> Policy:
    """The policy with the mistakes of another ``table``."""
    return lambda request: play(request, table)


def play(request: Request, table: Table) -> Turn:
    """The next turn of whoever the request makes this."""
    # What steers a team builds on its trade, so that either may be imported first.
    from motet.models.scripted_policies.control.office import OfficeCraft

    control = answer(request, OfficeCraft())
    if control is not None:
        return control
    seat = Seat(request)
    ask = understand(seat.question)
    if ask is None:
        return _say(seat, LOST)
    tendency = Tendency(table, seat.role, seat.question, seat.told)
    match seat.role:
        case "worker":
            return _worker(seat, ask, tendency)
        case "critic":
            return _say(seat, _review(seat, ask, tendency))
        case "integrator":
            return _say(seat, str(make_plan(ask, _sections(seat), tendency)))
        case "verifier":
            return _say(seat, _verified(seat, ask, tendency))
        case "executor":
            return _execute(seat, _planned(seat), tendency)
    return _alone(seat, ask, tendency)


def _worker(seat: Seat, ask: Ask, tendency: Tendency) -> Turn:
    calls, sections = _look(seat, ask.finds, tendency)
    if calls and seat.may_call:
        return _call(seat, calls)
    return _say(seat, _report(sections, tendency))


def _alone(seat: Seat, ask: Ask, tendency: Tendency) -> Turn:
    """One agent for the whole task: look up, plan, carry out."""
    calls, sections = _look(seat, ask.finds, tendency)
    acted = any(writes(name) for name, _, _ in seat.done)
    if calls and seat.may_call and not acted:
        return _call(seat, calls)
    # It works from its own report, as an integrator does from those of others.
    plan = make_plan(ask, read_sections(_report(sections, tendency)), tendency)
    return _execute(seat, plan.calls, tendency, test=plan.test)


def _look(seat: Seat, finds: Iterable[Find], tendency: Tendency) -> tuple[Sequence[Call], list[Section]]:
    """The reading calls still to be made with the tools at hand, and what was found so far."""
    mine = [find for find in finds if find.domain in seat.domains and reader(find) in seat.tools]
    looked = [look(find, seat.seen, tendency) for find in mine]
    return [Call(*key) for key in pending(looked)[:_AT_ONCE]], [one.section for one in looked]


def _report(sections: Sequence[Section], tendency: Tendency) -> str:
    if not sections:
        return "My tools hold nothing that this task needs."
    ids = not tendency.to("no_ids")
    return "What I found:\n" + "\n".join(write_section(section, ids=ids) for section in sections)


def _review(seat: Seat, ask: Ask, tendency: Tendency) -> str:
    """The faults in what it was given; where that holds no plan yet, also what whoever writes the plan could forget."""
    outputs = {given.node: (given.role, given.text) for given in seat.inputs if given.role != "critic"}
    if tendency.to("unseen"):
        return f"{REVIEW} I see no fault."
    found = faults(seat.question, outputs, table=tendency.table)
    lines = [f"- {fault.node or 'the team'}: {fault.problem}. To do: {fault.remedy}." for fault in found]
    if ask.condition is not None and all(role != "integrator" for role, _ in outputs.values()):
        remedy = tendency.table.mistakes["dropped_condition"].remedy
        lines.append(f"- the plan to come: the task has a condition. To do: {remedy}.")
    return "\n".join([REVIEW, *lines]) if lines else f"{REVIEW} I see no fault."


def _verified(seat: Seat, ask: Ask, tendency: Tendency) -> str:
    """The plan made again from the findings; without findings, with what the task itself says corrected."""
    given = next((given.text for given in seat.inputs if given.role == "integrator"), "")
    if tendency.to("overlooked") and given:
        return given
    sections = _sections(seat)
    if sections or not given:
        return str(make_plan(ask, sections, tendency))
    kept = [call for call in dict.fromkeys(read_calls(given)) if call.tool == ask.tool]
    fixed = dict(ask.fixed)
    calls = (Call(call.tool, tuple((name, fixed.get(name, value)) for name, value in call.arguments)) for call in kept)
    return str(Plan(tuple(calls)))


def _execute(seat: Seat, calls: Sequence[Call], tendency: Tendency, *, test: str = "") -> Turn:
    """Make the calls that are not made yet, or report."""
    wanted = list(calls)
    if len(wanted) > 1 and tendency.to("last_skipped"):
        wanted.pop()
    if tendency.to("not_done"):
        wanted = []
    made = [Call(name, arguments) for name, arguments, _ in seat.done if writes(name)]
    left = [call for call in wanted if call.tool in seat.tools]
    for call in made:
        key = _key(call)
        left = _without_first(left, key)
    if left and seat.may_call:
        return _call(seat, left[:_AT_ONCE])
    if not calls:
        return _say(seat, f"Nothing was to be done. {test}".strip())
    missing = sorted({call.tool for call in wanted} - set(seat.tools))
    report = f"Done: {', '.join(dict.fromkeys(call.tool for call in calls))}, {len(made)} of {len(calls)} calls made."
    if missing:
        report += f" I have no tool {', '.join(missing)}."
    refused = [text for name, _, text in seat.done if writes(name) and _refused(text)]
    return _say(seat, report + "".join(f" The tool said: {text}" for text in refused[:2]))


def _planned(seat: Seat) -> tuple[Call, ...]:
    plans = [given.text for given in seat.inputs if is_plan(given.text)]
    return read_calls(plans[-1]) if plans else ()


def _sections(seat: Seat) -> tuple[Section, ...]:
    return tuple(section for given in seat.inputs if given.role == "worker" for section in read_sections(given.text))


def _key(call: Call) -> tuple[str, Arguments]:
    return call.tool, tuple(sorted(call.arguments))


def _without_first(calls: list[Call], key: tuple[str, Arguments]) -> list[Call]:
    index = next((index for index, call in enumerate(calls) if _key(call) == key), None)
    return calls if index is None else calls[:index] + calls[index + 1 :]


def _refused(text: str) -> bool:
    return "not found" in text or "not valid" in text or "not provided" in text or "was not done" in text


def _call(seat: Seat, calls: Sequence[Call]) -> Turn:
    if not seat.request.tools:
        # JSON actions have one call in a reply.
        action = {"tool": calls[0].tool, "arguments": dict(calls[0].arguments)}
        return Turn(text=json.dumps(action, ensure_ascii=False))
    step = len(seat.request.messages)
    return Turn(
        tool_calls=tuple(
            ToolCall(
                id=f"call_{step}_{index}",
                name=call.tool,
                arguments=json.dumps(dict(call.arguments), ensure_ascii=False),
            )
            for index, call in enumerate(calls)
        )
    )


def _say(seat: Seat, text: str) -> Turn:
    if seat.request.reply_schema is not None:
        return Turn(text=json.dumps({"tool": "answer", "answer": text}, ensure_ascii=False))
    return Turn(text=text)
