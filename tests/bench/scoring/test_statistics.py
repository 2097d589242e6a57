"""Intervals: known values, what clusters change, what the seed fixes, and how often they hold the truth."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.scoring.statistics import (
    bootstrap,
    estimate,
    paired,
    paired_difference,
    rank_correlation,
    ratio,
    spearman,
    wilson,
)

VALUES = st.lists(st.floats(0, 1), min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (1, 1, 0.2065, 1.0), (340, 690, 0.4556, 0.5300)],
)  # fmt: skip
def test_wilson_gives_the_published_values(successes: int, n: int, low: float, high: float) -> None:
    """Wilson's interval at 95 % equals values computed from the formula by hand or by other software."""
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


@given(n=st.integers(1, 2000), data=st.data())
def test_wilson_holds_the_rate_and_mirrors(n: int, data: st.DataObject) -> None:
    """The interval lies in 0..1, holds the observed rate, and that of the failures is its mirror image."""
    successes = data.draw(st.integers(0, n))
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert wilson(n - successes, n) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (2, 1), (-1, 5)])
def test_what_is_no_rate_is_refused(successes: int, n: int) -> None:
    """Impossible counts raise instead of giving an interval."""
    with pytest.raises(ValueError, match="no rate"):
        wilson(successes, n)


def test_independent_rates_get_wilsons_interval() -> None:
    """Verdicts of unclustered tasks give Wilson's interval, with n and the number of clusters equal."""
    found = estimate([1.0] * 8 + [0.0] * 2)
    assert (found.value, found.n, found.clusters, found.method) == (0.8, 10, 10, "wilson")
    assert (found.low, found.high) == pytest.approx(wilson(8, 10))


@given(VALUES, st.integers(0, 3))
def test_a_bootstrap_is_fixed_by_its_seed_and_stays_within_the_values(values: list[float], seed: int) -> None:
    """The same values and seed give the same interval, within the range of the values."""
    found = estimate(values, seed=seed, resamples=100)
    assert found == estimate(values, seed=seed, resamples=100)
    if found.method == "bootstrap" and found.low is not None and found.high is not None:
        assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9


def test_copies_of_a_task_add_no_evidence() -> None:
    """Ten copies of each task, in one cluster per task, give the interval of the tasks alone and not a narrower one."""
    tasks = [0.0, 1.0, 1.0, 0.0, 1.0, 0.3, 0.9]
    alone = estimate(tasks, seed=1)
    copies = estimate([value for value in tasks for _ in range(10)], clusters=[i for i in range(7) for _ in range(10)], seed=1)  # fmt: skip
    assert (copies.n, copies.clusters, copies.method) == (70, 7, "cluster bootstrap")
    assert (copies.low, copies.high) == pytest.approx((alone.low, alone.high))


def test_a_cluster_of_none_stands_alone() -> None:
    """Values without a cluster are their own clusters, even beside clusters of any name."""
    found = estimate([0.5, 0.1, 0.9, 0.4], clusters=[None, "a", None, "a"])
    assert (found.n, found.clusters) == (4, 3)


def test_clusters_of_unequal_size_weigh_by_their_size() -> None:
    """The estimate is the mean over values, and the interval goes from one cluster's mean to the other's."""
    found = estimate([1, 1, 1, 0], clusters=["a", "a", "a", "b"])
    assert found.value == 0.75
    assert (found.low, found.high) == (0, 1)


