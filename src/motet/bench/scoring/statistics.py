"""Intervals for benchmark scores: Wilson's for rates, seeded bootstraps for means, for paired differences and for rank correlations.

- Tasks that are near-copies of each other share a cluster. A bootstrap draws whole clusters, so that ten copies of one task count as
  one piece of evidence and not as ten. Every estimate says how many values and how many clusters it rests on.
- Several values of one task (epochs, samples) are a cluster too: give the task's id where it has no other cluster.
- Draws are seeded by the caller and made by the standard library, so that the same scores give the same interval everywhere.
- A bootstrap cannot see beyond its sample: where all values are equal it would give an interval of width zero. For rates of
  0 or 1 the Wilson interval over the clusters takes its place; otherwise there is no interval.

Sources: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927); B. Efron and
R. Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 8 and 13 (percentile interval).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from statistics import NormalDist, StatisticsError, correlation
from typing import Literal, NamedTuple, TypeAlias

Method: TypeAlias = Literal["wilson", "bootstrap", "cluster bootstrap", "wilson over clusters", "none"]

RESAMPLES = 10_000
_FEWEST = 1_000
_DRAWS = (
    5_000_000  # draws of one bootstrap: well under a second. Beyond it there are fewer resamples, down to ``_FEWEST``.
)


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval: ``n`` values in ``clusters`` clusters. ``low`` and ``high`` are ``None`` where there is no interval.

    ``resamples`` is 0 where none were drawn.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    method: Method
    confidence: float = 0.95
    resamples: int = 0


def wilson(successes: float, n: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a rate of ``successes`` in ``n`` independent trials. Raises ValueError for ``n`` < 1."""
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} trials is no rate")
    z = _quantile(confidence)
    rate = successes / n
    spread = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    middle, scale = rate + z * z / (2 * n), 1 + z * z / n
    # The exact bounds at the ends are 0 and 1; rounding must not pass them.
    low = 0.0 if successes == 0 else max(0.0, (middle - spread) / scale)
    high = 1.0 if successes == n else min(1.0, (middle + spread) / scale)
    return low, high


