"""Usage and its sums: nothing is counted twice, and unknown is not zero."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.models.model import Price
from motet.usage import Totals, Usage

counts = st.none() | st.integers(0, 10**9)
usages = st.builds(
    Usage, prompt=counts, cached=counts, completion=counts, reasoning=counts, latent_steps=st.integers(0, 99)
)
# Money in quarters of a dollar, so that sums of floats are exact.
money = st.none() | st.integers(0, 400).map(lambda quarters: quarters / 4)
calls = st.lists(st.tuples(usages, money, st.booleans()), max_size=12)


def total(made: list[tuple[Usage, float | None, bool]]) -> Totals:
    """The sum over ``made``."""
    summed = Totals()
    for usage, paid, failed in made:
        summed = summed.plus(usage, money=paid, failed=failed)
    return summed


@given(calls, calls)
def test_sums_can_be_cut_anywhere(
    first: list[tuple[Usage, float | None, bool]], second: list[tuple[Usage, float | None, bool]]
) -> None:
    """The total of all is the total of the parts, in either order."""
    assert total(first) + total(second) == total([*first, *second]) == total(second) + total(first)
    assert Totals() + total(first) == total(first)


@given(calls)
def test_a_sum_says_what_it_does_not_know(made: list[tuple[Usage, float | None, bool]]) -> None:
    """Calls of unknown usage and calls without a price are counted beside the sums that lack them."""
    summed = total(made)
    assert summed.calls == len(made)
    assert summed.unknown == sum(usage.tokens is None for usage, _, _ in made)
    assert summed.unpriced == sum(paid is None for _, paid, _ in made)
    assert summed.tokens == sum((usage.prompt or 0) + (usage.completion or 0) for usage, _, _ in made)


@given(usages)
def test_known_usage_has_tokens_and_unknown_has_none(usage: Usage) -> None:
    """Both billable counts or no total at all."""
    assert usage.known == (usage.tokens is not None) == (usage.prompt is not None and usage.completion is not None)


@given(usages, st.integers(0, 100), st.integers(0, 100), st.none() | st.integers(0, 100))
def test_money_follows_known_usage_only(usage: Usage, prompt: int, completion: int, cached: int | None) -> None:
    """A cached token costs its own price, and there are never more of them than prompt tokens."""
    price = Price(prompt=prompt, completion=completion, cached=cached)
    cost = price.of(usage)
    if usage.prompt is None or usage.completion is None:
        assert cost is None
        return
    assert cost is not None
    assert 0 <= cost <= (usage.prompt * max(prompt, cached or 0) + usage.completion * completion) / 1e6 + 1e-9
    if cached is None or not usage.cached:
        assert abs(cost - (usage.prompt * prompt + usage.completion * completion) / 1e6) < 1e-6
