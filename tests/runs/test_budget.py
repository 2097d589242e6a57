"""Budgets: what is spent and what is in flight never pass a limit, and what was spent stays spent."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from motet.api import solve
from motet.errors import BadReply, BudgetExceeded, InputError, ModelDenied, ModelError, ModelUnavailable
from motet.models.gate import Gate, Gated
from motet.models.model import Price, Reply, Request
from motet.runs.budget import Account, Budget, Charge, charge, reservation
from motet.runs.run import Run
from motet.store.store import Store
from motet.task import Result, Task
from motet.usage import Usage
from tests.runs.desk import (
    TASK,
    Answer,
    Does,
    Says,
    ask,
    done,
    echo,
    go,
    interrupted,
    new_run,
    rows,
    side_by_side,
    sit,
    work_once,
)

PRICE = Price(prompt=1e4, completion=2e4)  # a cent and two for a token


def spent(tokens: int) -> Usage:
    return Usage(prompt=tokens - 1, completion=1)


# Accounts

amounts = st.builds(Charge, tokens=st.integers(0, 60), money=st.integers(0, 60).map(float), calls=st.integers(0, 2))
budgets = st.builds(
    Budget,
    tokens=st.none() | st.integers(1, 200),
    money=st.none() | st.integers(1, 200).map(float),
    calls=st.none() | st.integers(1, 6),
)


# Whose account, how much, and which of the calls in flight then comes back with which part of its tokens, if any does.
steps = st.tuples(
    st.sampled_from(["root", "left", "right"]), amounts, st.none() | st.tuples(st.integers(0, 9), st.floats(0, 1))
)


@given(budgets, budgets, st.lists(steps, max_size=30))
@settings(max_examples=200, deadline=None)
def test_no_account_ever_holds_more_than_its_budget(
    whole: Budget, part: Budget, calls: list[tuple[str, Charge, tuple[int, float] | None]]
) -> None:
    """Whatever is reserved, settled at any part of its reservation, or refused, in whatever order; and a refusal changes nothing."""
    root = Account(whole, name="the run")
    left, right = Account(part, name="left", parent=root), Account(Budget(), name="right", parent=root)
    accounts = {"root": root, "left": left, "right": right}
    in_flight: list[tuple[Account, Charge]] = []

    def state() -> list[tuple[Charge, Charge]]:
        return [(account.spent, account.reserved) for account in accounts.values()]

    for name, amount, settled in calls:
        before = state()
        try:
            accounts[name].reserve(amount)
            in_flight.append((accounts[name], amount))
        except BudgetExceeded:
            assert state() == before
        if in_flight and settled is not None:
            account, held = in_flight.pop(settled[0] % len(in_flight))
            account.settle(held, replace(held, tokens=int(held.tokens * settled[1])))
        for account in accounts.values():
            total = account.spent + account.reserved
            assert account.budget.tokens is None or total.tokens <= account.budget.tokens
            assert account.budget.money is None or total.money <= account.budget.money
            assert account.budget.calls is None or total.calls <= account.budget.calls
    for account, held in in_flight:
        account.settle(held, Charge())
    assert all(account.reserved == Charge() for account in accounts.values())


@pytest.mark.parametrize(
    ("budget", "amount", "limit", "told"),
    [
        (Budget(tokens=1000), Charge(tokens=1001), "tokens", "may need 1,001, and 1,000 of 1,000 are left"),
        (Budget(money=0.5), Charge(money=0.75), "money", "may need $0.7500, and $0.5000 of $0.5000 are left"),
        (Budget(calls=1), Charge(calls=2), "calls", "the calls budget of the run is used up"),
    ],
)
def test_a_refusal_names_the_account_the_limit_and_what_is_left(
    budget: Budget, amount: Charge, limit: str, told: str
) -> None:
    """So that a person knows which number to raise, and by how much."""
    with pytest.raises(BudgetExceeded, match=told.replace("$", r"\$").replace(".", r"\.")) as caught:
        Account(budget, name="the run").reserve(amount)
    assert caught.value.limit == limit


@pytest.mark.parametrize("limit", ["tokens", "money", "calls", "seconds"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_budget_of_nothing_is_no_budget(limit: str, value: int) -> None:
    """A limit is more than zero; no limit is ``None``."""
    with pytest.raises(ValidationError):
        Budget.model_validate({limit: value})


def test_known_usage_is_charged_as_it_is_and_unknown_at_its_reservation() -> None:
    """For the attempt that answered and for each that failed."""
    request = ask("x" * 300, max_tokens=50)
    once = reservation(request, PRICE)
    assert once.tokens > 50 + 100
    assert once.money == pytest.approx(0.01 * (once.tokens - 50) + 0.02 * 50)
    total = charge(request, PRICE, (Usage(prompt=3, completion=2), Usage(prompt=3), Usage()))
    assert total.tokens == 5 + 2 * once.tokens
    assert total.money == pytest.approx(0.07 + 2 * once.money)
    assert total.calls == 3
    assert charge(request, None, (Usage(),)).money == 0


# In a run


@given(seed=st.integers(0, 2**32), limit=st.integers(100, 900), width=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_a_run_never_spends_more_than_its_budget(store: Store, seed: int, limit: int, width: int) -> None:
    """Replies, failures, retries, unknown usage and cancellations side by side in any order: spent and reserved stay within the limits, and
    a resumed run starts from exactly what the accounts and the ledger held in the end.
    """
    rng = random.Random(seed)
    whole, part = Budget(tokens=limit), Budget(tokens=max(limit // 2, 1))
    accounts: list[Account] = []

    def check() -> None:
        for account in accounts:
            assert account.budget.tokens is None or (account.spent + account.reserved).tokens <= account.budget.tokens

    async def erratic(request: Request) -> Answer:
        for _ in range(rng.randrange(4)):
            await asyncio.sleep(0)
        check()
        empty = BadReply("empty", billed=True)
        empty.retryable, empty.lost = True, (spent(20),)
        answers: list[Answer] = [
            ModelUnavailable("reset", billed=True),
            ModelUnavailable("no connection"),
            empty,
            ModelDenied("no"),
            Reply(text="of unknown usage"),
            Reply(text="ok", usage=spent(rng.randint(2, reservation(request, PRICE).tokens))),
        ]
        return rng.choice(answers)

    async def at_once(_seconds: float) -> None:
        await asyncio.sleep(0)

    model = Gated(Says(erratic, price=PRICE), Gate(3, attempts=4, sleep=at_once, rng=rng))

    async def work(_task: Task, run: Run) -> Result:
        scopes = [run.child(f"peer-{n}", budget=part) for n in range(width)]
        accounts[:] = [run._account, *(scope._account for scope in scopes)]

        async def peer(scope: Run) -> None:
            for step in range(4):
                asked = scope.model(model, role="r").reply(ask(f"step {step}", max_tokens=50))
                call = asyncio.ensure_future(asked)
                if rng.random() < 0.2:
                    asyncio.get_running_loop().call_soon(call.cancel)
                try:
                    await call
                except (ModelError, BudgetExceeded, asyncio.CancelledError):
                    check()

        await side_by_side([peer(scope) for scope in scopes])
        assert all(account.reserved.tokens == 0 and account.reserved.calls == 0 for account in accounts)
        return done("x")

    async def main() -> None:
        run_id = await new_run(store)
        first = await work_once(store, run_id, work, budget=whole)
        async with sit(store, run_id) as sitting:
            task = sitting.root.child(TASK.id, budget=Budget())
            scopes = [task, *(task.child(f"peer-{n}", budget=Budget()) for n in range(width))]
            for scope, account in zip(scopes, [*accounts], strict=True):
                # The task itself had no budget of its own, so its account is the run's.
                assert scope.spent().tokens == account.spent.tokens
                assert scope.spent().calls == account.spent.calls
                assert scope.spent().money == pytest.approx(account.spent.money)
            earlier = sitting.root.ledger.total("earlier")
            assert earlier.model_copy(update={"money": 0}) == first.usage.model_copy(update={"money": 0})
            assert earlier.money == pytest.approx(first.usage.money)

    go(main())


def test_a_reply_larger_than_its_reservation_stops_the_next_call(store: Store) -> None:
    """A server that ignores max_tokens can overshoot by the calls in flight, and by no more."""
    model = Says(echo, usage=spent(5000))

    async def work(_task: Task, run: Run) -> Result:
        asked = run.model(model, role="r")
        await asked.reply(ask("one"))
        await asked.reply(ask("two"))
        return done("x")

    async def main() -> Result:
        return await work_once(store, await new_run(store), work, budget=Budget(tokens=1000))

    assert go(main()).status == "budget"
    assert len(model.requests) == 1


def test_retries_stop_before_they_would_pass_the_budget(store: Store) -> None:
    """Each attempt that may have been billed counts, and none is sent that no longer fits."""
    model = Says(lambda _request: ModelUnavailable("reset", billed=True), usage=spent(10))
    once = reservation(ask("one"), None).tokens

    async def at_once(_seconds: float) -> None:
        return None

    gated = Gated(model, Gate(1, attempts=50, sleep=at_once))

    async def work(_task: Task, run: Run) -> Result:
        return done((await run.model(gated, role="r").reply(ask("one"))).text)

    async def main() -> tuple[str, Result]:
        run_id = await new_run(store)
        return run_id, await work_once(store, run_id, work, budget=Budget(tokens=3 * once + once // 2))

    run_id, result = go(main())
    assert result.status == "budget"
    assert len(model.requests) == 3
    assert (result.usage.calls, result.usage.failed, result.usage.unknown, result.usage.tokens) == (3, 3, 3, 0)
    assert [(row.state, row.attempts, row.charged) for row in rows(store, run_id)] == [("failed", 3, 3 * once)]


def test_a_run_that_stops_on_a_budget_keeps_its_best_answer_and_goes_on_when_it_is_raised(store: Store) -> None:
    """What earlier sittings spent counts, and nothing of it is paid for again."""
    model = Says(echo, usage=spent(200))

    async def work(_task: Task, run: Run) -> Result:
        asked = run.model(model, role="r")
        for step in range(4):
            run.keep((await asked.reply(ask(f"step {step}"))).text)
        return done("finished")

    async def main() -> list[Result]:
        run_id = await new_run(store)
        return [await work_once(store, run_id, work, budget=Budget(tokens=limit)) for limit in (500, 500, 700, 5000)]

    first, same, more, all_of_it = go(main())
    assert [result.status for result in (first, same, more, all_of_it)] == ["budget", "budget", "budget", "completed"]
    assert [result.answer for result in (first, same, more)] == ["echo step 1", "echo step 1", "echo step 2"]
    assert first.error is not None
    assert "the tokens budget of the run is used up" in first.error.message
    assert all_of_it.answer == "finished"
    assert [(r.usage.calls, r.earlier.calls) for r in (first, same, more, all_of_it)] == [
        (2, 0),
        (0, 2),
        (1, 2),
        (1, 3),
    ]
    assert len(model.requests) == 4


def test_a_child_s_budget_is_within_its_parent_s_and_survives_a_resume(store: Store) -> None:
    """A peer that used up its own share is refused, while another goes on until the run's is used up."""
    told: list[str] = []
    sittings = [0]

    async def work(_task: Task, run: Run) -> Result:
        sittings[0] += 1
        for name in ("left", "right"):
            peer = run.child(name, budget=Budget(calls=2))
            asked = peer.model(Says(echo), role="r")
            try:
                for step in range(3):
                    await asked.reply(ask(f"{name} {step}"))
            except BudgetExceeded as error:
                told.append(str(error).split(" is used up")[0])
        if sittings[0] == 1:
            raise asyncio.CancelledError
        return done("x")

    async def main() -> None:
        run_id = await new_run(store)
        await interrupted(store, run_id, work, budget=Budget(calls=3))
        await work_once(store, run_id, work, budget=Budget(calls=3))

    go(main())
    assert told == ["the calls budget of task/left", "the calls budget of the run"] * 2


