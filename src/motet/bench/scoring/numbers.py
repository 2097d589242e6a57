r"""Plain numbers as they are written in answers, read exactly: no rounding, no library, no evaluation of anything.

Read are integers, decimals, repeating decimals (``0.\overline{3}``), thousands (``1,000``, ``1{,}000``, ``1\,000``), scientific notation
(``1.5e3``, ``1.5 \times 10^3``), fractions (``1/2``, ``\frac12``, ``½``), mixed numbers (``1 1/2``) and magnitudes (``5 million``).
Units are taken off first, by ``split_unit``.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

_LONGEST = 1_000  # characters; Python itself refuses integers of more than 4,300 digits
_LARGEST_POWER = 400  # of ten; beyond it a few characters would stand for megabytes

_INTEGER = r"\d{1,3}(?:(?:,|\{,\}|\\,|\\ | )\d{3})+(?!\d)|\d+"
_NUMBER = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<whole>{_INTEGER})?(?:\.(?P<digits>\d*)(?:\\overline\{{(?P<repeat>\d+)\}})?)?"
)
_POWER = re.compile(
    r"\s*(?:[eE]\s*\{?([+-]?\d+)\}?|(?:\\times|\\cdot|\*|x)\s*10\s*(?:\^|\*\*)\s*\{?\s*([+-]?\d+)\s*\}?)"
)
_FRACTION = re.compile(
    r"(?P<sign>[+-]?)\s*(?:(?P<whole>\d+)\s*)?\\frac\s*(?:\{\s*(-?\d+)\s*\}|(\d))\s*(?:\{\s*(-?\d+)\s*\}|(\d))"
)
_MIXED = re.compile(r"(?P<sign>[+-]?)\s*(?P<whole>\d+)\s+(?P<part>\d+\s*/\s*\d+)")
_MAGNITUDE = re.compile(r"(?P<rest>.*\S)\s*\b(?P<name>hundred|thousand|million|billion|trillion)s?", re.IGNORECASE)
_MAGNITUDES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
# Words that change a number's value: never units.
_MEANING_WORDS = """
hundred thousand million billion trillion dozen half halves third thirds quarter quarters fourth tenth squared cubed factorial
or and not to from plus minus times over mod pi is no none
"""
_MEANING = frozenset(_MEANING_WORDS.split())

_UNITS = """
cm centimeter centimetre
mm millimeter millimetre
m meter metre
km kilometer kilometre
in inch inches
ft foot feet
yd yard
mi mile
g gram
kg kilogram
lb pound lbs
oz ounce
s sec second
min minute
h hr hour
day
week
month
year
degree deg
dollar usd
cent
percent
unit
mph
km/h kph
m/s
l liter litre
ml milliliter millilitre
"""
_NAMES = {name: line.split()[0] for line in _UNITS.strip().splitlines() for name in line.split()}
# One letter after a number may well be a variable, and "in" a word; these are units only inside \text.
_BARE = sorted((name for name in _NAMES if len(name) > 1 and name != "in"), key=len, reverse=True)
_SQUARE = r"(?:(?:square|sq\.?|cubic|cu\.?)\s+)?"
_EXPONENT = r"(?:\s*\^\s*\{?\s*[23]\s*\}?)?"
_BARE_UNIT = re.compile(
    rf"(?P<rest>.*[\d)}}\]])\s*(?P<unit>{_SQUARE}(?:{'|'.join(map(re.escape, _BARE))})s?{_EXPONENT})\.?", re.IGNORECASE | re.DOTALL
)  # fmt: skip
_TEXT_UNIT = re.compile(
    rf"(?P<rest>.*\S)\s*\\(?:text|mathrm|mbox|textrm|textbf|operatorname)\s*\{{(?P<unit>[A-Za-z ./]{{1,40}})\}}(?P<power>{_EXPONENT})\.?",
    re.DOTALL,
)
_DEGREE = re.compile(r"(?P<rest>.*\S)\s*\^\s*\{?\s*\\circ\s*\}?", re.DOTALL)
_PERCENT = re.compile(r"(?P<rest>.*[^\s\\])\s*\\?%", re.DOTALL)
_MONEY = re.compile(r"(?P<sign>-?)\s*\\?\$\s*(?P<rest>[\d.].*)", re.DOTALL)
_BASE = re.compile(r"(?P<rest>[+-]?[0-9A-Fa-f]*\d[0-9A-Fa-f]*)\s*_\s*\{?\s*(?P<base>\d{1,2}|\\text\{\w+\})\s*\}?")


class Quantity(NamedTuple):
    """A text without its unit, and the unit in one spelling (empty: none)."""

    text: str
    unit: str


def parse_number(text: str) -> Fraction | None:
    """The number that the whole of ``text`` is, or ``None``."""
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    text = _spell_out(text)
    magnitude = _MAGNITUDE.fullmatch(text)
    if magnitude:
        number = parse_number(magnitude["rest"])
        return None if number is None else number * _MAGNITUDES[magnitude["name"].lower()]
    for read in (_read_decimal, _read_fraction, _read_slash):
        number = read(text)
        if number is not None:
            return number
    return None


def same_number(prediction: str, gold: str) -> bool:
    """Whether both are numbers, with units that do not contradict each other, and equal."""
    one, other = split_unit(prediction), split_unit(gold)
    left, right = parse_number(one.text), parse_number(other.text)
    return left is not None and right is not None and same_quantity(left, one.unit, right, other.unit)


def same_quantity(prediction: Fraction, unit: str, gold: Fraction, gold_unit: str) -> bool:
    """Whether two numbers with units are the same answer.

    A unit may be left out. Two units must be the same one; nothing is converted. A percentage equals its fraction, and where the other side has
    no unit also its number, since "what per cent" is answered either way.
    """
    if unit == gold_unit:
        return prediction == gold
    if "percent" in (unit, gold_unit):
        if unit and gold_unit:
            return False
        scaled = (prediction / 100, gold) if unit else (prediction, gold / 100)
        return prediction == gold or scaled[0] == scaled[1]
    return (not unit or not gold_unit) and prediction == gold


def split_unit(text: str) -> Quantity:
    """``text`` without the unit at its end (or the dollar before it). Words that change a number's value are no units."""
    text = text.strip()
    if len(text) > _LONGEST:
        return Quantity(text, "")
    if match := _MONEY.fullmatch(text):
        return Quantity(match["sign"] + split_unit(match["rest"]).text, "dollar")
    if match := _DEGREE.fullmatch(text):
        return Quantity(match["rest"], "degree")
    if match := _PERCENT.fullmatch(text):
        return Quantity(match["rest"], "percent")
    if match := _BASE.fullmatch(text):
        return Quantity(match["rest"], f"base {match['base']}")
    if match := _TEXT_UNIT.fullmatch(text):
        words = match["unit"].lower().split()
        if words and not _MEANING.intersection(words):
            return Quantity(match["rest"], _unit_name(match["unit"] + match["power"]))
        return Quantity(text, "")
    if match := _BARE_UNIT.fullmatch(text):
        return Quantity(match["rest"].strip(), _unit_name(match["unit"]))
    return Quantity(text, "")


