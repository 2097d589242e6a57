"""Cells of a table: what is read out of them, and when two agree.

The comparators are those of WideSearch (Wong et al., arXiv 2508.07999; https://github.com/ByteDance-Seed/WideSearch), a number within a tolerance, a date within a month, addresses on the same hosts. Where the
published code accepts two texts because it can read neither as what they should be (two dates, two numbers, two addresses), they must be the same text here: nothing is right for being unreadable.
Every function here takes any text and raises nothing.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from motet.bench.scoring.numbers import parse_number

Preprocess: TypeAlias = Literal["norm_str", "extract_number", "norm_date"]
Rule: TypeAlias = Literal["exact_match", "number_near", "date_near", "url_match", "in_match"]

_LONGEST = 10_000  # characters of a cell that are read
_NEAR = 31  # days
_MARKS = str.maketrans("", "", "*`")
# What says that there is nothing to say. Two of them agree, and nothing else agrees with one.
_MISSING = frozenset({"", "-", "--", "–", "—", "nan", "n/a"})
_NUMBER = re.compile(r"[-+−]?(?:\d+(?:\.\d+)?|\.\d+)(?:\s*%)?")
_LINK = re.compile(r"https?://[^\s<>\"'|)\]]+", re.IGNORECASE)
_NAMES = """
january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct|november nov|december dec
"""
_MONTHS = {name: number for number, names in enumerate(_NAMES.split("|"), start=1) for name in names.split()}
_MONTH = f"(?P<name>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<year>\d{4})\s*[-/.]\s*(?P<month>\d{1,2})(?:\s*[-/.]\s*(?P<day>\d{1,2})(?:[t\s]\s*\d{1,2}:\d{2}.*)?)?",
        r"(?P<year>\d{4})\s*年(?:\s*(?P<month>\d{1,2})\s*月(?:\s*(?P<day>\d{1,2})\s*[日号])?)?",
        r"(?P<first>\d{1,2})\s*[-/.]\s*(?P<second>\d{1,2})\s*[-/.]\s*(?P<year>\d{4})",
        rf"{_DAY}\s*(?:of\s)?[-\s]*{_MONTH}[-,\s]*(?P<year>\d{{4}})",
        rf"{_MONTH}\s*{_DAY}[,\s]*(?P<year>\d{{4}})",
        rf"{_MONTH}[-,\s]*(?P<year>\d{{4}})",
        r"(?P<year>\d{4})",
    )
)


class Date(NamedTuple):
    """A date as exactly as it was written; a month or a day may be missing."""

    year: int
    month: int | None = None
    day: int | None = None

    def first(self) -> datetime.date:
        """The first day that it may be."""
        return datetime.date(self.year, self.month or 1, self.day or 1)


def normal(text: str) -> str:
    """``text`` without case, spaces, emphasis and forms of width: what two equal cells share. Empty where it says nothing."""
    plain = "".join(unicodedata.normalize("NFKC", text[:_LONGEST]).casefold().translate(_MARKS).split())
    return "" if plain in _MISSING else plain


def prepare(text: str, steps: tuple[Preprocess, ...]) -> str:
    """``text`` after ``steps``, each of which leaves alone what it cannot read."""
    text = text[:_LONGEST]
    for step in steps:
        if step == "norm_str":
            text = normal(text)
        elif step == "extract_number":
            found = _NUMBER.search(_ungrouped(text))
            text = found[0] if found else text
        else:
            date = read_date(text)
            text = date.first().isoformat() if date else text
    return text


def agree(given: str, gold: str, rule: Rule, *, tolerance: float = 0.0) -> bool:
    """Whether ``given`` is right by ``rule``. ``tolerance`` is a number's, as a share of the right one."""
    if normal(given) == normal(gold):
        return True
    if not normal(given) or not normal(gold):
        return False
    if rule == "number_near":
        return _near(given, gold, tolerance)
    if rule == "date_near":
        return _same_time(given, gold)
    if rule == "url_match":
        hosts = _hosts(gold)
        return bool(hosts) and _hosts(given) == hosts
    return rule == "in_match" and _within(given, gold)


def read_number(text: str) -> Fraction | None:
    """The number that the whole of ``text`` is; a percentage is a share."""
    text = _ungrouped(text).strip().translate(_MARKS)
    percent = text.endswith("%")
    number = parse_number(text.removesuffix("%"))
    return number / 100 if number is not None and percent else number


def read_date(text: str) -> Date | None:
    """The date that the whole of ``text`` is: ISO, in words, in Chinese, or in numbers with the month first unless it cannot be one."""
    plain = unicodedata.normalize("NFKC", text[:100]).casefold().translate(_MARKS).strip(" .,")
    for pattern in _DATES:
        match = pattern.fullmatch(plain)
        if match is None:
            continue
        parts = match.groupdict()
        month, day = parts.get("month"), parts.get("day")
        if parts.get("name"):
            month = str(_MONTHS[parts["name"]])
        if parts.get("first"):
            month, day = parts["first"], parts["second"]
            if int(month) > 12:
                month, day = day, month
        date = Date(int(parts["year"]), int(month) if month else None, int(day) if day else None)
        try:
            date.first()
        except ValueError:
            return None
        return date
    return None


def _near(given: str, gold: str, tolerance: float) -> bool:
    one, other = read_number(given), read_number(gold)
    # Fraction(tolerance) would be a hair less than what was written: 0.1 is no binary number.
    return one is not None and other is not None and abs(one - other) <= abs(other) * Fraction(str(tolerance))


def _same_time(given: str, gold: str) -> bool:
    one, other = read_date(given), read_date(gold)
    if one is None or other is None:
        return False
    if other.month is None:
        return one.year == other.year
    return one.month is not None and abs((one.first() - other.first()).days) <= _NEAR


def _hosts(text: str) -> frozenset[str]:
    hosts = set()
    for link in _LINK.findall(text):
        try:
            host = urlsplit(link).hostname
        except ValueError:
            continue
        if host:
            hosts.add(host.removeprefix("www."))
    return frozenset(hosts)


def _within(given: str, gold: str) -> bool:
    """Whether ``given`` is a part of ``gold`` that says something: whole words, or at least two characters of a script without spaces."""
    part, whole = (" ".join(text[:_LONGEST].casefold().translate(_MARKS).split()) for text in (given, gold))
    if not part.isascii():
        return len(part) > 1 and part in whole
    if len(part) < 3 or part in ("the", "and"):
        return False
    return re.search(rf"(?<![a-z0-9]){re.escape(part)}(?![a-z0-9])", whole) is not None


def _ungrouped(text: str) -> str:
    """``text`` without the commas between thousands, with plain digits."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", unicodedata.normalize("NFKC", text))