def test_all_right_is_not_certain() -> None:
    """Where every value is equal no interval of width zero is claimed."""
    rates = estimate([1.0] * 20, clusters=[i // 10 for i in range(20)])
    assert rates.method == "wilson over clusters"
    assert rates.low == pytest.approx(wilson(2, 2)[0])
    same = estimate([0.5] * 20)
    assert (same.value, same.low, same.high, same.method) == (0.5, None, None, "none")


def test_one_cluster_and_no_value_have_no_interval() -> None:
    """What cannot be resampled says so instead of inventing a width."""
    assert estimate([0.2, 0.4], clusters=["a", "a"]).low is None
    nothing = estimate([])
    assert (nothing.value, nothing.low, nothing.n, nothing.clusters) == (None, None, 0, 0)


@given(VALUES, st.data())
def test_differences_are_antisymmetric(first: list[float], data: st.DataObject) -> None:
    """Swapping the two systems changes the sign of the difference and mirrors its interval."""
    second = data.draw(st.lists(st.floats(0, 1), min_size=len(first), max_size=len(first)))
    forth = paired_difference(first, second, resamples=100)
    back = paired_difference(second, first, resamples=100)
    assert forth.value == pytest.approx(-(back.value or 0), abs=1e-12)
    if forth.low is not None and forth.high is not None and back.low is not None and back.high is not None:
        assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low), abs=1e-9)


def test_pairing_is_tighter_than_two_separate_intervals() -> None:
    """A system that is better by the same step on most tasks differs clearly, though the tasks vary widely."""
    draw = random.Random(5)
    first = {f"t{i}": draw.random() * 0.8 for i in range(60)}
    second = {task: value + 0.1 + 0.01 * draw.random() for task, value in first.items()}
    found = paired(first, second)
    assert found.low is not None
    assert found.low > 0.09
    separate = estimate(list(first.values()))
    assert separate.low is not None
    assert separate.high is not None
    assert separate.high - separate.low > 0.1


def test_pairs_are_those_that_both_have() -> None:
    """Tasks that only one system has a value for are left out, and ``n`` says so."""
    found = paired({"a": 0, "b": 1, "c": 1}, {"b": 0, "c": 1, "d": 1}, clusters={"b": "x", "c": None})
    assert (found.n, found.clusters, found.value) == (2, 2, -0.5)


def test_lists_of_unequal_length_are_refused() -> None:
    """What cannot be paired, or has no cluster for each value, raises."""
    with pytest.raises(ValueError, match="cannot be paired"):
        paired_difference([1], [1, 0])
    with pytest.raises(ValueError, match="clusters"):
        estimate([1, 0], clusters=["a"])


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
def test_intervals_hold_the_truth_about_as_often_as_they_say(clustered: bool) -> None:
    """Over simulated benchmarks of 60 clusters the 95 % interval holds the true mean in 90 to 98 % of them."""
    draw = random.Random(11)
    held, rounds = 0, 400
    for seed in range(rounds):
        values, clusters = [], []
        for cluster in range(60):
            rate = draw.betavariate(1.2, 1.8)  # mean 0.4
            for _ in range(10 if clustered else 1):
                values.append(float(draw.random() < rate) if clustered else rate)
                clusters.append(cluster if clustered else None)
        found = estimate(values, clusters=clusters, seed=seed, resamples=1000)
        held += found.low is not None and found.high is not None and found.low <= 0.4 <= found.high
    assert 0.90 <= held / rounds <= 0.98


@pytest.mark.slow
def test_ignoring_clusters_would_be_overconfident() -> None:
    """With copies in the data the interval that ignores clusters holds the truth far too seldom."""
    draw = random.Random(12)
    held, rounds = 0, 200
    for _ in range(rounds):
        values = []
        for _cluster in range(60):
            rate = draw.betavariate(0.4, 0.6)
            values += [float(draw.random() < rate) for _ in range(10)]
        found = estimate(values)
        held += found.low is not None and found.high is not None and found.low <= 0.4 <= found.high
    assert held / rounds < 0.75


def test_clusters_that_are_alike_have_no_interval_whatever_their_sizes() -> None:
    """Equal lists differ by 0 everywhere, which says nothing about other tasks: an interval of width zero would claim that it did."""
    clusters = ["a", "a", "b", "c", "c", "c"]
    for values in ([0.0] * 6, [0.5] * 6):
        found = paired_difference([0.0] * 6, values, clusters=clusters)
        assert (found.low, found.high, found.method) == (None, None, "none")


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=12), st.integers(0, 9))
def test_rank_correlation_sees_order_and_nothing_else(values: list[int], seed: int) -> None:
    """It is 1 with any list in the same order and -1 with any in the opposite one; there is none where a list never varies."""
    cubes, falling = [value**3 for value in values], [-value for value in values]
    if len(set(values)) == 1:
        assert spearman(values, cubes) is None
        assert rank_correlation(values, cubes, seed=seed).low is None
        return
    assert spearman(values, cubes) == pytest.approx(1.0)
    assert spearman(values, falling) == pytest.approx(-1.0)
    assert spearman(values, [0] * len(values)) is None


