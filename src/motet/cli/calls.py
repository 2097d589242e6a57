"""Calls of a run for people: the list, and one with all it said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from motet.cli.render import grid, seconds_text
from motet.cli.story import call_text, tokens_text
from motet.cli.terminal import clipped, one_line, styled
from motet.errors import InputError
from motet.settings import nearest
from motet.store.queries import CallRow

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def calls_table(calls: Sequence[CallRow]) -> Table:
    """One row for each call, in the order they were written."""
    table = grid("call", "kind", "who", "state", "tokens", "money", "time", "said", right=("tokens", "money", "time"))
    for call in calls:
        model = call.kind == "model"
        table.add_row(
            styled(f"{one_line(call.scope, width=40)}:{call.ordinal}"),
            call.kind,
            styled(one_line(call.name, width=24)),
            _state(call),
            tokens_text(call.usage.prompt, call.usage.completion).removesuffix(" tokens") if model else "",
            "" if not model else "unpriced" if call.money is None else f"${call.money:.4f}",
            seconds_text(call.seconds) if call.seconds else "",
            clipped(one_line(_said(call), width=300)),
            style="dim" if call.superseded else None,
        )
    return table


def find_call(calls: Sequence[CallRow], place: str, *, run_id: str) -> CallRow:
    """The call at ``SCOPE:ORDINAL``, the one that is followed if others were superseded. Raises InputError."""
    scope, colon, number = place.rpartition(":")
    scopes = sorted({call.scope for call in calls})
    if not colon and number.isdecimal() and len(scopes) == 1:
        scope, colon = scopes[0], ":"
    if not colon or not number.isdecimal():
        raise InputError(f"--call {place!r} is not SCOPE:ORDINAL; motet show {run_id} --calls lists them")
    if scope not in scopes:
        raise InputError(f"run {run_id} has no scope {scope!r}{nearest(scope, scopes)}")
    found = [call for call in calls if call.scope == scope and call.ordinal == int(number)]
    if not found:
        last = max(call.ordinal for call in calls if call.scope == scope)
        raise InputError(f"scope {scope} of run {run_id} has no call {number}: its calls are 0 to {last}")
    return next((call for call in found if not call.superseded), found[-1])


def print_call(console: Console, call: CallRow) -> None:
    """One call with its messages, its request and its reply, all of it as data."""
    head = [f"{call.kind} {call.name}", _state(call), f"{call.scope}:{call.ordinal}"]
    if call.kind == "model":
        usage = tokens_text(call.usage.prompt, call.usage.completion)
        money = "unpriced" if call.money is None else f"${call.money:.4f}"
        head += [call.model, usage, money, seconds_text(call.seconds)]
        if call.attempts > 1:
            head.append(f"{call.attempts} attempts")
    console.print(styled(" · ".join(head), style="bold"), soft_wrap=True)
    for message in call.messages:
        shown = message if isinstance(message, Mapping) else {"role": "?", "content": json.dumps(message)}
        _heading(console, str(shown.get("role", "?")))
        _message(console, shown)
    if call.request:
        _heading(console, "request")
        _json(console, call.request)
    _heading(console, "reply")
    reply = call.reply
    if reply is None:
        console.print("(none)", style="dim")
    elif call.kind == "model" and isinstance(reply, Mapping):
        if reply.get("reasoning"):
            console.print(styled(str(reply["reasoning"]), style="dim italic"), soft_wrap=True)
        _message(console, {"content": reply.get("text", ""), "tool_calls": reply.get("tool_calls", ())})
    else:
        _json(console, reply)


def _message(console: Console, message: Mapping[str, Any]) -> None:
    if message.get("content"):
        console.print(styled(str(message["content"])), soft_wrap=True)
    for call in message.get("tool_calls") or ():
        console.print(styled(f"→ {call_text(call.get('name'), call.get('arguments'), width=2000)}"), soft_wrap=True)


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(styled(f"── {text}", style="cyan"))


def _json(console: Console, value: object) -> None:
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        console.print(styled(value["text"]), soft_wrap=True)
        value = {key: item for key, item in value.items() if key != "text"}
        if not value:
            return
    console.print(styled(json.dumps(value, ensure_ascii=False, indent=2)), soft_wrap=True)


def _state(call: CallRow) -> str:
    return f"{call.state}, superseded" if call.superseded else call.state


def _said(call: CallRow) -> str:
    reply = call.reply
    if call.kind == "model" and isinstance(reply, Mapping):
        tools = reply.get("tool_calls")
        if isinstance(tools, Sequence) and not isinstance(tools, str) and tools:
            return "; ".join(
                call_text(tool.get("name"), tool.get("arguments")) for tool in tools if isinstance(tool, Mapping)
            )
        return str(reply.get("text", ""))
    if call.kind in ("tool", "write"):
        request = call.request if isinstance(call.request, Mapping) else {}
        shown = call_text(call.name, request.get("arguments", {}))
        answered = reply.get("text", "") if isinstance(reply, Mapping) else ""
        return f"{shown} → {answered}"
    return json.dumps(reply, ensure_ascii=False)
