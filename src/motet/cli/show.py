"""``motet show``: look inside a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from motet.cli.modes import Format
from motet.cli.options import HtmlOption, JsonOption, RunArgument, StoreOption

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from motet.cli.sight import Sight
    from motet.inherit.history import History
    from motet.store.queries import CallRow, EventRow
    from motet.store.store import Store

_TIMELINE = 24  # events in the short timeline: the first and the last ones


def show(
    run: RunArgument,
    calls: Annotated[bool, typer.Option("--calls", help="List every call.")] = False,
    call: Annotated[
        str | None, typer.Option("--call", metavar="SCOPE:ORDINAL", help="One call with all its messages.")
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="The whole timeline.")] = False,
    why: Annotated[
        str | None, typer.Option("--why", metavar="K:NODE", help="Why a team's node ran or was reused in round K.")
    ] = None,
    workflow: Annotated[
        str | None,
        typer.Option("--workflow", metavar="K", help="The team of round K or 'chosen'; K1..K2: what differs."),
    ] = None,
    format: Annotated[
        Format | None, typer.Option("--format", help="How --workflow writes it (default: yaml).", show_default=False)
    ] = None,
    html: HtmlOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Look inside a run.

    Its answer, what it cost, what happened, and every call it made; of teams that evolved, their rounds. Of a bench: its report, also while it is at work. --html writes that
    report, or of a team of peers who did what when, as a page.

    \b
    Examples:
      motet show last
      motet show 261130-1f --calls
      motet show last --call 4f1d0c7a2b9e:0
      motet show last --json --calls --events
      motet show last --why 2:answer
      motet show last --workflow 0..chosen --format mermaid
      motet show last --html team.html
    """
    import sys

    from motet.cli.calls import calls_table, find_call, print_call
    from motet.cli.sight import events_of, look
    from motet.cli.terminal import clean, json_text, output, put
    from motet.errors import InputError
    from motet.store.queries import call_list, resolve_run
    from motet.store.store import Store

    if why is not None and workflow is not None:
        raise InputError("--why and --workflow are different questions; give one of them")
    if format is not None and (workflow is None or (as_json and format is not Format.json)):
        raise InputError(f"--format {format} is for --workflow, without --json")
    with Store.open(store) as opened:
        row = resolve_run(opened, run)
        if row.kind == "bench":
            from motet.cli.benchwork import show_bench

            if calls or call is not None or events or why is not None or workflow is not None:
                raise InputError(
                    f"run {row.id} is a bench, and its cells made the calls: motet show {row.id}.1 --calls shows the first one's"
                )
            return show_bench(opened, row.id, as_json=as_json, html=html)
        made = call_list(opened, row.id) if calls or call is not None else []
        if call is not None:
            one = find_call(made, call, run_id=row.id)
            if as_json:
                sys.stdout.write(f"{json_text(_plain(one))}\n")
            else:
                print_call(output(), one)
            return 0
        sight = look(opened, row)
        happened = events_of(opened, row.id)
        if html is not None:
            _write_page(opened, sight, happened, html)
        history = _history(opened, sight, happened)
        if why is not None or workflow is not None:
            from motet.cli.evolution import put_reason, reason, team_text

            if history is None:
                raise InputError(f"run {row.id} has no rounds: --why and --workflow look into teams that evolved")
            if workflow is not None:
                sys.stdout.write(f"{clean(team_text(history, workflow, Format.json if as_json else format))}\n")
                return 0
            assert why is not None
            found = reason(opened, sight, history, why)
            if as_json:
                sys.stdout.write(f"{json_text(found)}\n")
            else:
                put_reason(output(), found)
            return 0
    if as_json:
        sys.stdout.write(
            f"{json_text(_document(sight, happened, made, history, with_calls=calls, with_events=events))}\n"
        )
        return 0
    console = output()
    _head(console, sight)
    if sight.result is not None and not calls:
        _outcome(console, sight)
    if history is not None and not calls:
        from motet.cli.evolution import put_history

        put_history(console, history)
    _costs(console, sight)
    if calls:
        console.print()
        put(console, calls_table(made))
        console.print(f"one of them: motet show {row.id} --call SCOPE:ORDINAL", style="dim")
    else:
        _timeline(console, happened, whole=events)
    return 0


def _write_page(store: Store, sight: Sight, happened: list[EventRow], path: Path) -> None:
    from motet.cli.benchwork import check_file
    from motet.cli.swimlane import render_page
    from motet.cli.terminal import say

    check_file(path)
    path.write_text(render_page(store, sight, happened), encoding="utf-8")
    say(f"wrote {path}")


def _history(store: Store, sight: Sight, happened: list[EventRow]) -> History | None:
    # Asked first, so that runs of other systems are shown without loading what they do not need.
    if not any(event.kind.startswith("inherit.") for event in happened):
        return None
    from motet.cli.evolution import history_of

    return history_of(store, sight, happened)


def _head(console: Console, sight: Sight) -> None:
    from motet.cli import render
    from motet.cli.story import counted
    from motet.cli.terminal import put, styled

    row = sight.row
    table = render.grid("", "", header=False, fold=True)
    table.add_row("run", row.id)
    status = styled(sight.status, style=render.status_style(sight.status))
    if sight.status == "interrupted":
        status.append(f"   resume with: motet resume {row.id}", style="dim")
    table.add_row("status", status)
    table.add_row("system", styled(f"{row.system}   {_settings(sight)}"))
    table.add_row("model", styled(row.model))
    table.add_row("began", f"{render.date_text(row.created)} ({render.age_text(row.created)})")
    table.add_row("work", f"{render.seconds_text(row.elapsed)} in {counted(row.fence, 'sitting')}")
    for task in sight.tasks[:5]:
        table.add_row("task", styled(task.question.strip()))
    if len(sight.tasks) > 5:
        table.add_row("", f"and {len(sight.tasks) - 5} more tasks")
    if row.error:
        table.add_row("error", styled(row.error, style="red"))
    put(console, table)
    for note in render.model_notes(row.model.split(", ")):
        console.print(f"note: {note}", style="yellow")


