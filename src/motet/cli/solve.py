"""``motet solve``: give a task to a system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from motet.cli.modes import Mode
from motet.cli.options import (
    CallsOption,
    JsonOption,
    JudgeModelOption,
    MetaModelOption,
    MoneyOption,
    PriceOption,
    ProgressOption,
    SecondsOption,
    StoreOption,
    TokensOption,
    WorkerModelOption,
    YesOption,
)


def solve(
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task as text, - for standard input, or @FILE.")],
    system: Annotated[
        str | None,
        typer.Option("--system", metavar="NAME", help="A system's name, or your own module:Class (default: react)."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="The model; `motet models` lists what is usable here.")
    ] = None,
    meta_model: MetaModelOption = None,
    judge_model: JudgeModelOption = None,
    worker_model: WorkerModelOption = None,
    peers: Annotated[
        int | None,
        typer.Option("--peers", metavar="N", help="How many peers work on the task, for a system with peers."),
    ] = None,
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--tools", metavar="A,B", help="Tools: corpus:FOLDER, python, web, module:function. May be repeated."
        ),
    ] = None,
    world: Annotated[
        str | None, typer.Option("--world", metavar="MODULE:CLASS", help="The world that the system works in.")
    ] = None,
    max_steps: Annotated[int | None, typer.Option("--max-steps", metavar="N", help="Steps of an agent.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", metavar="N", help="Tokens of one reply.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="The seed that is sent with each request.")
    ] = None,
    refresh: Annotated[
        list[str] | None,
        typer.Option(
            "--refresh", metavar="A,B", help="Nodes of a team to work anew, whatever was recorded. May be repeated."
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The system's configuration as YAML.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "-c", "--set", metavar="KEY.PATH=VALUE", help="Any key of the system's configuration. May be repeated."
        ),
    ] = None,
    budget_tokens: TokensOption = None,
    budget_money: MoneyOption = None,
    budget_calls: CallsOption = None,
    budget_seconds: SecondsOption = None,
    price: PriceOption = None,
    allow_weak_sandbox: Annotated[
        bool, typer.Option("--allow-weak-sandbox", help="Let the python tool run without namespaces.")
    ] = False,
    yes: YesOption = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = Mode.auto,
) -> int:
    """Solve a task. The answer goes to standard output, everything else to standard error.

    \b
    Examples:
      motet solve "Who wrote Spem in alium?" --tools corpus:examples/corpus
      motet solve @task.txt --model openai:gpt-4o-mini --tools python --budget-money 0.05
      echo "2 + 2?" | motet solve - --model llama3.2@http://127.0.0.1:11434/v1
      motet solve "..." --config react.yaml -c sampling.temperature=0.2 -c tools=[python]
      motet solve "..." --system fugue --peers 3 --tools corpus:examples/corpus
      motet solve "..." --system inherit --tools my_office:tools --refresh find --yes

    Ctrl-C stops cleanly and leaves the run to be resumed; a second one stops at once.
    """
    from motet.api import solve as work
    from motet.cli.config import read_file, system_from
    from motet.cli.given import budget_from, read_task, split_names
    from motet.cli.sit import sit
    from motet.models.prices import parse_price
    from motet.store.store import Store
    from motet.system import Configured

    flags: dict[str, tuple[tuple[str, ...], Any]] = {
        flag: (path, value)
        for flag, path, value in (
            ("--model", ("model",), model),
            ("--meta-model", ("meta_model",), meta_model),
            ("--judge-model", ("judge_model",), judge_model),
            ("--worker-model", ("worker_model",), worker_model),
            ("--peers", ("peers",), peers),
            ("--tools", ("tools",), split_names(tools) if tools else None),
            ("--max-steps", ("max_steps",), max_steps),
            ("--max-tokens", ("max_tokens",), max_tokens),
            ("--refresh", ("refresh",), split_names(refresh) if refresh else None),
            ("--seed", ("sampling", "seed"), seed),
        )
        if value is not None
    }
    file = read_file(config) if config else None
    built = system_from(system or "react", file=file, flags=flags, settings=settings or ())
    budget = budget_from(tokens=budget_tokens, money=budget_money, calls=budget_calls, seconds=budget_seconds)
    given_price = parse_price(price) if price else None
    question = read_task(task)
    names = [name for name in built.needs().models if isinstance(name, str)] if isinstance(built, Configured) else []
    with Store.open(store) as opened:
        return sit(
            lambda **onlookers: work(
                question,
                system=built,
                world=world,
                budget=budget,
                price=given_price,
                allow_weak_sandbox=allow_weak_sandbox,
                **onlookers,
            ),
            store=opened,
            mode=progress,
            as_json=as_json,
            models=names,
            title=" · ".join([built.name, *names]),
            hint=f" --store {opened.name}" if store else "",
            yes=yes,
        )