def test_a_task_s_time_budget_stops_what_hangs(store: Store) -> None:
    """A call that never comes back is broken off when the time is up, and the best answer so far is kept."""

    async def hangs(_request: Request) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    async def work(_task: Task, run: Run) -> Result:
        run.keep("a first guess")
        await run.model(Says(hangs), role="r").reply(ask("one"))
        raise AssertionError

    async def main() -> Result:
        async with sit(store, await new_run(store), budget=Budget(seconds=1000)) as sitting:
            return await sitting.execute(Does(work), TASK, budget=Budget(seconds=0.05))

    result = go(main())
    assert (result.status, result.answer) == ("budget", "a first guess")
    assert result.error is not None
    assert "the time budget of 0.05 seconds" in result.error.message
    assert (result.usage.calls, result.usage.unknown) == (1, 1)


def test_time_is_counted_over_all_sittings_and_a_sitting_without_any_left_is_refused(home: object) -> None:
    """Refused before it begins, so that the best answer so far is not lost to a sitting that could not read it back."""
    from motet.api import resume

    async def work(_task: Task, run: Run) -> Result:
        run.keep("a first guess")
        await asyncio.Event().wait()
        raise AssertionError

    async def main() -> Result:
        system = Does(work)
        first = await solve("What is to be done?", system=system, budget=Budget(seconds=0.05))
        with pytest.raises(InputError, match=rf"run {first.run_id} has worked for 0\.\d of its 0\.05 seconds"):
            await resume(first.run_id, system=system)
        second = await resume(first.run_id, system=system, budget=Budget(seconds=1))
        assert (second.status, second.answer) == ("budget", "a first guess")
        return first

    assert go(main()).status == "budget"


