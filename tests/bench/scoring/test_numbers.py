"""Plain numbers: every way of writing one that answers use, and what is no number."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.scoring.numbers import parse_number, same_number, split_unit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,000", "1000"),
        ("1{,}000", "1000"),
        ("1\\,000\\,000", "1000000"),
        ("12 345", "12345"),
        (".5", "1/2"),
        ("5.", "5"),
        ("-0", "0"),
        ("−3", "-3"),
        ("1e3", "1000"),
        ("1.5E-2", "3/200"),
        ("1.5 \\times 10^{3}", "1500"),
        ("1.5×10^3", "1500"),
        ("1/2", "1/2"),
        ("½", "1/2"),
        ("2⅓", "7/3"),
        ("1 1/2", "3/2"),
        ("-1 1/2", "-3/2"),
        ("\\frac12", "1/2"),
        ("1\\frac{1}{2}", "3/2"),
        ("-\\frac{1}{-2}", "1/2"),
        ("0.\\overline{3}", "1/3"),
        ("0.1\\overline{6}", "1/6"),
        ("5 million", "5000000"),
    ],
)
def test_each_way_of_writing_a_number_is_read_exactly(text: str, value: str) -> None:
    """The value is the exact rational that a person reads."""
    assert parse_number(text) == Fraction(value)


@pytest.mark.parametrize(
    "text",
    ["", " ", "x", "1,00", "12,34", "1.2.3", "--5", "1/0", "1 0/0", "\\frac{1}{0}", "5²", "²", "3√2", "1e99999", "9" * 2000, "1 or 2", "10**10**10", "5!"],
)  # fmt: skip
def test_what_is_no_plain_number_is_none(text: str) -> None:
    """No prefix of a text counts as its number, and no few characters stand for a huge one."""
    assert parse_number(text) is None


@given(st.text(max_size=60))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """Reading never raises, and a text without any digit is no number."""
    number = parse_number(text)
    assert number is None or any(character.isnumeric() for character in text)


@given(st.fractions(max_denominator=10**6), st.integers(-(10**12), 10**12))
def test_written_numbers_come_back(fraction: Fraction, integer: int) -> None:
    """What Python writes as a fraction or with thousands separators is read as the same number."""
    assert parse_number(str(fraction)) == fraction
    assert parse_number(f"{integer:,}") == integer


@pytest.mark.parametrize(
    ("text", "rest", "unit"),
    [
        ("5 cm", "5", "cm"),
        ("5\\text{ centimeters}", "5", "cm"),
        ("5 square centimeters", "5", "cm^2"),
        ("5\\text{ cm}^2", "5", "cm^2"),
        ("90^\\circ", "90", "degree"),
        ("50\\%", "50", "percent"),
        ("$5", "5", "dollar"),
        ("11_{2}", "11", "base 2"),
        ("5\\text{ apples}", "5", "apple"),
        ("5m", "5m", ""),  # a variable
        ("5\\text{ dozen}", "5\\text{ dozen}", ""),
        ("5 squared", "5 squared", ""),
        ("x_2", "x_2", ""),
    ],
)
def test_units_are_taken_off_and_meanings_are_not(text: str, rest: str, unit: str) -> None:
    """A unit has one spelling; a word that changes the value, or a variable, stays."""
    assert split_unit(text) == (rest, unit)


@pytest.mark.parametrize(
    ("prediction", "gold", "same"),
    [
        ("5 cm", "5", True),
        ("5", "5 cm", True),
        ("5 cm", "5 centimetres", True),
        ("5 cm", "5 m", False),  # a bare m may be a variable: no number at all
        ("500 cm", "5\\text{ m}", False),
        ("5\\text{ cm}", "5\\text{ m}", False),
        ("50%", "1/2", True),
        ("50%", "50", True),
        ("0.5", "50%", True),
        ("50", "50%", True),
        ("5%", "0.5", False),
        ("50%", "50 cm", False),
        ("5", "", False),
        ("", "", False),
    ],
)
def test_units_may_be_left_out_and_not_contradicted(prediction: str, gold: str, same: bool) -> None:
    """One unit missing is no mistake; two different ones are; a percentage is its fraction or its number."""
    assert same_number(prediction, gold) is same