def estimate(
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The mean of ``values`` with its interval: Wilson's where they are independent and all 0 or 1, else a (cluster) bootstrap.

    ``clusters`` names each value's cluster; a value whose cluster is ``None`` stands alone. Raises ValueError for unequal lengths.
    """
    groups = _group(values, clusters)
    n, count = len(values), len(groups)
    if not n:
        return Estimate(None, None, None, 0, 0, "none", confidence)
    mean = math.fsum(values) / n
    rates = all(value in (0, 1) for value in values)
    if rates and count == n:
        low, high = wilson(sum(values), n, confidence=confidence)
        return Estimate(mean, low, high, n, count, "wilson", confidence)
    if rates and mean in (0, 1):
        low, high = wilson(mean * count, count, confidence=confidence)
        return Estimate(mean, low, high, n, count, "wilson over clusters", confidence)
    return _bootstrap(mean, groups, n, seed=seed, confidence=confidence, resamples=resamples)


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The mean of ``second`` − ``first``, value by value on the same tasks, with its (cluster) bootstrap interval.

    Two equal lists differ by 0 on every task; that has no interval. Raises ValueError for unequal lengths.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values cannot be paired")
    differences = [after - before for before, after in zip(first, second, strict=True)]
    groups = _group(differences, clusters)
    n = len(differences)
    if not n:
        return Estimate(None, None, None, 0, 0, "none", confidence)
    return _bootstrap(math.fsum(differences) / n, groups, n, seed=seed, confidence=confidence, resamples=resamples)


def paired(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    clusters: Mapping[str, str | None] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Estimate:
    """``paired_difference`` over the tasks that both have a value for, by task id and in the order of the ids."""
    shared = sorted(first.keys() & second.keys())
    return paired_difference(
        [first[task] for task in shared],
        [second[task] for task in shared],
        clusters=[clusters.get(task) for task in shared] if clusters is not None else None,
        seed=seed,
        confidence=confidence,
        resamples=resamples,
    )


def ratio(
    parts: Sequence[float],
    wholes: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
) -> Estimate:
    """The sum of ``parts`` over the sum of ``wholes``, none of which is negative, with its (cluster) bootstrap interval.

    There is none where all wholes are 0. Raises ValueError for unequal lengths.
    """
    if len(parts) != len(wholes):
        raise ValueError(f"{len(parts)} parts and {len(wholes)} wholes")
    places = _places(len(parts), clusters)
    sums = [(math.fsum(parts[at] for at in group), math.fsum(wholes[at] for at in group)) for group in places]
    groups = [(part, whole) for part, whole in sums if whole]
    n, count, whole = len(parts), len(places), math.fsum(whole for _, whole in groups)
    if not groups:
        return Estimate(None, None, None, n, count, "none", confidence)
    value = math.fsum(part for part, _ in groups) / whole
    drawn = _resampled(groups, whole, seed=seed, confidence=confidence, resamples=resamples)
    if drawn is None:
        return Estimate(value, None, None, n, count, "none", confidence)
    method: Method = "bootstrap" if count == n else "cluster bootstrap"
    return Estimate(value, drawn.low, drawn.high, n, count, method, confidence, drawn.resamples)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The rank correlation of two lists, equal values sharing their mean rank; ``None`` where one of them never varies."""
    try:
        return correlation(_ranks(first), _ranks(second))
    except StatisticsError:
        return None


def rank_correlation(
    first: Sequence[float],
    second: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = 1_000,
) -> Estimate:
    """``spearman`` with its (cluster) bootstrap interval, over those resamples in which both lists vary.

    Raises ValueError for unequal lengths.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values cannot be paired")

    def correlated(places: Sequence[int]) -> float | None:
        return spearman([first[place] for place in places], [second[place] for place in places])

    return bootstrap(correlated, len(first), clusters=clusters, seed=seed, confidence=confidence, resamples=resamples)


def bootstrap(
    figure: Callable[[Sequence[int]], float | None],
    n: int,
    *,
    clusters: Sequence[Hashable | None] | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = 1_000,
) -> Estimate:
    """Any ``figure`` of ``n`` values, which is given their places, with its (cluster) bootstrap interval over those resamples in which there is one.

    A place comes as often as it was drawn. Raises ValueError where ``clusters`` are not ``n``.
    """
    _quantile(confidence)
    places = _places(n, clusters)
    value = figure(range(n)) if n else None
    draw = random.Random(seed).choices  # noqa: S311 - statistics, not secrets
    found: list[float] = []
    for _ in repeat(None, resamples if value is not None and len(places) > 1 else 0):
        again = figure([place for group in draw(places, k=len(places)) for place in group])
        if again is not None:
            found.append(again)
    count = len(places)
    if len(set(found)) < 2:
        return Estimate(value, None, None, n, count, "none", confidence)
    low, high = _percentiles(sorted(found), confidence)
    method: Method = "bootstrap" if count == n else "cluster bootstrap"
    return Estimate(value, low, high, n, count, method, confidence, len(found))


def _ranks(values: Sequence[float]) -> list[float]:
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [(places[value][0] + places[value][-1]) / 2 for value in values]


def _places(n: int, clusters: Sequence[Hashable | None] | None) -> list[list[int]]:
    """The places of each cluster's values, in the order in which clusters first appear."""
    if clusters is not None and len(clusters) != n:
        raise ValueError(f"{n} values and {len(clusters)} clusters")
    groups: dict[object, list[int]] = {}
    for index, cluster in enumerate(clusters or [None] * n):
        groups.setdefault(("alone", index) if cluster is None else ("cluster", cluster), []).append(index)
    return list(groups.values())


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _group(values: Sequence[float], clusters: Sequence[Hashable | None] | None) -> list[tuple[float, int]]:
    """(sum, size) of each cluster, in the order in which they first appear."""
    if clusters is None:
        return [(value, 1) for value in values]
    if len(clusters) != len(values):
        raise ValueError(f"{len(values)} values and {len(clusters)} clusters")
    groups: dict[object, list[float]] = {}
    for index, (value, cluster) in enumerate(zip(values, clusters, strict=True)):
        # A value that stands alone gets a key that no cluster's name can equal.
        groups.setdefault(("alone", index) if cluster is None else ("cluster", cluster), []).append(value)
    return [(math.fsum(members), len(members)) for members in groups.values()]


def _bootstrap(
    mean: float, groups: Sequence[tuple[float, int]], n: int, *, seed: int, confidence: float, resamples: int
) -> Estimate:
    count = len(groups)
    drawn = _resampled(groups, n, seed=seed, confidence=confidence, resamples=resamples)
    if drawn is None:
        return Estimate(mean, None, None, n, count, "none", confidence)
    method: Method = "bootstrap" if count == n else "cluster bootstrap"
    return Estimate(mean, drawn.low, drawn.high, n, count, method, confidence, drawn.resamples)


class _Resampled(NamedTuple):
    low: float
    high: float
    resamples: int


def _resampled(
    groups: Sequence[tuple[float, float]], whole: float, *, seed: int, confidence: float, resamples: int
) -> _Resampled | None:
    """The interval of the sum of all totals over the sum of all sizes, ``whole``; ``None`` where no resample can differ: one cluster, or all alike."""
    count = len(groups)
    _quantile(confidence)
    if len({total / size for total, size in groups}) == 1:
        return None
    resamples = min(resamples, max(_FEWEST, _DRAWS // count))
    draw = random.Random(seed).choices  # noqa: S311 - statistics, not secrets
    sums = [total for total, _ in groups]
    sizes = {size for _, size in groups}
    if len(sizes) == 1:
        means = sorted(sum(draw(sums, k=count)) / whole for _ in repeat(None, resamples))
    else:
        means = []
        for _ in repeat(None, resamples):
            drawn = draw(groups, k=count)
            means.append(sum(total for total, _ in drawn) / sum(size for _, size in drawn))
        means.sort()
    return _Resampled(*_percentiles(means, confidence), resamples)


def _percentiles(ordered: Sequence[float], confidence: float) -> tuple[float, float]:
    """The two quantiles that hold ``confidence`` between them, by linear interpolation."""
    last = len(ordered) - 1
    ends = []
    for share in ((1 - confidence) / 2, (1 + confidence) / 2):
        place = share * last
        below = math.floor(place)
        above = min(below + 1, last)
        ends.append(ordered[below] + (ordered[above] - ordered[below]) * (place - below))
    return ends[0], ends[1]
