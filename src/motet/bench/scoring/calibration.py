"""Calibration: how far the confidence that is stated with answers lies from how often they are right.

The figure is the root mean square calibration error of "Humanity's Last Exam" (Phan et al., arXiv 2501.14249): answers are put in the order of their confidence and into bins
of 100; it is the root of the mean, weighted by size, of the squared distances between a bin's mean confidence and its share of right answers. Two points are settled otherwise than in the
code published with it: the last bin counts like the others, and answers of equal confidence count with their common share of right ones, so that no order among them matters.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence

BIN = 100  # answers

_READ = 20_000  # characters at the end of a text
_STATED = re.compile(
    r"^[ \t>*_#|-]{0,8}confidence(?: score| level)?[*_ \t]{0,4}[:=][*_ \t]{0,4}(\d{1,3}(?:\.\d{1,4})?)[ \t]?(%?)(?![\d.]*\d)",
    re.IGNORECASE | re.MULTILINE,
)


def calibration_error(confidences: Sequence[float], correct: Sequence[bool], *, size: int = BIN) -> float | None:
    """The error in 0..1 of ``confidences``, each in 0..1; ``None`` where there are none. Bins hold ``size`` answers, the last one up to twice as many.

    Raises ValueError for unequal lengths, a confidence out of range, and bins of nothing.
    """
    n = len(confidences)
    if n != len(correct) or size < 1:
        raise ValueError(f"{n} confidences, {len(correct)} verdicts, bins of {size}")
    if not all(0 <= confidence <= 1 for confidence in confidences):
        raise ValueError("a confidence lies between 0 and 1")
    if not n:
        return None
    shares: dict[float, list[bool]] = defaultdict(list)
    for confidence, right in zip(confidences, correct, strict=True):
        shares[confidence].append(right)
    means = {confidence: sum(rights) / len(rights) for confidence, rights in shares.items()}
    ordered = sorted(confidences)
    starts = range(0, max(n // size, 1) * size, size)
    squares = []
    for start in starts:
        members = ordered[start : n if start == starts[-1] else start + size]
        distance = math.fsum(members) - math.fsum(means[confidence] for confidence in members)
        squares.append(distance * distance / len(members))
    return math.sqrt(math.fsum(squares) / n)


def stated_confidence(text: str) -> float | None:
    """The confidence that the last line ``Confidence: 85%`` of ``text`` states, in 0..1; ``None`` without one.

    A number without a percent sign is a percentage too, unless it is a decimal fraction of 1.
    """
    found = _STATED.findall(text[-_READ:])
    if not found:
        return None
    number, percent = found[-1]
    value = float(number)
    if not percent and "." in number and value <= 1:
        return value
    return value / 100 if value <= 100 else None