def test_a_money_budget_without_a_price_is_refused_before_a_run_exists(home: object, store: Store) -> None:
    """Nothing could ever be counted against it."""
    from motet.agent.react import React
    from motet.store.queries import run_list

    with pytest.raises(
        InputError, match="a money budget needs a price, and none is known for says: give --price IN,OUT"
    ):
        go(solve("x", system=React(model=Says(echo)), budget=Budget(money=1), store=store))
    assert all(row.title != "x" for row in run_list(store, limit=1000))


def test_a_money_budget_with_a_price_is_kept(store: Store) -> None:
    """Two calls of ten cents fit into thirty, when each may cost up to a little more than that."""
    price = Price(prompt=1000, completion=1000)
    model = Says(echo, price=price, usage=Usage(prompt=50, completion=50))
    once = reservation(ask("one"), price).money

    async def work(_task: Task, run: Run) -> Result:
        asked = run.model(model, role="r")
        for n in range(9):
            await asked.reply(ask(f"{n}"))
        raise AssertionError

    async def main() -> Result:
        return await work_once(store, await new_run(store), work, budget=Budget(money=0.2 + once + 1e-9))

    result = go(main())
    assert result.status == "budget"
    assert result.usage.calls == 3
    assert result.usage.money == pytest.approx(0.3)
