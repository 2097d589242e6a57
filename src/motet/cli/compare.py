"""``motet compare``: runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from motet.cli.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from motet.cli.sight import Sight


def compare(
    names: Annotated[list[str], typer.Argument(metavar="RUN RUN...", help="Two runs or more, by id or its beginning.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Put runs side by side.

    Status, answer, tokens, money, calls, steps, time, and what was configured otherwise.

    \b
    Examples:
      motet compare 261130-1f 261130-a0
      motet compare last 261130-a0 --json
    """
    import sys

    from motet.cli.sight import look
    from motet.cli.terminal import json_text
    from motet.errors import InputError
    from motet.store.queries import resolve_run
    from motet.store.store import Store

    with Store.open(store) as opened:
        rows = list({row.id: row for row in (resolve_run(opened, name) for name in names)}.values())
        if len(rows) < 2:
            raise InputError(f"to compare takes two different runs; given: {', '.join(row.id for row in rows)}")
        sights = [look(opened, row) for row in rows]
    same_task = len({tuple(task.id for task in sight.tasks) for sight in sights}) == 1
    differences = _differences(sights)
    if as_json:
        document = {"same_task": same_task, "differs_in": differences, "runs": [_facts(sight) for sight in sights]}
        sys.stdout.write(f"{json_text(document)}\n")
        return 0
    _print(sights, same_task=same_task, differences=differences)
    return 0


def _print(sights: list[Sight], *, same_task: bool, differences: Mapping[str, list[Any]]) -> None:
    from motet.cli import render
    from motet.cli.terminal import one_line, output, put, styled

    facts = [_facts(sight) for sight in sights]
    columns = [fact["run"] for fact in facts]
    console = output()
    task = one_line(sights[0].tasks[0].question, width=100) if sights[0].tasks else ""
    console.print(
        styled(f"the same task: {task}" if same_task else "different tasks", style="" if same_task else "yellow")
    )
    console.print()
    table = render.grid("", *columns)
    for column in table.columns[1:]:
        column.no_wrap, column.overflow = False, "fold"
    totals = [sight.totals for sight in sights]
    table.add_row("status", *(styled(fact["status"], style=render.status_style(fact["status"])) for fact in facts))
    for name in ("system", "model"):
        table.add_row(name, *(styled(fact[name]) for fact in facts))
    if not same_task:
        table.add_row("task", *(styled(one_line("; ".join(fact["tasks"]), width=200)) for fact in facts))
    table.add_row("answer", *(styled(one_line(fact["answer"] or "(none)", width=300)) for fact in facts))
    if any(fact["error"] for fact in facts):
        table.add_row("error", *(styled(one_line(fact["error"] or "", width=200)) for fact in facts))
    table.add_row("calls", *(render.calls_text(total) for total in totals))
    table.add_row("tokens", *(render.tokens_text(total) for total in totals))
    table.add_row("cached", *(f"{total.cached:,}" for total in totals))
    table.add_row("money", *(render.money_text(total) for total in totals))
    table.add_row("inherited", *(render.tokens_text(sight.ledger.total("inherited")) for sight in sights))
    for name, label in (("steps", "steps"), ("tool_calls", "tool calls")):
        if any(fact[name] is not None for fact in facts):
            table.add_row(label, *("" if fact[name] is None else str(fact[name]) for fact in facts))
    table.add_row("time", *(render.seconds_text(fact["seconds"]) for fact in facts))
    for key, values in differences.items():
        table.add_row(styled(key, style="cyan"), *(styled(one_line(str(value), width=200)) for value in values))
    put(console, table)


def _facts(sight: Sight) -> dict[str, Any]:
    from motet.cli.sight import totals_json

    result = sight.result
    details = result.details if result else {}
    return {
        "run": sight.row.id,
        "status": sight.status,
        "system": sight.row.system,
        "model": sight.row.model,
        "tasks": [task.question for task in sight.tasks],
        "answer": result.answer if result else None,
        "error": sight.row.error,
        "seconds": sight.row.elapsed,
        "steps": details.get("steps"),
        "tool_calls": details.get("tool_calls"),
        "paid": totals_json(sight.totals),
        "inherited": totals_json(sight.ledger.total("inherited")),
    }


def _differences(sights: list[Sight]) -> dict[str, list[Any]]:
    """Configuration keys whose values differ, with each run's value; ``default`` where a run did not set it."""
    flat = [_flat({key: sight.config.get(key) for key in ("system", "budget", "price", "motet")}) for sight in sights]
    found: dict[str, list[Any]] = {}
    for key in dict.fromkeys(key for one in flat for key in one):
        values = [one.get(key, "default") for one in flat]
        if any(value != values[0] for value in values) and key not in ("system.name", "model"):
            found[key.removeprefix("system.config.")] = values
    return found


def _flat(value: object, path: str = "") -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {
            key: item
            for name, inner in value.items()
            for key, item in _flat(inner, f"{path}.{name}" if path else str(name)).items()
        }
    return {} if value is None else {path: value}
