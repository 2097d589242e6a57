"""The ledger: every attempt once, in the column it belongs to, and what is unknown stays unknown."""

from __future__ import annotations

import asyncio
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import BadReply, ModelError, ModelUnavailable
from motet.models.model import Price, Reply
from motet.runs.budget import Budget
from motet.runs.ledger import Ledger, Line, is_under
from motet.runs.run import Run
from motet.store.queries import totals
from motet.store.store import Store
from motet.task import Result, Task
from motet.usage import Origin, Totals, Usage
from tests.runs.desk import Answer, Does, Says, ask, done, echo, go, in_turn, interrupted, new_run, sit, work_once

PRICE = Price(prompt=1_000, completion=2_000, cached=500)

usages = st.builds(
    Usage,
    prompt=st.none() | st.integers(0, 1000),
    cached=st.none() | st.integers(0, 1000),
    completion=st.none() | st.integers(0, 1000),
    reasoning=st.none() | st.integers(0, 1000),
    latent_steps=st.integers(0, 3),
)
lines = st.builds(
    Line,
    scope=st.sampled_from(["", "a", "a/b", "ab", "a/b/c"]),
    role=st.sampled_from(["agent", "hub"]),
    model=st.sampled_from(["m", "n"]),
    origin=st.sampled_from(get_args(Origin)),
)


@given(st.lists(st.tuples(lines, usages, st.booleans()), max_size=20))
@settings(deadline=None)
def test_every_way_of_adding_up_gives_the_same_sum(entries: list[tuple[Line, Usage, bool]]) -> None:
    """By column, by role, by model or as a whole: nothing is counted twice and nothing is left out."""
    ledger = Ledger()
    for line, usage, failed in entries:
        ledger.add(line, usage, money=None, failed=failed)
    whole = ledger.total()
    assert whole.calls == len(entries)
    assert whole.failed == sum(failed for _, _, failed in entries)
    assert whole.unknown == sum(not usage.known for _, usage, _ in entries)
    assert whole.prompt == sum(usage.prompt or 0 for _, usage, _ in entries)
    assert whole == sum((ledger.total(origin) for origin in get_args(Origin)), Totals())
    for by in (
        ledger.by(lambda line: line.role),
        ledger.by(lambda line: line.model),
        ledger.by(lambda line: line.scope),
    ):
        assert whole == sum(by.values(), Totals())
    inside = [entry for entry in entries if entry[0].scope in ("a", "a/b", "a/b/c")]
    assert ledger.total(under="a").calls == len(inside)


def test_a_scope_is_not_under_one_whose_name_only_begins_like_its_own() -> None:
    """``peer-10`` is no part of ``peer-1``."""
    assert is_under("a/peer-1/x", "a/peer-1")
    assert is_under("a/peer-1", "a/peer-1")
    assert not is_under("a/peer-10", "a/peer-1")
    assert is_under("anything", "")


def test_paid_becomes_earlier_and_a_journal_hit_adds_nothing(store: Store) -> None:
    """Three sittings: what each paid for is *paid* there and *earlier* from then on, and the sum is what the model was asked for."""
    model = Says(echo, price=PRICE)
    sittings = [0]
    seen: list[tuple[Totals, Totals, Totals]] = []

    async def work(_task: Task, run: Run) -> Result:
        sittings[0] += 1
        asked = run.child("inner").model(model, role="r")
        for step in range(sittings[0] * 2):
            await asked.reply(ask(f"step {step}"))
        seen.append((run.ledger.total("paid"), run.ledger.total("earlier"), run.ledger.total("inherited")))
        if sittings[0] < 3:
            raise asyncio.CancelledError
        return done("x")

    async def main() -> Result:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await interrupted(store, run_id, work)
        return await work_once(store, run_id, work)

    result = go(main())
    assert [(paid.calls, earlier.calls, inherited.calls) for paid, earlier, inherited in seen] == [
        (2, 0, 0),
        (2, 2, 0),
        (2, 4, 0),
    ]
    assert len(model.requests) == 6
    assert (result.usage, result.earlier, result.inherited) == seen[-1]
    assert (result.usage + result.earlier).tokens == 6 * 15


