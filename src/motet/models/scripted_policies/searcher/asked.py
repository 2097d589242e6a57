"""A question taken apart, and what a page tells of what it asks.

A question names a page to begin at, says something of each page of a chain that leads on from one of those listed there, and asks for something of the last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from motet.models.scripted_policies.searcher.lore import Lore, pattern
from motet.models.scripted_policies.searcher.pages import names_in, sentences

_SPLIT = re.compile(r"(?<=[.?!])\s+")
_COLUMNS = re.compile(r"these columns: ([^.\n]+)")
_ASKED_FOR = re.compile(r"(?:what|which) (?:is|was) the (.+?) of (?:that|the) ", re.IGNORECASE)
_CLAIM = r"\b(?:LABEL) (?:in question|that is looked for|asked for|wanted) (?:is|was) VALUE"
_VALUE = r"((?:the )?[A-Z][\w’'-]*(?: (?:and |of |over )?[A-Z][\w’'-]*)*)"


class Clause(NamedTuple):
    """What is asked of one page of the chain. ``by`` is the relation that leads to it, empty for the first; ``sense`` is what it must tell, in ``group``."""

    by: str
    sense: str
    group: str
    told: str


class Asked(NamedTuple):
    """A question: where to begin, the chain, what is asked for, and the columns if that is a table."""

    text: str
    anchor: str
    clauses: tuple[Clause, ...]
    label: str
    columns: tuple[str, ...]


class Fact(NamedTuple):
    """Something that a page tells, and the sentence that does."""

    what: str
    sentence: str


def asked(text: str, lore: Lore) -> Asked:
    """The question in ``text``."""
    return _asked(text.strip().partition("\n\n")[0], _Key(lore))


def check(text: str, clause: Clause, lore: Lore) -> tuple[bool, str] | None:
    """Whether a page's ``text`` tells what ``clause`` asks for, with the sentence that says so or says another thing; ``None`` where it says nothing of the kind."""
    return _check(text, clause, _Key(lore))


def leads(text: str, relation: str, links: Mapping[str, str], lore: Lore) -> Fact | None:
    """The name to which ``relation`` leads from a page."""
    told = lore.relations[relation].told if relation in lore.relations else _loosely(relation)
    return _leads(text, told, tuple(links))


def value(text: str, label: str, lore: Lore) -> Fact | None:
    """What a page tells of itself as ``label``."""
    forms = lore.values[label].told if label in lore.values else (f"{re.escape(label)} (?:is|was)(?: called)? VALUE",)
    return _first(text, tuple(form.replace("VALUE", _VALUE) for form in forms))


def claimed(text: str, label: str) -> Fact | None:
    """What a page claims the answer to be."""
    return _first(text, (_CLAIM.replace("LABEL", re.escape(label)).replace("VALUE", _VALUE),))


class _Key:
    """A lore as a key of caches, equal to others of the same words: mistakes and habits do not bear on reading."""

    def __init__(self, lore: Lore) -> None:
        self.lore = lore
        self._words = (id(lore.senses), id(lore.relations), id(lore.values))

    def __hash__(self) -> int:
        return hash(self._words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._words == other._words


@lru_cache(maxsize=1024)
def _asked(text: str, key: _Key) -> Asked:
    lore = key.lore
    first, *rest = _SPLIT.split(text) or [""]
    names = sorted(names_in(first), key=len, reverse=True)
    clauses: list[Clause] = []
    label = ""
    columns = tuple(column.strip() for found in _COLUMNS.findall(text) for column in found.split(","))
    for sentence in rest:
        if sentence.endswith("?") or _COLUMNS.search(sentence):
            asked_for = columns[-1] if columns else sentence
            found = _ASKED_FOR.search(sentence)
            label = next(
                (name for name, told in lore.values.items() if pattern(told.about).search(asked_for)),
                columns[-1] if columns else found[1] if found else "",
            )
        else:
            clauses.append(_clause(sentence, lore, first=not clauses))
    return Asked(text, names[0] if names else "", tuple(clauses), label, columns)


def _clause(sentence: str, lore: Lore, *, first: bool) -> Clause:
    by = ""
    if not first:
        by = next((name for name, found in lore.relations.items() if pattern(found.about).search(sentence)), sentence)
    plain = sentence.rstrip(". ").lower()
    for group, senses in lore.senses.items():
        for sense, told in senses.items():
            if plain.endswith(sense):
                return Clause(by, sense, group, told)
    words = plain.split()[-2:]
    return Clause(by, " ".join(words), "", rf"\b{re.escape(words[-1])}\b" if words else "$^")


@lru_cache(maxsize=16384)
def _check(text: str, clause: Clause, key: _Key) -> tuple[bool, str] | None:
    right = _sentence(text, clause.told)
    if right:
        return True, right
    for sense, told in key.lore.senses.get(clause.group, {}).items():
        other = _sentence(text, told) if sense != clause.sense else ""
        if other:
            return False, other
    return None


@lru_cache(maxsize=16384)
def _leads(text: str, told: str, links: tuple[str, ...]) -> Fact | None:
    sentence = _sentence(text, told)
    if not sentence:
        return None
    found = pattern(told).search(sentence)
    assert found is not None
    rest = sentence[found.end() :]
    named = [title for title in links if title in rest] or list(names_in(f"is {rest}"))
    return Fact(named[0], sentence) if named else None


@lru_cache(maxsize=16384)
def _first(text: str, forms: tuple[str, ...]) -> Fact | None:
    for form in forms:
        for sentence in sentences(text):
            # Names are told from other words by their capitals, so what stands around them may only vary in its first letter.
            found = re.search(form, sentence)
            if found:
                return Fact(found[1], sentence)
    return None


def _sentence(text: str, told: str) -> str:
    wanted = pattern(told)
    if not wanted.search(text):
        return ""
    return next((sentence for sentence in sentences(text) if wanted.search(sentence)), "")


def _loosely(phrase: str) -> str:
    """For a relation that it has no words for: any longer word of the question's own."""
    words = [re.escape(word[:6]) for word in re.findall(r"[a-z]{5,}", phrase)]
    return "|".join(words) if words else "$^"
