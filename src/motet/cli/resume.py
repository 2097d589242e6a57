"""``motet resume``: go on with a run from where it stood."""

from __future__ import annotations

from motet.cli.modes import Mode
from motet.cli.options import (
    AssumeOption,
    CallsOption,
    EngineOption,
    HtmlOption,
    JsonOption,
    MoneyOption,
    ParallelOption,
    PriceOption,
    ProgressOption,
    RayAddressOption,
    RunArgument,
    SecondsOption,
    StoreOption,
    TokensOption,
    TotalMoneyOption,
    TotalTokensOption,
    WorkersOption,
    YesOption,
)


def resume(
    run: RunArgument,
    assume: AssumeOption = None,
    yes: YesOption = False,
    budget_tokens: TokensOption = None,
    budget_money: MoneyOption = None,
    budget_calls: CallsOption = None,
    budget_seconds: SecondsOption = None,
    price: PriceOption = None,
    total_tokens: TotalTokensOption = None,
    total_money: TotalMoneyOption = None,
    parallel: ParallelOption = None,
    engine: EngineOption = None,
    workers: WorkersOption = None,
    ray_address: RayAddressOption = None,
    html: HtmlOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = Mode.auto,
) -> int:
    """Go on with a run. What it was answered before is read back and paid for no second time.

    \b
    Examples:
      motet resume last
      motet resume 261130-1f --budget-tokens 50000
      motet resume last --assume done
      motet resume last --yes
      motet resume 261130-7b --total-money 5 --parallel 16

    A limit given here replaces that limit of the run; what was spent stays spent. The options from --total-tokens to --html are for benches.
    """
    import asyncio

    from motet.api import resume as work
    from motet.cli.given import budget_from
    from motet.cli.sit import sit
    from motet.errors import InputError
    from motet.models.prices import parse_price
    from motet.runs.budget import Budget
    from motet.runs.sitting import read_config
    from motet.store.queries import resolve_run
    from motet.store.store import Store

    given_price = parse_price(price) if price else None
    with Store.open(store) as opened:
        row = resolve_run(opened, run)
        hint = f" --store {opened.name}" if store else ""
        if row.parent is not None:
            raise InputError(
                f"run {row.id} is a cell of bench {row.parent}; resume that: motet resume {row.parent}{hint}"
            )
        a_tasks = [budget_tokens, budget_money, budget_calls, budget_seconds]
        a_bench = [total_tokens, total_money, parallel, engine, workers, ray_address, html]
        if row.kind == "bench":
            from motet.bench.runner import read_plan
            from motet.cli.benchwork import Work, check_page, ray_from

            if yes:
                raise InputError(f"run {row.id} is a bench, which carries out plans of writes without asking")
            if any(value is not None for value in a_tasks):
                raise InputError(
                    f"run {row.id} is a bench: every task of it has the same budget, which stays; --total-tokens and --total-money are the whole bench's"
                )
            ray = ray_from(engine, workers=workers, address=ray_address)
            if html is not None:
                check_page(html)
            plan = asyncio.run(read_plan(opened, row.id))
            bench = Work(opened, mode=progress, as_json=as_json, html=html, parallel=parallel, ray=ray, hint=hint)
            return bench.resume(
                row.id,
                plan,
                total=budget_from(tokens=total_tokens, money=total_money, calls=None, seconds=None, flag="--total"),
                price=given_price,
                assume=assume.value if assume else None,
            )
        if any(value is not None for value in a_bench):
            raise InputError(f"run {row.id} is no bench: it takes --budget-…, --price and --assume")
        config, _ = asyncio.run(read_config(opened, row.id))
        limits = config.get("budget") if isinstance(config, dict) else None
        base = Budget.model_validate(limits) if limits else None
        budget = budget_from(
            tokens=budget_tokens, money=budget_money, calls=budget_calls, seconds=budget_seconds, base=base
        )
        models = [name for name in row.model.split(", ") if name]
        return sit(
            lambda **onlookers: work(
                row.id, budget=budget, price=given_price, assume=assume.value if assume else None, **onlookers
            ),
            store=opened,
            mode=progress,
            as_json=as_json,
            models=models,
            title=" · ".join([row.system, *models]),
            run_id=row.id,
            hint=hint,
            yes=yes,
        )
