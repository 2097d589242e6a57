"""How far the evidence goes: which sentences bear the answer, what is missing, and what follows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from motet.models.scripted_policies.scholar.pages import Fact, Pages, base, names_in
from motet.models.scripted_policies.scholar.reading import Asked, Reader


class Findings(NamedTuple):
    """The sentences that bear the answer so far, in the order of the question, and the names whose pages are wanted."""

    asked: Asked
    facts: tuple[Fact, ...]
    missing: tuple[str, ...]


class Conclusion(NamedTuple):
    """An answer with the sentences it rests on, and what somebody might take for the answer instead."""

    answer: str
    facts: tuple[Fact, ...]
    other: str = ""


def pages_of(facts: Iterable[Fact], pages: Pages | None = None) -> Pages:
    """``pages`` with ``facts`` beside."""
    found = {title: dict(sentences) for title, sentences in (pages or {}).items()}
    for fact in facts:
        found.setdefault(fact.title, {})[fact.number] = fact.text
    return found


def findings(reader: Reader, pages: Pages) -> Findings:
    """What ``pages`` hold for the question."""
    subjects = reader.subjects(pages)
    asked = reader.asked(subjects)
    if asked.compares:
        told = [reader.fact(asked.target, title, pages) for title in subjects]
        facts = tuple(fact for fact in told if fact is not None)
        unread = [base(title) for title, fact in zip(subjects, told, strict=True) if fact is None]
        rest = reader.question
        for title in subjects:
            rest = rest.replace(base(title), "…")
        others = [part for _, name in names_in(rest) for part in name.split(" and ")]
        return Findings(asked, facts, (*unread, *others))
    first = next((fact for title in subjects if (fact := reader.fact(asked.link, title, pages))), None)
    if first is None:
        return Findings(asked, (), ())
    bridge = reader.value(asked.link, first.title, first.text)
    if asked.link == asked.target:
        return Findings(asked, (first,), ())
    page = next((title for title in pages if base(title) == bridge), None)
    second = reader.fact(asked.target, page, pages) if page else None
    return Findings(asked, (first,), (bridge,)) if second is None else Findings(asked, (first, second), ())


def conclude(reader: Reader, facts: Sequence[Fact]) -> Conclusion:
    """What somebody who takes ``facts`` as they are concludes from them: of several sentences that tell what is asked, the first counts."""
    subjects = reader.subjects([fact.title for fact in facts])
    asked = reader.asked(subjects)
    telling = [fact for fact in facts if asked.target and reader.value(asked.target, fact.title, fact.text)]
    if asked.compares:
        return _compare(reader, asked, _first_of_each(telling) or _first_of_each(facts))
    first = next(
        (f for f in facts if f.title in subjects and asked.link and reader.value(asked.link, f.title, f.text)), None
    )
    bridge = reader.value(asked.link, first.title, first.text) if first else ""
    later = [fact for fact in telling if fact != first]
    others = [fact for fact in facts if fact != first]
    if later:
        answer = reader.value(asked.target, later[0].title, later[0].text)
    elif others:
        answer = _some_value(others[0])
    else:
        answer = bridge or "not found"
    cited = [fact for fact in (first, *(later or others)[:1]) if fact is not None]
    return Conclusion(answer, tuple(cited), bridge)


def _compare(reader: Reader, asked: Asked, facts: Sequence[Fact]) -> Conclusion:
    two = facts[:2]
    values = [reader.value(asked.target, fact.title, fact.text) if asked.target else "" for fact in two]
    if len(two) < 2 or not all(values):
        answer = "no" if asked.how == "same" else base(two[0].title) if two else "not found"
        return Conclusion(answer, tuple(two), "yes" if asked.how == "same" else "")
    if asked.how == "same":
        same = values[0] == values[1]
        return Conclusion("yes" if same else "no", tuple(two), "no" if same else "yes")
    first = (_number(values[0]) < _number(values[1])) == (asked.how == "least")
    right, wrong = (two[0], two[1]) if first else (two[1], two[0])
    return Conclusion(base(right.title), tuple(two), base(wrong.title))


def _first_of_each(facts: Sequence[Fact]) -> list[Fact]:
    found: dict[str, Fact] = {}
    for fact in facts:
        found.setdefault(fact.title, fact)
    return list(found.values())


def _some_value(fact: Fact) -> str:
    names = [name for _, name in names_in(fact.text) if name not in fact.title]
    numbers = re.findall(r"\d+", fact.text)
    return (names or numbers or [fact.text])[0]


def _number(text: str) -> float:
    return float(text.replace(",", ""))
