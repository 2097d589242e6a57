"""Calibration: the error of stated confidence, and how a confidence is read."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.scoring.calibration import calibration_error, stated_confidence

ANSWERS = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]) | st.floats(0, 1), st.booleans()), max_size=60)


def test_confidence_that_is_met_has_no_error() -> None:
    """Answers of which as many are right as was said, in each bin, have an error of 0; those that are sure and wrong one of 1."""
    met = [0.2] * 100 + [0.7] * 100
    assert calibration_error(met, ([True] * 20 + [False] * 80) + ([True] * 70 + [False] * 30)) == pytest.approx(0)
    assert calibration_error([1.0] * 50, [False] * 50) == 1
    assert calibration_error([0.0] * 250, [True] * 250) == 1


def test_the_error_is_the_root_of_the_mean_square_over_bins() -> None:
    """Two bins of 100 and 150 with distances 0.3 and 0.1, by hand; the rest after the last whole bin belongs to it."""
    confidences = [0.3] * 100 + [0.6] * 150
    correct = [False] * 100 + [True] * 75 + [False] * 75
    assert calibration_error(confidences, correct) == pytest.approx(math.sqrt((100 * 0.3**2 + 150 * 0.1**2) / 250))


def test_the_last_bin_counts() -> None:
    """Errors among the most confident answers are seen, also where they are all in the last bin."""
    correct = [False] * 200 + [False] * 100
    assert calibration_error([0.0] * 200 + [1.0] * 100, correct) == pytest.approx(math.sqrt(1 / 3))


@given(ANSWERS, st.integers(1, 20), st.randoms(use_true_random=False))
def test_no_order_matters_and_the_error_stays_in_range(
    answers: list[tuple[float, bool]], size: int, rng: random.Random
) -> None:
    """Any order of the same answers gives the same error, in 0..1; without answers there is none."""
    error = calibration_error([one for one, _ in answers], [right for _, right in answers], size=size)
    shuffled = rng.sample(answers, len(answers))
    again = calibration_error([one for one, _ in shuffled], [right for _, right in shuffled], size=size)
    assert (error is None) == (not answers)
    if error is not None:
        assert again == pytest.approx(error)
        assert -1e-9 <= error <= 1 + 1e-9


@pytest.mark.parametrize(
    ("confidences", "correct", "size"),
    [([0.5], [], 100), ([1.5], [True], 100), ([math.nan], [True], 100), ([0.5], [True], 0)],
    ids=["lengths", "range", "nan", "bins"],
)
def test_what_is_no_confidence_is_refused(confidences: list[float], correct: list[bool], size: int) -> None:
    """Unequal lengths, a confidence beyond 0..1 and bins of nothing raise."""
    with pytest.raises(ValueError):
        calibration_error(confidences, correct, size=size)


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        ("Exact Answer: x\nConfidence: 85%", 0.85),
        ("**Confidence:** 85 %", 0.85),
        ("confidence score: 7", 0.07),
        ("Confidence: 0.85", 0.85),
        ("Confidence: 0.5%", 0.005),
        ("Confidence: 100%", 1.0),
        ("Confidence: 10%\nConfidence: 20%", 0.2),
        ("Confidence: 150%", None),
        ("Confidence: high", None),
        ("I have no confidence: 5", None),
        ("Confidence: 12345", None),
        ("", None),
    ],
)
def test_a_confidence_is_read_from_its_line(text: str, confidence: float | None) -> None:
    """The form that is asked for, and what models make of it; what is no percentage was not stated."""
    assert stated_confidence(text) == (None if confidence is None else pytest.approx(confidence))


@given(st.text(max_size=200) | st.text(alphabet="confideCONFIDE:%0159. \n*", max_size=120))
def test_any_text_has_a_confidence_in_range_or_none(text: str) -> None:
    """Whatever stands in a response, nothing raises and no confidence leaves 0..1."""
    found = stated_confidence(f"{text}\nConfidence: {text}")
    assert found is None or 0 <= found <= 1
