"""Options that several commands share. Light: imported by ``motet --help``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from motet.cli.modes import Assume, EngineName, Mode

StoreOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help="The run store (default: MOTET_STORE, else MOTET_HOME/motet.db)."),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
ProgressOption: TypeAlias = Annotated[
    Mode, typer.Option("--progress", help="How to show progress, on standard error.", show_default=True)
]
RunArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, or 'last'.")
]
TokensOption: TypeAlias = Annotated[
    int | None, typer.Option("--budget-tokens", metavar="N", min=1, help="Stop before more tokens than this.")
]
MoneyOption: TypeAlias = Annotated[
    float | None, typer.Option("--budget-money", metavar="DOLLARS", help="Stop before more money than this.")
]
CallsOption: TypeAlias = Annotated[
    int | None, typer.Option("--budget-calls", metavar="N", min=1, help="Stop before more model calls than this.")
]
SecondsOption: TypeAlias = Annotated[
    float | None, typer.Option("--budget-seconds", metavar="S", help="Stop after this time at work.")
]
AssumeOption: TypeAlias = Annotated[
    Assume | None, typer.Option("--assume", help="What became of a write that nobody can confirm.")
]
YesOption: TypeAlias = Annotated[bool, typer.Option("--yes", help="Carry out a team's plan of writes without asking.")]
MetaModelOption: TypeAlias = Annotated[
    str | None, typer.Option("--meta-model", metavar="NAME", help="The model that designs and edits teams.")
]
JudgeModelOption: TypeAlias = Annotated[
    str | None, typer.Option("--judge-model", metavar="NAME", help="The model that judges teams.")
]
WorkerModelOption: TypeAlias = Annotated[
    str | None, typer.Option("--worker-model", metavar="NAME", help="The model of a team's members.")
]
PriceOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--price", metavar="IN,OUT", help="Dollars per million tokens, for a model whose price is not known."),
]

# Of what a bench is made of.

LimitOption: TypeAlias = Annotated[int | None, typer.Option("--limit", metavar="N", help="The first N tasks.")]
SeedOption: TypeAlias = Annotated[int, typer.Option("--seed", metavar="S", help="Of the sample and of the intervals.")]
EpochsOption: TypeAlias = Annotated[
    int, typer.Option("--epochs", metavar="E", min=1, help="How often each task is done.")
]

# Of a bench, whether it is begun or resumed.

ParallelOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--parallel", metavar="N", min=1, help="Tasks at a time, per process (8; embedded models: 1)."),
]
EngineOption: TypeAlias = Annotated[
    EngineName | None, typer.Option("--engine", help="This process, or the processes of Ray (default: local).")
]
WorkersOption: TypeAlias = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Processes of the Ray engine (default: 2).")
]
RayAddressOption: TypeAlias = Annotated[
    str | None, typer.Option("--ray-address", metavar="HOST:PORT", help="A Ray cluster that is running already.")
]
TotalTokensOption: TypeAlias = Annotated[
    int | None, typer.Option("--total-tokens", metavar="N", min=1, help="For the whole bench.")
]
TotalMoneyOption: TypeAlias = Annotated[
    float | None, typer.Option("--total-money", metavar="DOLLARS", help="For the whole bench.")
]
HtmlOption: TypeAlias = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the report with plots there.")
]
