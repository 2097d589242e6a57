"""What a result answered: the answer, and the supporting facts that it cites.

Facts come from ``details["supporting_facts"]``, a list of ``[title, sentence number]``, where a system gives it. Else they are read from the end of the answer's text: what
follows its last "Supporting facts:", or the citations that the text ends with. Both forms of a citation count: JSON (``["Title", 0]``) and bare (``[Title, 0]``).
The answer is what follows the last "Answer:" before them, to the end of that line; without it the whole text before them.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from pydantic import JsonValue

from motet.bench.scoring.text import Fact
from motet.canonical import canonical
from motet.task import Result

_READ = 20_000  # characters at the end of a text
_LABEL = re.compile(r"[*_#\s]*\bsupporting[ _]facts?\b[*_\s]*[:=]?[*_\s]*", re.IGNORECASE)
_ANSWER = re.compile(r"(?:^|\n)[ \t>*_#-]{0,8}(?:final )?answer[*_ \t]{0,4}:[*_ \t]{0,4}([^\n]*)", re.IGNORECASE)
_CITATION = re.compile(r"\[\s*([^\[\]\n]{1,300}?|[^\n]{1,300}?)\s*,\s*[\"']?(\d{1,4})[\"']?\s*\]")
_TAIL = re.compile(r"[\s,;.\[\]]*")
_QUOTES = "\"'“”‘’ "


class Given(NamedTuple):
    """An answer and the facts it cites; ``None`` where a result gave none at all."""

    answer: str | None
    facts: tuple[Fact, ...] | None


def read_result(result: Result) -> Given:
    """What ``result`` answered. Never raises: what cannot be read was not given."""
    text, cited = split_answer(result.answer or "")
    listed = result.details.get("supporting_facts")
    facts = _listed(listed) if isinstance(listed, list) else cited
    return Given(text, facts)


def split_answer(text: str) -> Given:
    """The answer and the facts in ``text``."""
    text = text[-_READ:]
    labels = list(_LABEL.finditer(text))
    labels = [
        label for label in labels if "[" in text[label.end() : label.end() + 3] or not text[label.end() :].strip()
    ]
    start, end = (labels[-1].start(), labels[-1].end()) if labels else (_citations_start(text),) * 2
    before, facts = text[:start], None if start is None else _facts(text[end:])
    stated = _ANSWER.findall(before)
    answer = (stated[-1] if stated else before).strip().strip("*_").strip()
    return Given(answer or None, facts)


def _facts(section: str) -> tuple[Fact, ...]:
    """The citations in ``section``: its first JSON list, else whatever looks like one."""
    opening = section.find("[")
    if opening >= 0:
        try:
            listed, _ = json.JSONDecoder().raw_decode(section, opening)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and listed and all(isinstance(item, list) for item in listed):
            return tuple(_typed(fact) for fact in _listed(listed))
    found = [(title.strip(_QUOTES), int(number)) for title, number in _CITATION.findall(_unnested(section))]
    return tuple(dict.fromkeys(found))


def _citations_start(text: str) -> int | None:
    """Where the citations begin that ``text`` ends with."""
    start: int | None = None
    end = len(text)
    for match in reversed(list(_CITATION.finditer(text))[-100:]):
        if not _TAIL.fullmatch(text, match.end(), end):
            break
        start = end = match.start()
    return start


def _unnested(section: str) -> str:
    """``section`` without the bracket of a list of citations."""
    return re.sub(r"\[\s*\[", "[", section)


def _listed(items: list[JsonValue]) -> tuple[Fact, ...]:
    """``items`` as facts; one of another form is kept as something that no gold fact equals, so that it costs precision."""
    facts: list[Fact] = []
    for item in items:
        if isinstance(item, list) and len(item) == 2 and not any(isinstance(part, (list, dict)) for part in item):
            facts.append((item[0], item[1]))  # type: ignore[arg-type]
        else:
            facts.append(("", canonical(item)))
    return tuple(facts)


def _typed(fact: Fact) -> Fact:
    """A text has no types: a sentence's number between quotes is a number all the same."""
    title, number = fact
    return (title, int(number)) if isinstance(number, str) and number.isdecimal() and len(number) < 5 else fact