def test_rank_correlation_gets_a_seeded_interval_over_clusters() -> None:
    """The same seed gives the same interval around the value, copies of a task add no evidence, and equal values share their rank."""
    first = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    second = [2.0, 1.0, 4.0, 3.0, 8.0, 5.0, 6.0, 7.0]
    alone = rank_correlation(first, second, seed=5)
    assert alone == rank_correlation(first, second, seed=5)
    assert (alone.n, alone.clusters, alone.method) == (8, 8, "bootstrap")
    assert alone.low is not None
    assert alone.value is not None
    assert alone.high is not None
    assert alone.low < alone.value < alone.high
    names = [str(number) for number in range(8)]
    tripled = rank_correlation(first * 3, second * 3, clusters=names * 3, seed=5)
    assert (tripled.clusters, tripled.method) == (8, "cluster bootstrap")
    assert tripled.low is not None
    assert tripled.low == pytest.approx(alone.low, abs=0.1)
    assert spearman([1.0, 1.0, 2.0], [1.0, 2.0, 3.0]) == pytest.approx(3**0.5 / 2)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), st.sampled_from("abc")), min_size=1, max_size=12))
def test_a_ratio_is_that_of_the_sums(rows: list[tuple[int, int, str]]) -> None:
    """Large wholes weigh more, wholes of 0 nothing; the interval lies between the clusters' own ratios."""
    parts = [min(part, whole) for part, whole, _ in rows]
    wholes = [whole for _, whole, _ in rows]
    clusters = [cluster for _, _, cluster in rows]
    found = ratio(parts, wholes, clusters=clusters, resamples=200)
    if not sum(wholes):
        assert found.value is None
        return
    assert found.value == pytest.approx(sum(parts) / sum(wholes))
    assert (found.n, found.clusters) == (len(rows), len(set(clusters)))
    if found.low is not None and found.high is not None:
        own = []
        for cluster in set(clusters):
            pairs = [
                (part, whole) for part, whole, other in zip(parts, wholes, clusters, strict=True) if other == cluster
            ]
            if sum(whole for _, whole in pairs):
                own.append(sum(part for part, _ in pairs) / sum(whole for _, whole in pairs))
        assert min(own) - 1e-9 <= found.low <= found.high <= max(own) + 1e-9


@given(VALUES, st.integers(0, 5))
def test_a_bootstrap_of_any_figure_draws_whole_clusters(values: list[float], seed: int) -> None:
    """Each resample has as many clusters as there are, the members of one as often as each other; the figure itself is that of all values."""
    clusters = [place // 2 for place in range(len(values))]
    drawn: list[list[int]] = []

    def largest(places: Sequence[int]) -> float:
        drawn.append(list(places))
        return max(values[place] for place in places)

    found = bootstrap(largest, len(values), clusters=clusters, seed=seed, resamples=20)
    assert drawn[0] == list(range(len(values)))
    for places in drawn:
        counts = Counter(places)
        assert all(counts[place] == counts[place + 1] for place in range(0, len(values) - 1, 2))
        assert sum(counts[place] for place in range(0, len(values), 2)) == found.clusters == len(set(clusters))
    assert found.value == max(values)
    assert found.low is None or (found.high is not None and min(values) <= found.low <= found.high <= max(values))


def test_resamples_without_a_figure_are_left_out() -> None:
    """The interval rests on those that have one."""
    found = bootstrap(lambda places: float(sum(places)) if 0 in places else None, 3, resamples=50)
    assert found.value == 3
    assert 0 < found.resamples < 50
    assert bootstrap(lambda _: None, 3).low is None