def test_a_rebuilt_ledger_equals_the_one_it_is_rebuilt_from(store: Store) -> None:
    """Line by line: replies of known and of unknown usage, failures that cost something known, something unknown or nothing, calls that were broken off, and
    superseded calls, which were paid for all the same. The store's own sums agree.
    """
    empty = BadReply("empty", billed=True)
    empty.lost = (Usage(prompt=7, completion=0),)
    answers: list[Answer] = [
        Reply(text="known", usage=Usage(prompt=5, cached=2, completion=3, reasoning=1)),
        Reply(text="unknown"),
        Reply(text="half known", usage=Usage(prompt=5)),
        Reply(
            text="after a retry",
            usage=Usage(prompt=5, completion=3),
            attempts=3,
            lost=(Usage(), Usage(prompt=5, completion=1)),
        ),
        ModelUnavailable("reset", billed=True),
        ModelUnavailable("no connection"),
        empty,
    ]
    sittings = [0]
    first: list[dict[str, Totals]] = []

    async def dies(_request: object) -> Answer:
        raise asyncio.CancelledError

    async def work(_task: Task, run: Run) -> Result:
        sittings[0] += 1
        for name, price in (("priced", PRICE), ("unpriced", None)):
            asked = run.child(name).model(Says(in_turn(answers), name=name, price=price), role=name)
            for step in range(len(answers)):
                try:
                    await asked.reply(ask(f"{sittings[0]} step {step}"))
                except ModelError:
                    continue
        try:
            await run.child("broken-off").model(Says(dies, price=PRICE), role="gone").reply(ask("x"))
            raise AssertionError
        finally:
            by = run.ledger.by(lambda line: f"{line.scope} {line.role} {line.model}")
            first.append(by)

    async def main() -> None:
        run_id = await new_run(store)
        await interrupted(store, run_id, work)
        await interrupted(store, run_id, work)
        async with sit(store, run_id) as sitting:
            ledger = sitting.root.ledger
            rebuilt = ledger.by(lambda line: f"{line.scope} {line.role} {line.model}")
            assert ledger.total("paid") == Totals()
            assert _rounded(rebuilt) == _rounded(first[1])
            stored = {row.key: row.totals for row in totals(store, run_id, by="role")}
            assert _rounded(stored) == _rounded(ledger.by(lambda line: line.role))

    go(main())
    once = first[0]["task/priced priced priced"]
    assert (once.calls, once.failed, once.unknown) == (8, 4, 4)
    assert once.unpriced == 4
    assert round(once.money, 9) == round((3 * 1000 + 2 * 500 + 3 * 2000 + 5000 + 6000 + 5000 + 2000 + 7000) / 1e6, 9)
    assert first[0]["task/broken-off gone says"].unknown == 1


def test_unknown_usage_is_never_shown_as_zero() -> None:
    """A sum says how many of its calls it knows nothing about, and a usage of unknown parts has no total."""
    assert Usage().tokens is None
    assert Usage(prompt=3).tokens is None
    assert not Usage(completion=3).known
    summed = Totals().plus(Usage(), money=None).plus(Usage(prompt=1, completion=2), money=0.5)
    assert (summed.calls, summed.unknown, summed.unpriced, summed.tokens) == (2, 1, 1, 3)
    assert PRICE.of(Usage(prompt=3)) is None


def test_a_task_s_result_counts_its_own_scope_only(store: Store) -> None:
    """Two tasks in one sitting: each result holds what that task cost."""

    async def work(task: Task, run: Run) -> Result:
        for step in range(len(task.question)):
            await run.model(Says(echo), role="r").reply(ask(f"{task.id} {step}"))
        return done("x")

    async def main() -> list[Result]:
        tasks = (Task(question="x", id="t"), Task(question="xyz", id="tt"))
        async with sit(store, await new_run(store, *tasks), budget=Budget(calls=10)) as sitting:
            return [await sitting.execute(Does(work), task) for task in tasks]

    assert [result.usage.calls for result in go(main())] == [1, 3]


def _rounded(groups: dict[str, Totals]) -> dict[str, Totals]:
    """Without what the order of a sum of floats changes."""
    return {key: total.model_copy(update={"money": round(total.money, 9)}) for key, total in groups.items()}
