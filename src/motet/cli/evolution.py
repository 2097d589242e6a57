"""An evolution for people: its rounds as a table, what became of the first team, why a node ran, and the teams themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from motet.cli import render
from motet.cli.modes import Format
from motet.cli.sight import totals_json
from motet.cli.story import counted, origin_words
from motet.cli.terminal import clipped, one_line, put, styled
from motet.errors import InputError
from motet.inherit.differences import diff, diff_mermaid
from motet.inherit.evolution import read_history
from motet.inherit.history import History, Round
from motet.inherit.render import to_dot, to_mermaid
from motet.inherit.retelling import UNFINISHED, decided, retell, spot_of
from motet.store.queries import call_list
from motet.usage import Totals
from motet.words import near

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from motet.cli.sight import Sight
    from motet.inherit.workflow import Workflow
    from motet.store.queries import EventRow
    from motet.store.store import Store

CHOSEN = "chosen"


def history_of(store: Store, sight: Sight, events: Sequence[EventRow]) -> History | None:
    """The history of a run in which teams evolved: its result's, else what the store tells of it so far."""
    if sight.result is not None and (history := read_history(sight.result)) is not None:
        return history
    return retell(events, call_list(store, sight.row.id), sight.ledger)


def put_history(console: Console, history: History) -> None:
    """The rounds, then the way from the first team to the chosen one."""
    console.print()
    put(console, rounds_table(history))
    told = final_words(history)
    if told:
        console.print()
        console.print("from the first team to the chosen one", style="bold")
        for line in told.splitlines():
            console.print(styled(f"  {line}"), soft_wrap=True)


def rounds_table(history: History) -> Table:
    """One row for each round; ★ is the chosen one."""
    numbers = ("ran", "reused", "errors", "quality", "live", "inherited", "control")
    table = render.grid("round", "how", *numbers[:3], "valid", *numbers[3:], "change", right=("round", *numbers))
    for item in history.rounds:
        name = f"{'★ ' if item.index == history.chosen else ''}{item.index}"
        control = f"{item.meta + item.judge:,}"
        if item.origin is None:
            blank = ("·",) * 3
            table.add_row(name, "spent", *blank, "·", "·", "·", "·", control, clipped(one_line(item.why, width=200)))
            continue
        finished = item.why != UNFINISHED
        hows = [row.how for row in item.nodes.values()]
        mark = "none" if item.verdict is None else str(item.verdict.quality_score)
        table.add_row(
            name,
            how_words(item),
            str(hows.count("ran")),
            str(hows.count("reused")),
            str(item.errors),
            ("yes" if item.valid else "no") if finished else "…",
            mark if finished else "…",
            f"{item.live:,}",
            f"{item.inherited:,}",
            control,
            clipped(change_words(item)),
            style="bold" if item.index == history.chosen else None,
        )
    return table


def how_words(item: Round) -> str:
    """How a round's team came about: ``initial``, ``edit prompt``, ``restart``; ``spent`` without one."""
    if item.origin is None:
        return "spent"
    return origin_words({"origin": item.origin, "dropped": item.dropped, "edits": item.edits})


def change_words(item: Round) -> str:
    """What a round changed, in a few words: its nodes where it is a new team."""
    if item.workflow is None or (item.change and item.origin not in ("initial", "restart")):
        lines = item.change.splitlines() or [""]
        return one_line(lines[0], width=160) + (f" (and {len(lines) - 1} more)" if len(lines) > 1 else "")
    return one_line(f"{counted(len(item.nodes) or len(item.workflow.nodes), 'node')}: {', '.join(item.workflow.order)}")


def final_words(history: History) -> str:
    """The difference between the first team and the chosen one, a line for each; empty where none is chosen."""
    teams = {item.index: item.workflow for item in history.tried}
    first = next(iter(history.tried), None)
    if first is None or history.chosen is None:
        return ""
    before, after = first.workflow, teams[history.chosen]
    assert before is not None
    assert after is not None
    if before.hash == after.hash:
        return "no difference"
    return diff(before, after).words()


def team_text(history: History, which: str, format: Format | None) -> str:
    """The team that ``which`` names (``K`` or ``chosen``) as a document or a picture, or with ``K1..K2`` what differs between two.

    Raises InputError.
    """
    first, dots, second = which.partition("..")
    before = _team(history, first, which)
    if dots:
        after = _team(history, second, which)
        found = diff(before, after)
        match format:
            case None:
                return found.words() or "no difference"
            case Format.mermaid:
                return diff_mermaid(before, after)
            case Format.json:
                return found.model_dump_json(indent=2)
            case _:
                raise InputError(f"--format {format}: a difference is told in words, or with --format mermaid or json")
    match format:
        case Format.mermaid:
            return to_mermaid(before)
        case Format.dot:
            return to_dot(before)
        case Format.json:
            return before.model_dump_json(indent=2, exclude_defaults=True)
        case _:
            import yaml

            document = before.model_dump(mode="json", exclude_defaults=True)
            return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=110).rstrip()


