"""Chance without state."""

from __future__ import annotations

from motet.models.scripted_policies.chance import chance


def test_the_same_parts_draw_the_same_number() -> None:
    """A draw depends on its parts, their order and their borders, and on nothing else: a known draw stays what it is."""
    assert chance(4, "cut_off", "a task", "worker") == 0.3494520465278486
    assert len({chance(4, "a", "bc"), chance(4, "ab", "c"), chance(4, "bc", "a"), chance(5, "a", "bc")}) == 4


def test_draws_are_spread_evenly() -> None:
    """Of many draws, about a tenth falls into each tenth of [0, 1)."""
    draws = [chance(0, str(number)) for number in range(5000)]
    assert all(0 <= draw < 1 for draw in draws)
    shares = [sum(int(draw * 10) == tenth for draw in draws) / len(draws) for tenth in range(10)]
    assert all(0.08 < share < 0.12 for share in shares)
