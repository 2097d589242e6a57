"""Cells: when two agree by each rule, and that nothing agrees for being unreadable."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.scoring.cells import Date, Rule, agree, normal, prepare, read_date, read_number

RULES: tuple[Rule, ...] = get_args(Rule)


@pytest.mark.parametrize(
    ("rule", "given_cell", "gold", "right"),
    [
        ("exact_match", "**New  York**", "new york", True),
        ("exact_match", "Ｎew York", "New York", True),
        ("exact_match", "York", "New York", False),
        ("exact_match", "-", "N/A", True),
        ("exact_match", "", "Oslo", False),
        ("exact_match", "Oslo", "-", False),
        ("number_near", "1,049", "1000", True),
        ("number_near", "1051", "1000", False),
        ("number_near", "49.9%", "0.5", True),
        ("number_near", "-1000", "1000", False),
        ("number_near", "about 1000", "1000", False),
        ("number_near", "many", "several", False),
        ("number_near", "0", "0.0", True),
        ("date_near", "12 March 2020", "2020-03-12", True),
        ("date_near", "2020-04-10", "March 12, 2020", True),
        ("date_near", "2020-05-01", "2020-03-12", False),
        ("date_near", "2020", "2020-03-12", False),
        ("date_near", "3 May 2020", "2020", True),
        ("date_near", "2020年3月", "Mar 2020", True),
        ("date_near", "soon", "later", False),
        ("date_near", "2020-13-45", "2020-03-12", False),
        ("url_match", "see https://www.a.org/x?y=1", "http://a.org", True),
        ("url_match", "https://a.org https://b.org", "https://a.org", False),
        ("url_match", "https://b.org", "https://a.org", False),
        ("url_match", "nothing", "none given", False),
        ("url_match", "https://[bad", "https://a.org", False),
        ("in_match", "Paris", "Paris, France", True),
        ("in_match", "ran", "Paris, France", False),
        ("in_match", "the", "the City", False),
        ("in_match", "", "Paris", False),
        ("in_match", "北京", "中国北京市", True),
        ("in_match", "京", "中国北京市", False),
    ],
)
def test_cells_agree_by_their_rule(rule: Rule, given_cell: str, gold: str, right: bool) -> None:
    """Each comparator accepts what means the same by its rule, and nothing else."""
    assert agree(given_cell, gold, rule, tolerance=0.05) is right


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(RULES), st.floats(0, 10, allow_nan=False))
def test_any_two_texts_are_compared(one: str, other: str, rule: Rule, tolerance: float) -> None:
    """Nothing raises; a text agrees with itself, and one that says nothing agrees with nothing that says something."""
    agree(one, other, rule, tolerance=tolerance)
    assert agree(one, one, rule)
    assert not (agree("", other, rule, tolerance=tolerance) and normal(other))


@given(st.text(alphabet="qxzjk #!?*;", max_size=40), st.sampled_from(RULES))
def test_garbage_is_never_right(garbage: str, rule: Rule) -> None:
    """Letters and marks that are no answer agree with no right cell, whatever the rule and however it is prepared."""
    for gold in ("1,250", "2020-03-12", "https://a.org/page", "Ada Brenn", "北京", "none", "12 of many"):
        for steps in ((), ("norm_str",), ("extract_number",), ("norm_date",)):
            assert not agree(prepare(garbage, steps), prepare(gold, steps), rule, tolerance=0.1)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2020-03-12", Date(2020, 3, 12)), ("2020/3/2", Date(2020, 3, 2)), ("12.03.2020", Date(2020, 12, 3)), ("13.03.2020", Date(2020, 3, 13)), ("3rd of May, 2021", Date(2021, 5, 3)),
        ("Sept. 2019", Date(2019, 9)), ("march12,2020", Date(2020, 3, 12)), ("2020-03-12T10:00:00Z", Date(2020, 3, 12)), ("2020年3月2日", Date(2020, 3, 2)), ("1999", Date(1999)),
        ("0000", None), ("31 February 2020", None), ("99/99/2020", None), ("March", None), ("in 2020", None), ("", None),
    ],
)  # fmt: skip
def test_dates_are_read_as_they_are_written(text: str, date: Date | None) -> None:
    """Usual forms are read as exactly as they are; what is no date is none."""
    assert read_date(text) == date


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234.5", "1234.5"), ("12 %", "0.12"), ("**7**", "7"), ("−3", "-3"), ("1.2 million", "1200000"), ("x", None)],
)
def test_numbers_are_read_exactly(text: str, number: str | None) -> None:
    """Thousands, percentages, emphasis and magnitudes; the rest is no number."""
    expected = read_number(number) if number else None
    assert (number is None) == (expected is None)
    assert read_number(text) == expected


def test_preparing_keeps_what_it_cannot_read() -> None:
    """A first number is taken out of words and a date brought into one form; without one the text stays as it is."""
    assert prepare("some 1,250 men of 3", ("extract_number",)) == "1250"
    assert prepare("no number", ("extract_number",)) == "no number"
    assert prepare("March 2020", ("norm_date",)) == "2020-03-01"
    assert prepare("A *B* c", ("norm_str",)) == "abc"
