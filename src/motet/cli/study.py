"""``motet study``: questions that benches of variants answer."""

from __future__ import annotations

from typing import Annotated

import typer

from motet.cli.modes import Mode
from motet.cli.options import (
    EpochsOption,
    HtmlOption,
    JsonOption,
    JudgeModelOption,
    LimitOption,
    MetaModelOption,
    ParallelOption,
    PriceOption,
    ProgressOption,
    SeedOption,
    StoreOption,
    TotalMoneyOption,
    TotalTokensOption,
    WorkerModelOption,
)


def study(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A study; without one, all are listed.")] = None,
    benchmark: Annotated[
        str | None,
        typer.Option("--benchmark", metavar="NAME", help="A benchmark (default: one with invented questions)."),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="The model of all roles (default: a scripted one).")
    ] = None,
    meta_model: MetaModelOption = None,
    judge_model: JudgeModelOption = None,
    worker_model: WorkerModelOption = None,
    worker_models: Annotated[
        list[str] | None,
        typer.Option("--worker-models", metavar="A,B", help="Of the study models: workers to compare."),
    ] = None,
    meta_models: Annotated[
        list[str] | None,
        typer.Option("--meta-models", metavar="A,B", help="Of the study models: meta-models to compare."),
    ] = None,
    judge_models: Annotated[
        list[str] | None, typer.Option("--judge-models", metavar="A,B", help="Of the study models: judges to compare.")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("--models", metavar="A,B", help="Of the study ladder: unequal peers.")
    ] = None,
    peers: Annotated[
        list[str] | None, typer.Option("--peers", metavar="N,M", help="Of the study peers: sizes of teams.")
    ] = None,
    visibility: Annotated[
        list[str] | None,
        typer.Option("--visibility", metavar="A,B", help="Of peers and revisits: what peers are shown of each other."),
    ] = None,
    hub_windows: Annotated[
        list[str] | None,
        typer.Option("--hub-windows", metavar="A,B", help="Of the study hub: tokens that its model is shown at most."),
    ] = None,
    close_at: Annotated[
        list[str] | None,
        typer.Option("--close-at", metavar="A,B", help="Of the study hub: raw tokens that close an episode."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("-c", "--set", metavar="KEY=VALUE", help="A key of every system that has it, in all variants."),
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("-b", metavar="KEY=VALUE", help="An option of the benchmark.")
    ] = None,
    limit: LimitOption = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="K", help="K tasks, chosen by the seed (default: the study's).")
    ] = None,
    seed: SeedOption = 0,
    epochs: EpochsOption = 1,
    parallel: ParallelOption = None,
    total_tokens: TotalTokensOption = None,
    total_money: TotalMoneyOption = None,
    price: PriceOption = None,
    begun: Annotated[
        str | None,
        typer.Option("--from", metavar="RUN[,RUN]", help="Of benches that are there; unfinished ones go on."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what the first bench will take, and run nothing.")
    ] = False,
    html: HtmlOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = Mode.auto,
) -> int:
    """Answer a question about systems by comparing variants of them, with tables, intervals and plots.

    \b
    Examples:
      motet study
      motet study inheritance
      motet study switches --benchmark workbench --html switches.html
      motet study models --worker-models openai:gpt-4o-mini,openai:gpt-4.1 -b questions=official --sample 50
      motet study budget --from 261130-1f,261130-2c --json

    Without further options a study works offline, with invented tasks and a scripted policy: it then shows mechanics and measures nothing.
    """
    import sys

    from motet.cli.benchwork import benchmark_options, check_page, command_line
    from motet.cli.given import budget_from, split_names
    from motet.cli.studywork import Work, list_studies, settings_from
    from motet.errors import InputError
    from motet.models.prices import parse_price
    from motet.runs.budget import Budget
    from motet.store.store import Store
    from motet.studies.catalogue import open_study
    from motet.studies.study import Setup

    if name is None:
        return list_studies(as_json=as_json)
    compared = {
        "worker_models": worker_models,
        "meta_models": meta_models,
        "judge_models": judge_models,
        "models": models,
        "peers": peers,
        "visibility": visibility,
        "hub_windows": hub_windows,
        "close_at": close_at,
    }
    own = {key: tuple(split_names(names)) for key, names in compared.items() if names}
    chosen = open_study(name, own)
    if html is not None:
        check_page(html)
    given = settings_from(
        {"model": model, "meta_model": meta_model, "judge_model": judge_model, "worker_model": worker_model},
        settings or (),
    )
    total = budget_from(tokens=total_tokens, money=total_money, calls=None, seconds=None, flag="--total")
    with Store.open(store) as opened:
        hint = f" --store {opened.name}" if store else ""
        work = Work(chosen, opened, mode=progress, parallel=parallel, html=html, as_json=as_json, hint=hint)
        if begun is not None:
            fixed = [benchmark, limit, sample, given, options, own, dry_run]
            if any(fixed) or (seed, epochs) != (0, 1):
                raise InputError("--from takes benches as they were begun: leave out what would make others")
            return work.go_on(split_names([begun]), total=total, price=parse_price(price) if price else None)
        setup = Setup(
            benchmark=benchmark or chosen.benchmark,
            options=benchmark_options(subset=None, dialect=None, others=options or ()),
            settings=given,
            limit=limit,
            sample=sample,
            seed=seed,
            rest={
                "epochs": epochs,
                "total": total or Budget(),
                "price": parse_price(price) if price else None,
                "command": command_line(sys.argv[1:]),
            },
        )
        return work.forecast(setup) if dry_run else work.begin(setup)