def _unit_name(text: str) -> str:
    """One spelling for a unit: ``square centimeters``, ``cm^{2}`` and ``cm^2`` are the same."""
    name = re.sub(r"[\s{}]+", " ", text.lower()).strip().rstrip(".")
    power = ""
    if found := re.fullmatch(r"(.*?)\s*\^\s*([23])", name):
        name, power = found[1], f"^{found[2]}"
    for prefix, exponent in (
        ("square ", "^2"),
        ("sq. ", "^2"),
        ("sq ", "^2"),
        ("cubic ", "^3"),
        ("cu. ", "^3"),
        ("cu ", "^3"),
    ):
        if name.startswith(prefix):
            name, power = name.removeprefix(prefix), exponent
    singular = name.removesuffix("s") if len(name) > 2 else name
    return _NAMES.get(name, _NAMES.get(singular, singular)) + power


def _spell_out(text: str) -> str:
    """Unicode fractions, minus signs and digits in ASCII; ``1½`` becomes ``1 1/2``."""
    if text.isascii():
        return text
    parts: list[str] = []
    for character in text:
        plain = unicodedata.normalize("NFKC", character)
        if "⁄" in plain:  # a fraction character
            parts.append(f" {plain.replace('⁄', '/')}" if parts and parts[-1].isdigit() else plain.replace("⁄", "/"))
        elif character in "−–":
            parts.append("-")
        elif character in "×·":
            parts.append("*")
        else:
            # A superscript would lose its meaning in being made plain.
            parts.append(plain if unicodedata.decomposition(character)[:7] not in ("<super>", "<sub> 0") else character)
    return "".join(parts)


def _read_decimal(text: str) -> Fraction | None:
    match = _NUMBER.match(text)
    if match is None or (match["whole"] is None and not match["digits"] and not match["repeat"]):
        return None
    rest = text[match.end() :]
    power = 0
    if rest:
        factor = _POWER.fullmatch(rest)
        if factor is None:
            return None
        digits = factor[1] or factor[2]
        if len(digits) > 5 or abs(int(digits)) > _LARGEST_POWER:
            return None
        power = int(digits)
    whole = re.sub(r"\D", "", match["whole"] or "0")
    digits, repeat = match["digits"] or "", match["repeat"] or ""
    value = Fraction(int(whole + digits), 10 ** len(digits))
    if repeat:
        value += Fraction(int(repeat), (10 ** len(repeat) - 1) * 10 ** len(digits))
    return (-value if match["sign"] == "-" else value) * Fraction(10) ** power


def _read_fraction(text: str) -> Fraction | None:
    match = _FRACTION.fullmatch(text)
    if match is None:
        return None
    above, below = int(match[3] or match[4]), int(match[5] or match[6])
    if not below:
        return None
    value = Fraction(above, below)
    if match["whole"]:
        value += int(match["whole"])
    return -value if match["sign"] == "-" else value


def _read_slash(text: str) -> Fraction | None:
    if mixed := _MIXED.fullmatch(text):
        part = _read_slash(mixed["part"])
        if part is None:
            return None
        value = int(mixed["whole"]) + part
        return -value if mixed["sign"] == "-" else value
    above, slash, below = text.partition("/")
    if not slash:
        return None
    left, right = _read_decimal(above.strip()), _read_decimal(below.strip())
    return left / right if left is not None and right else None
