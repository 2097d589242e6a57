"""``motet bench``: every system on the same tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from motet.cli.modes import Mode
from motet.cli.options import (
    CallsOption,
    EngineOption,
    EpochsOption,
    HtmlOption,
    JsonOption,
    JudgeModelOption,
    LimitOption,
    MetaModelOption,
    MoneyOption,
    ParallelOption,
    PriceOption,
    ProgressOption,
    RayAddressOption,
    SecondsOption,
    SeedOption,
    StoreOption,
    TokensOption,
    TotalMoneyOption,
    TotalTokensOption,
    WorkerModelOption,
    WorkersOption,
)


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A benchmark, or your own module:Class.")],
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Recorded runs to judge again, with --replay.")
    ] = None,
    systems: Annotated[
        list[str] | None, typer.Option("--systems", metavar="A,B", help="The systems to compare (default: react).")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="NAME", help="The model of every system.")] = None,
    meta_model: MetaModelOption = None,
    judge_model: JudgeModelOption = None,
    worker_model: WorkerModelOption = None,
    peers: Annotated[
        list[str] | None,
        typer.Option("--peers", metavar="1,2,4", help="Sizes of teams: each system that has peers, once for each."),
    ] = None,
    tools: Annotated[
        list[str] | None, typer.Option("--tools", metavar="A,B", help="Tools beside those of the benchmark.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "-c", "--set", metavar="[SYSTEM.]KEY=VALUE", help="A key of one system, or of every system that has it."
        ),
    ] = None,
    subset: Annotated[
        str | None, typer.Option("--subset", metavar="NAME", help="A named part of the benchmark.")
    ] = None,
    dialect: Annotated[str | None, typer.Option("--dialect", metavar="NAME", help="An edition of its rules.")] = None,
    options: Annotated[
        list[str] | None, typer.Option("-b", metavar="KEY=VALUE", help="Any other option of the benchmark.")
    ] = None,
    limit: LimitOption = None,
    sample: Annotated[int | None, typer.Option("--sample", metavar="K", help="K tasks, chosen by the seed.")] = None,
    seed: SeedOption = 0,
    epochs: EpochsOption = 1,
    parallel: ParallelOption = None,
    engine: EngineOption = None,
    workers: WorkersOption = None,
    ray_address: RayAddressOption = None,
    budget_tokens: TokensOption = None,
    budget_money: MoneyOption = None,
    budget_calls: CallsOption = None,
    budget_seconds: SecondsOption = None,
    total_tokens: TotalTokensOption = None,
    total_money: TotalMoneyOption = None,
    price: PriceOption = None,
    allow_weak_sandbox: Annotated[
        bool, typer.Option("--allow-weak-sandbox", help="Let code run without namespaces.")
    ] = False,
    warm: Annotated[bool, typer.Option("--warm", help="Inherit node results from earlier runs in the store.")] = False,
    replay: Annotated[
        bool, typer.Option("--replay", help="Judge recorded runs from FILEs instead of running anything.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what to expect, and run nothing.")] = False,
    html: HtmlOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = Mode.auto,
) -> int:
    """Run systems on a benchmark and compare them. The report goes to standard output; --budget-… holds for each task.

    \b
    Examples:
      motet bench workbench --systems noop --subset paper130
      motet bench workbench --systems react,noop --model openai:gpt-4o-mini --sample 60 --html report.html
      motet bench workbench --replay results/*.csv
      motet bench workbench --systems react --model embedded --limit 5 --dry-run

    A bench that was interrupted goes on with: motet resume RUN
    """
    import sys

    from motet.bench.plan import draw_up
    from motet.cli.benchwork import (
        Work,
        benchmark_options,
        built_variants,
        check_page,
        command_line,
        forecast_report,
        ray_from,
        replay_report,
    )
    from motet.cli.given import budget_from, numbers, split_names
    from motet.errors import InputError
    from motet.models.prices import parse_price
    from motet.runs.budget import Budget
    from motet.store.store import Store

    benchmark_values = benchmark_options(subset=subset, dialect=dialect, others=options or ())
    if replay != bool(files):
        raise InputError("--replay takes the files of recorded runs, and files are only taken with --replay")
    if files:
        if benchmark_values:
            raise InputError("--replay judges runs as they were recorded; --subset, --dialect and -b do not go with it")
        return replay_report(name, files, as_json=as_json)
    ray = ray_from(engine, workers=workers, address=ray_address)
    if html is not None:
        check_page(html)
    names = split_names(["react"] if systems is None else systems)
    variants = built_variants(
        names,
        peers=numbers(peers or [], flag="--peers"),
        model=model,
        tools=split_names(tools or []),
        settings=settings or (),
        team_models={"meta_model": meta_model, "judge_model": judge_model, "worker_model": worker_model},
    )
    plan = draw_up(
        name,
        [variant.system for variant in variants],
        options=benchmark_values,
        limit=limit,
        sample=sample,
        seed=seed,
        epochs=epochs,
        budget=budget_from(tokens=budget_tokens, money=budget_money, calls=budget_calls, seconds=budget_seconds)
        or Budget(),
        total=budget_from(tokens=total_tokens, money=total_money, calls=None, seconds=None, flag="--total") or Budget(),
        price=parse_price(price) if price else None,
        allow_weak_sandbox=allow_weak_sandbox,
        warm=warm,
        command=command_line(sys.argv[1:]),
    )
    entries = (
        entry.model_copy(
            # A class without fields was made from its name alone, and can be made so again.
            update={"label": given.label} | ({} if entry.config is not None else {"name": given.name, "config": {}})
        )
        for given, entry in zip(variants, plan.systems, strict=True)
    )
    plan = plan.model_copy(update={"systems": tuple(entries)})
    with Store.open(store) as opened:
        if dry_run:
            return forecast_report(opened, plan, as_json=as_json)
        work = Work(
            opened,
            mode=progress,
            as_json=as_json,
            html=html,
            parallel=parallel,
            ray=ray,
            hint=f" --store {opened.name}" if store else "",
        )
        return work.run(plan)
