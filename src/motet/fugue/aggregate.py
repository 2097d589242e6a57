"""Aggregation: from the peers' answers to the team's. Source: AgentFugue, aggregation rules.

Avg and Pass@N need the right answer, so they belong to reports; what is here is what a team can do by itself.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from motet.fugue.peer import Answer

Rule: TypeAlias = Literal["majority", "weighted", "confident", "judge", "table"]

_UNSURE = 0.5  # the weight of an answer whose confidence is unknown
_ANSWER = re.compile(r"^\W*(?:exact\s+|final\s+)?answer\W*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_CONFIDENCE = re.compile(r"^\W*confidence\W*:?\s*(\d{1,3}(?:\.\d+)?)\s*%?\s*\W*$", re.IGNORECASE | re.MULTILINE)


class Choice(NamedTuple):
    """The team's answer, whose it is (the first peer that gave it), and why."""

    answer: str | None
    peer: str | None
    why: str


def majority(answers: Sequence[Answer]) -> Choice:
    """The answer that most peers gave; of equals, the one that the earlier peer gave."""
    return _vote(answers, weight=lambda _: 1.0, what="peers")


def weighted(answers: Sequence[Answer]) -> Choice:
    """As the majority, with each answer counting as much as its peer is confident of it."""
    return _vote(
        answers, weight=lambda answer: _UNSURE if answer.confidence is None else answer.confidence, what="weight"
    )


def confident(answers: Sequence[Answer]) -> Choice:
    """The answer of the most confident peer; of equals, the earlier."""
    given = [answer for answer in answers if answer.answer]
    if not given:
        return _NOTHING
    best = max(given, key=lambda answer: _UNSURE if answer.confidence is None else answer.confidence)
    return Choice(best.answer, best.peer, f"confidence {_UNSURE if best.confidence is None else best.confidence:.2f}")


def table(answers: Sequence[Answer]) -> Choice:
    """One Markdown table of all rows that peers gave, for answers that are tables: rows are the same if their first cell is; of two, the fuller one stays.

    Falls back to the majority where no answer is a table.
    """
    header: list[str] = []
    rows: dict[str, list[str]] = {}
    for answer in answers:
        found = read_table(answer.answer or "")
        if not found:
            continue
        header = header or found[0]
        places = [_place(name, found[0]) for name in header]
        for row in found[1:]:
            cells = [row[place] if place is not None and place < len(row) else "" for place in places]
            key = normal(cells[0]) if cells else ""
            if key and (key not in rows or sum(map(bool, cells)) > sum(map(bool, rows[key]))):
                rows[key] = cells
    if not header:
        return majority(answers)
    lines = [header, ["---"] * len(header), *rows.values()]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return Choice(text, None, f"{len(rows)} rows of {sum(bool(answer.answer) for answer in answers)} peers")


RULES: dict[str, Callable[[Sequence[Answer]], Choice]] = {
    "majority": majority,
    "weighted": weighted,
    "confident": confident,
    "table": table,
}


def agreed(answers: Sequence[Answer], *, number: int) -> bool:
    """Whether more than half of ``number`` peers have given the same answer."""
    counts: defaultdict[str, int] = defaultdict(int)
    for answer in answers:
        if answer.answer:
            counts[short(answer.answer)] += 1
    return max(counts.values(), default=0) * 2 > number


def short(text: str) -> str:
    """What two answers must share to count as the same: the text after ``Answer:`` where there is one, without case, punctuation and articles."""
    found = _ANSWER.findall(_CONFIDENCE.sub("", text))
    return normal(found[-1] if found else text)


def normal(text: str) -> str:
    """``text`` without case, punctuation, articles and double spaces."""
    plain = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(word for word in plain.split() if word not in ("a", "an", "the"))


def with_confidence(text: str) -> tuple[str, float | None]:
    """``text`` without its line on confidence, and that, from 0 to 1; ``None`` where there is none or it is no percentage."""
    found = _CONFIDENCE.findall(text)
    if not found:
        return text, None
    value = float(found[-1])
    return _CONFIDENCE.sub("", text).strip(), value / 100 if value <= 100 else None


def read_table(text: str) -> list[list[str]]:
    """The rows of the first Markdown table in ``text``, its header first; empty where there is none."""
    rows: list[list[str]] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped.startswith("|"):
            if rows:
                break
            continue
        cells = [cell.strip() for cell in stripped.strip("|").split("|")]
        if not all(set(cell) <= set("-: ") and cell for cell in cells):
            rows.append(cells)
    return rows if len(rows) > 1 else []


_NOTHING = Choice(None, None, "no peer gave an answer")


def _vote(answers: Sequence[Answer], *, weight: Callable[[Answer], float], what: str) -> Choice:
    votes: dict[str, float] = {}
    first: dict[str, Answer] = {}
    for answer in answers:
        if answer.answer:
            key = short(answer.answer)
            votes[key] = votes.get(key, 0.0) + weight(answer)
            first.setdefault(key, answer)
    if not votes:
        return _NOTHING
    best = max(votes, key=lambda key: votes[key])
    total = sum(votes.values())
    return Choice(first[best].answer, first[best].peer, f"{votes[best]:g} of {total:g} {what}")


def _place(name: str, header: Sequence[str]) -> int | None:
    names = [normal(other) for other in header]
    return names.index(normal(name)) if normal(name) in names else None