def _outcome(console: Console, sight: Sight) -> None:
    from motet.cli.render import sources_table
    from motet.cli.terminal import put, styled

    result = sight.result
    assert result is not None
    console.print()
    if result.answer is None:
        console.print("no answer", style="dim")
    else:
        console.print("answer", style="bold")
        console.print(styled(result.answer), soft_wrap=True)
    if result.sources:
        console.print()
        put(console, sources_table(result.sources))


def _costs(console: Console, sight: Sight) -> None:
    from motet.cli.render import ledger_table
    from motet.cli.terminal import put

    for by in ("role", "scope"):
        groups = sight.columns(by)
        if groups and (by == "role" or len(groups) > 1):
            console.print()
            put(console, ledger_table(groups, by=by, origins=("paid", "inherited")))
    limits = _limits(sight)
    if limits:
        console.print()
        for name, used, limit, beyond in limits:
            # A resumed run may have been given more than its configuration says.
            console.print(f"budget {name}: {used} of {limit}{' at the start, raised later' if beyond else ''}")


def _limits(sight: Sight) -> list[tuple[str, str, str, bool]]:
    """The limits given at the start, what was charged against them, and whether that is more."""
    budget, spent, seconds = sight.budget, sight.spent, sight.row.elapsed
    shown: list[tuple[str, str, str, bool]] = []
    if budget.tokens is not None:
        shown.append(("tokens", f"{spent.tokens:,}", f"{budget.tokens:,}", spent.tokens > budget.tokens))
    if budget.money is not None:
        shown.append(("money", f"${spent.money:.4f}", f"${budget.money:.4f}", spent.money > budget.money))
    if budget.calls is not None:
        shown.append(("calls", f"{spent.calls:,}", f"{budget.calls:,}", spent.calls > budget.calls))
    if budget.seconds is not None:
        # The clock is looked at between two calls, so a run may end a moment after its time.
        shown.append(("seconds", f"{seconds:.1f}", f"{budget.seconds:g}", False))
    return shown


def _timeline(console: Console, happened: list[EventRow], *, whole: bool) -> None:
    from motet.cli.sight import errors_by_kind
    from motet.cli.story import sentence
    from motet.cli.terminal import styled

    trouble = errors_by_kind(happened)
    if trouble:
        console.print()
        console.print("errors", style="bold")
        for kind, number in trouble.most_common():
            console.print(styled(f"  {number:,} × {kind}", style="yellow"))
    if not happened:
        return
    console.print()
    console.print("timeline", style="bold")
    half = _TIMELINE // 2
    left_out = 0 if whole or len(happened) <= _TIMELINE else len(happened) - 2 * half
    start = happened[0].time
    for position, event in enumerate(happened):
        if left_out and half <= position < len(happened) - half:
            if position == half:
                console.print(f"           … {left_out:,} more events: --events shows them", style="dim")
            continue
        payload = event.payload if isinstance(event.payload, dict) else {}
        where = f"{event.scope}  " if event.scope else ""
        console.print(styled(f"{event.time - start:8.1f}s  {where}{sentence(event.kind, payload)}"), soft_wrap=True)


def _document(
    sight: Sight,
    happened: list[EventRow],
    made: list[CallRow],
    history: History | None,
    *,
    with_calls: bool,
    with_events: bool,
) -> dict[str, Any]:
    from dataclasses import asdict

    from motet.cli.sight import errors_by_kind, totals_json

    row = sight.row
    document: dict[str, Any] = {
        "run": row.id,
        "kind": row.kind,
        "status": sight.status,
        "system": row.system,
        "model": row.model,
        "created": row.created,
        "updated": row.updated,
        "seconds": row.elapsed,
        "sittings": row.fence,
        "error": row.error,
        "config": sight.config,
        "tasks": [task.model_dump(mode="json") for task in sight.tasks],
        "result": sight.result.model_dump(mode="json") if sight.result else None,
        "spent": asdict(sight.spent),
        "ledger": {
            by: {
                name: {origin: totals_json(totals) for origin, totals in columns.items()}
                for name, columns in sight.columns(by).items()
            }
            for by in ("role", "scope", "model")
        },
        "errors": dict(errors_by_kind(happened)),
        "evolution": history.model_dump(mode="json") if history else None,
    }
    if with_calls:
        document["calls"] = [_plain(call) for call in made]
    if with_events:
        document["events"] = [_plain(event) for event in happened]
    return document


def _plain(row: CallRow | EventRow) -> dict[str, Any]:
    """A row for JSON."""
    from dataclasses import fields

    from pydantic import TypeAdapter

    plain: dict[str, Any] = TypeAdapter(dict[str, Any]).dump_python(
        {field.name: getattr(row, field.name) for field in fields(row)}, mode="json"
    )
    return plain


def _settings(sight: Sight) -> str:
    """The system's configuration beyond its defaults, in one line."""
    from motet.cli.terminal import one_line

    system = sight.config.get("system")
    config = system.get("config") if isinstance(system, dict) else None
    if not isinstance(config, dict):
        return ""
    return one_line(" ".join(f"{key}={value}" for key, value in config.items() if key != "model"), width=120)
