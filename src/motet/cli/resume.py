"""``motet resume``: go on with a run from where it stood."""

from __future__ import annotations

from motet.cli.modes import Mode
from motet.cli.options import (
    AssumeOption,
    CallsOption,
    JsonOption,
    MoneyOption,
    PriceOption,
    ProgressOption,
    RunArgument,
    SecondsOption,
    StoreOption,
    TokensOption,
)


def resume(
    run: RunArgument,
    assume: AssumeOption = None,
    budget_tokens: TokensOption = None,
    budget_money: MoneyOption = None,
    budget_calls: CallsOption = None,
    budget_seconds: SecondsOption = None,
    price: PriceOption = None,
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

    A limit given here replaces that limit of the run; what was spent stays spent.
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
        if row.kind == "bench":
            from motet.bench.runner import read_plan
            from motet.cli.benchwork import Work

            plan = asyncio.run(read_plan(opened, row.id))
            return Work(opened, mode=progress, as_json=as_json, hint=hint).resume(row.id, plan)
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
        )
