"""``motet store``: check the run store, prune it, move it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from datetime import timedelta

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def store() -> None:
    """Look after the run store. It holds the full text of every prompt and reply.

    \b
    Examples:
      motet store check
      motet store prune --older-than 30d --dry-run
      motet store export backup.jsonl
      motet store export last-run.jsonl --run last
      motet store import backup.jsonl --store sqlite:///other.db
    """


@app.command("path")
def path(store: StoreOption = None) -> int:
    """Print the store's URL, without a password."""
    import sqlalchemy as sa

    from motet.errors import InputError
    from motet.settings import store_url
    from motet.store.engines import shown

    url = store or store_url()
    try:
        typer.echo(shown(sa.make_url(url)))
    except sa.exc.ArgumentError:
        raise InputError(
            f"{url!r} is no database URL; one looks like sqlite:///runs.db or postgresql://host/name"
        ) from None
    return 0


@app.command("check")
def check(store: StoreOption = None, as_json: JsonOption = False) -> int:
    """Check the store: every stored text against its hash, calls against their requests, and that nothing is missing. Exit code 1 when something is wrong."""
    import sys
    from dataclasses import asdict

    from motet.cli.story import counted
    from motet.cli.terminal import is_terminal, json_text, say
    from motet.store.check import check as inspect
    from motet.store.store import Store

    def tell(what: str, done: int, total: int) -> None:
        if is_terminal(sys.stderr):
            sys.stderr.write(f"\r{what}: {done:,} of {total:,}\x1b[K" + ("\r\x1b[K" if done >= total else ""))
            sys.stderr.flush()

    with Store.open(store) as opened:
        report = inspect(opened, progress=tell)
    if as_json:
        sys.stdout.write(f"{json_text({'ok': report.ok, **asdict(report)})}\n")
        return 0 if report.ok else 1
    for problem in report.problems:
        say(f"motet: {problem.text}")
    for note in report.notes:
        say(f"note: {note}")
    checked = f"{report.blobs:,} blobs, {report.calls:,} calls and {report.events:,} events checked"
    typer.echo(f"{checked}: {'all is well' if report.ok else counted(len(report.problems), 'problem')}")
    return 0 if report.ok else 1


@app.command("prune")
def prune(
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Remove finished runs older than this: 30d, 12h, 2w."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> int:
    """Remove old runs, and texts that nothing uses any more. Runs that can still be resumed stay."""
    import sys
    from dataclasses import asdict

    from motet.cli.render import bytes_text
    from motet.cli.story import counted
    from motet.cli.terminal import json_text, say
    from motet.errors import InputError
    from motet.runs.lease import is_live
    from motet.store.prune import prune as remove
    from motet.store.store import Store

    age = parse_age(older_than) if older_than else None
    with Store.open(store) as opened:
        report = remove(opened, older_than=age, is_live=is_live, dry_run=True)
        nothing = not report.run_ids and not report.blobs
        if not dry_run and not nothing:
            what = f"{counted(len(report.run_ids), 'run')} and {counted(report.blobs, 'text')} ({bytes_text(report.content)})"
            if not yes:
                if not sys.stdin.isatty():
                    raise InputError(f"this removes {what}; repeat with --yes, or with --dry-run to see which runs")
                if not typer.confirm(f"Remove {what} from {opened.name}?", err=True):
                    say("nothing was removed")
                    return 0
            report = remove(opened, older_than=age, is_live=is_live)
    if as_json:
        sys.stdout.write(f"{json_text(asdict(report))}\n")
        return 0
    would = "would be removed" if report.dry_run and not nothing else "removed"
    if dry_run:
        for run_id in report.run_ids:
            typer.echo(run_id)
    freed = "" if report.dry_run else f", {bytes_text(report.freed)} freed on disk"
    say(
        f"{counted(len(report.run_ids), 'run')} and {counted(report.blobs, 'text')} ({bytes_text(report.content)}) {would}{freed}"
    )
    if report.unfinished:
        say(f"{len(report.unfinished)} old runs can still be resumed and stay; motet runs rm removes one")
    return 0


@app.command("export")
def export(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, or - for standard output.")],
    run: Annotated[
        list[str] | None, typer.Option("--run", metavar="RUN", help="Only this run, with its cells. May be repeated.")
    ] = None,
    store: StoreOption = None,
) -> int:
    """Write the store, or some of its runs, as one file of JSON lines."""
    import sys

    from motet.cli.terminal import say
    from motet.store.export import export as write
    from motet.store.queries import resolve_run
    from motet.store.store import Store

    with Store.open(store) as opened:
        chosen = list(dict.fromkeys(resolve_run(opened, name).id for name in run)) if run else None
        counts = write(opened, sys.stdout.buffer if str(target) == "-" else target, run_ids=chosen)
    say(
        f"exported {', '.join(f'{number:,} {table}' for table, number in counts.items() if number) or 'an empty store'}"
    )
    return 0


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `motet store export` wrote, or -.")],
    store: StoreOption = None,
) -> int:
    """Bring an export into the store: all of it, or nothing."""
    import sys

    from motet.cli.story import counted
    from motet.cli.terminal import say
    from motet.store.export import import_ as read
    from motet.store.store import Store

    with Store.open(store) as opened:
        report = read(opened, sys.stdin.buffer if str(source) == "-" else source)
    already = f"; {len(report.present)} were there already" if report.present else ""
    # The cells of a bench have its id, a dot and a number.
    whole = [run_id for run_id in report.run_ids if "." not in run_id]
    cells = len(report.run_ids) - len(whole)
    within = f" with {counted(cells, 'cell')}" if cells else ""
    say(f"imported {counted(len(whole), 'run')}{within}{already}")
    for run_id in whole:
        typer.echo(run_id)
    return 0


def parse_age(text: str) -> timedelta:
    """An age such as 30d, 12h, 90m or 2w. Raises InputError."""
    from datetime import timedelta

    from motet.errors import InputError

    units = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    number, unit = text[:-1].strip(), text[-1:].lower()
    try:
        if unit not in units:
            raise ValueError
        age = timedelta(**{units[unit]: float(number)})
        if age < timedelta(0):
            raise ValueError
    except (ValueError, OverflowError):
        raise InputError(f"--older-than {text!r} is no age; one looks like 30d, 12h, 90m or 2w") from None
    return age
