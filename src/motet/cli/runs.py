"""``motet runs``: list runs, remove them, ask one to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from motet.cli.options import JsonOption, RunArgument, StoreOption

if TYPE_CHECKING:
    from motet.store.queries import RunRow
    from motet.store.store import Store

STATUSES = ("running", "interrupted", "completed", "budget", "cancelled", "failed", "unconfirmed")
_PAGE = 200

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def runs(
    context: typer.Context,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help=f"One of {', '.join(STATUSES)}.")
    ] = None,
    system: Annotated[str | None, typer.Option("--system", metavar="NAME", help="Runs of this system.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Runs whose task or id holds this.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many, the newest.")] = 20,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the runs in the store, the newest first; remove them; ask one to stop.

    \b
    Examples:
      motet runs --status interrupted
      motet runs --text motet --limit 5 --json
      motet runs rm 261130-1f 261129-a0
      motet runs cancel last
    """
    if context.invoked_subcommand is not None:
        return 0
    import sys

    from motet.cli import render
    from motet.cli.terminal import clipped, json_text, one_line, output, put, say, styled
    from motet.errors import InputError
    from motet.settings import nearest
    from motet.store.store import Store

    if status is not None and status not in STATUSES:
        raise InputError(f"unknown status {status!r}{nearest(status, STATUSES)}")
    with Store.open(store) as opened:
        found = find(opened, status=status, system=system, text=text, limit=limit)
        listed = [_facts(opened, row, shown) for row, shown in found]
    if as_json:
        sys.stdout.write(f"{json_text(listed)}\n")
        return 0
    if not listed:
        say("no such run" if status or system or text else "there is no run yet; begin one with: motet solve TASK")
        return 0
    table = render.grid("run", "status", "system", "model", "when", "time", "tokens", "task", right=("time", "tokens"))
    for facts in listed:
        unknown = f" + {facts['unknown']} unknown" if facts["unknown"] else ""
        table.add_row(
            facts["run"],
            styled(facts["status"], style=render.status_style(facts["status"])),
            styled(one_line(facts["system"], width=30)),
            styled(one_line(facts["model"], width=30)),
            render.age_text(facts["created"]),
            render.seconds_text(facts["seconds"]),
            f"{facts['tokens']:,}{unknown}",
            clipped(one_line(facts["task"], width=300)),
        )
    put(output(), table)
    return 0


@app.command("rm")
def remove(
    names: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs by id, the beginning of one, or 'last'.")],
    store: StoreOption = None,
) -> int:
    """Remove runs with their calls and events. What only they used goes with the next `motet store prune`."""
    from motet.cli.terminal import say
    from motet.runs.lease import is_live
    from motet.store.prune import remove_run
    from motet.store.queries import resolve_run
    from motet.store.store import Store

    with Store.open(store) as opened:
        # All are looked up before any is removed: a misspelt name leaves everything as it was.
        chosen = list(dict.fromkeys(resolve_run(opened, name).id for name in names))
        for run_id in chosen:
            remove_run(opened, run_id, is_live=is_live)
            say(f"removed run {run_id}")
    return 0


@app.command("cancel")
def cancel(run: RunArgument, store: StoreOption = None) -> int:
    """Ask whoever works on a run to stop, also on another machine. The run can be resumed."""
    import asyncio

    from motet.cli.terminal import say
    from motet.errors import InputError
    from motet.runs.lease import request_cancel, shown_status
    from motet.store.queries import resolve_run
    from motet.store.store import Store

    with Store.open(store) as opened:
        row = resolve_run(opened, run)
        if not asyncio.run(request_cancel(opened, row.id)):
            status = shown_status(row.status, row.owner, row.heartbeat)
            raise InputError(f"nobody is working on run {row.id}: it is {status}")
        say(f"run {row.id} is asked to stop; its process looks every few seconds")
    return 0


def find(
    store: Store, *, status: str | None, system: str | None, text: str | None, limit: int
) -> list[tuple[RunRow, str]]:
    """Runs with the status that people are shown, the newest first. A run whose owner is gone is interrupted, whatever its row says."""
    from motet.runs.lease import shown_status
    from motet.store.queries import run_list

    stored = "running" if status == "interrupted" else status
    found: list[tuple[RunRow, str]] = []
    before: str | None = None
    while len(found) < limit:
        page = run_list(store, status=stored, system=system, text=text, limit=min(limit, _PAGE), before=before)
        if not page:
            break
        for row in page:
            shown = shown_status(row.status, row.owner, row.heartbeat)
            if status is None or shown == status:
                found.append((row, shown))
        before = page[-1].id
    return found[:limit]


def _facts(store: Store, row: RunRow, status: str) -> dict[str, Any]:
    from motet.store.queries import totals
    from motet.usage import Totals

    whole = sum((line.totals for line in totals(store, row.id, by="model") if line.origin != "inherited"), Totals())
    return {
        "run": row.id,
        "kind": row.kind,
        "status": status,
        "system": row.system,
        "model": row.model,
        "created": row.created,
        "seconds": row.elapsed,
        "calls": whole.calls,
        "tokens": whole.tokens,
        "unknown": whole.unknown,
        "money": whole.money,
        "unpriced": whole.unpriced,
        "task": row.title,
        "error": row.error,
    }
