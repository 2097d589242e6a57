"""The command's front: its subcommands, and what becomes of errors.

Modules of commands import at the top only what ``motet --help`` needs; the rest is imported when a command runs.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from motet.cli import bench, check, compare, doctor, inherit, models, resume, runs, show, solve, store, study
from motet.cli.terminal import clean, prepare, say
from motet.version import __version__

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="motet",
    # Plain help: laid out as it is written, and it keeps rich out of start-up.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 bad input, 3 stopped on a budget, 130 interrupted.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"motet {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Teams of language-model agents: run them, resume them, look inside and compare.

    \b
    Try it with the embedded model and the text files of a folder:
      motet models get smollm2
      motet solve "Who wrote Spem in alium?" --tools corpus:FOLDER
      motet show last --calls
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("solve")(solve.solve)
app.command("bench")(bench.bench)
app.command("study")(study.study)
app.command("resume")(resume.resume)
app.add_typer(runs.app, name="runs", short_help="List runs; remove some; stop one.")
inherit.app.command("check")(check.check)
app.add_typer(inherit.app, name="inherit", short_help="Check a workflow, and what inheritance promises.")
app.command("show")(show.show)
app.command("compare")(compare.compare)
app.add_typer(models.app, name="models", short_help="Show which models are usable here.")
app.add_typer(store.app, name="store", short_help="Check, prune, export and import the store.")
app.command("doctor")(doctor.doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. Nothing but an exit code and a line on standard error comes of an error."""
    prepare()
    try:
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False, prog_name="motet")
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read standard output has seen enough. Nothing more can be written there, not even by the interpreter's last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return OK
    except (KeyboardInterrupt, typer.Abort):
        say("motet: interrupted")
        return INTERRUPTED
    except typer.TyperException as error:
        return _usage(error)
    except Exception as error:  # noqa: BLE001 - the last place where anything can be caught
        return _failed(error)
    return code if isinstance(code, int) else OK


def _usage(error: typer.TyperException) -> int:
    """Say what was wrong with the command line."""
    context = getattr(error, "ctx", None)
    lines = error.format_message().strip().splitlines()
    if len(lines) > 1:
        # Help that was asked for by leaving everything out.
        say("\n".join(lines))
    else:
        hint = f"; see {context.command_path} --help" if context is not None else ""
        say(f"motet: {' '.join(lines).rstrip('.')}{hint}")
    return error.exit_code


def _failed(error: Exception) -> int:
    """Say what went wrong in one line, and whose fault it is."""
    from motet.errors import InputError, MotetError, StoreError

    debug = os.environ.get("MOTET_DEBUG", "") not in ("", "0")
    if debug:
        # Cleaned, since an exception's text may come from a model or a tool.
        sys.stderr.write(clean("".join(traceback.format_exception(error))))
    text = " ".join(str(error).split())
    if isinstance(error, MotetError):
        say(f"motet: {text}")
        # A store that cannot be opened or read is bad input: nothing has begun.
        return BAD_INPUT if isinstance(error, InputError | StoreError) else FAILED
    if isinstance(error, OSError):
        # A full disk, a file that may not be read: the machine's trouble, and no bug.
        say(f"motet: {text}")
        return FAILED
    more = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    more += "" if debug else "; MOTET_DEBUG=1 shows where"
    say(f"motet: {type(error).__name__}: {text} (this is a bug in Motet or in code of yours that it loaded{more})")
    return FAILED