def _team(history: History, name: str, which: str) -> Workflow:
    if name != CHOSEN:
        item = _round(history, name, f"--workflow {which}: {name!r} is no round: give K, K1..K2 or {CHOSEN!r}")
    elif history.chosen is None:
        raise InputError(f"--workflow {which}: no team is chosen yet; rounds: {_rounds(history)}")
    else:
        item = next(item for item in history.rounds if item.index == history.chosen)
    if item.workflow is None:
        raise InputError(f"round {item.index} gave no team: {one_line(item.why, width=200)}")
    return item.workflow


def _round(history: History, name: str, wrong: str) -> Round:
    if not re.fullmatch(r"[0-9]{1,9}", name):
        raise InputError(wrong)
    for item in history.rounds:
        if item.index == int(name):
            return item
    raise InputError(f"there is no round {int(name)}; rounds: {_rounds(history)}")


def _rounds(history: History) -> str:
    return ", ".join(str(item.index) for item in history.rounds) or "none yet"


def reason(store: Store, sight: Sight, history: History, which: str) -> dict[str, Any]:
    """How the node of ``which``, K:NODE, came by its result in round K, as JSON. Raises InputError."""
    number, colon, id_ = which.partition(":")
    form = f"--why {which}: it takes a round and a node as K:NODE, such as 1:answer"
    if not colon or not id_:
        raise InputError(form)
    item = _round(history, number, form)
    if item.workflow is None:
        raise InputError(f"round {item.index} gave no team: {one_line(item.why, width=200)}")
    if id_ not in item.workflow.by_id:
        raise InputError(f"round {item.index} has no node {id_!r}{near(id_, item.workflow.by_id)}")
    row = item.nodes.get(id_)
    journaled = decided(call_list(store, sight.row.id), item.index, id_) or {}
    record = journaled.get("record")
    return {
        "run": sight.row.id,
        "round": item.index,
        "node": id_,
        "how": row.how if row else UNFINISHED,
        "status": row.status if row else UNFINISHED,
        "why": row.why if row else str(journaled.get("why", "")),
        "key": row.key if row else journaled.get("key"),
        "compared_with": item.parent,
        "changed": [_determinant(line) for line in (row.changed if row else journaled.get("changed", ()))],
        "tokens": row.tokens if row else 0,
        "from": _origin(record) if isinstance(record, dict) else None,
    }


def _determinant(line: str) -> dict[str, str]:
    path, _, change = line.partition(": ")
    return {"determinant": path, "change": change}


def _origin(record: Mapping[str, Any]) -> dict[str, Any]:
    """Who computed a record."""
    spot = spot_of(str(record["scope"]))
    return {
        "run": record["run_id"],
        "scope": record["scope"],
        "round": spot.round if spot else None,
        "node": spot.node if spot else None,
        "model": record.get("model", ""),
        "usage": totals_json(Totals.model_validate(record.get("usage") or {})),
    }


def put_reason(console: Console, found: Mapping[str, Any]) -> None:
    """``reason`` in words."""
    table = render.grid("", "", header=False, fold=True)
    ended = "" if found["status"] in ("completed", found["how"]) else f" and {found['status']}"
    table.add_row("node", styled(f"{found['node']} in round {found['round']}"))
    table.add_row("result", styled(f"{found['how']}{ended}"))
    if found["why"]:
        table.add_row("because", styled(found["why"]))
    compared = "" if found["compared_with"] is None else f" since round {found['compared_with']}"
    for number, change in enumerate(found["changed"]):
        table.add_row(
            f"changed{compared}" if not number else "", styled(f"{change['determinant']}: {change['change']}")
        )
    origin = found["from"]
    if origin is not None:
        where = "this run" if origin["run"] == found["run"] else f"run {origin['run']}"
        spot = f", round {origin['round']}, node {origin['node']}" if origin["node"] else ""
        table.add_row("computed by", styled(f"{where}{spot} (scope {origin['scope']})"))
        usage = origin["usage"]
        unknown = f" + {usage['unknown']} calls with unknown usage" if usage["unknown"] else ""
        cost = f"{usage['prompt']:,} + {usage['completion']:,} tokens{unknown} in {counted(usage['calls'], 'call')} of {origin['model'] or 'no model'}"
        table.add_row("cost there", styled(cost))
    elif found["how"] == "ran":
        table.add_row("cost", f"{found['tokens']:,} tokens")
    table.add_row("record key", styled(found["key"] or "none: it can have no record"))
    put(console, table)
