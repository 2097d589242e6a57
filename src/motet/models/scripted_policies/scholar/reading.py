"""Understanding a question of two pages, and reading what pages tell of it.

A *bridge* leads from the page that the question names, by a relation such as ``founder``, to the page of which it is asked; a *comparison* asks the same of two
pages that the question names. Nothing is known but the words in ``scholar.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from motet.models.scripted_policies.scholar.lore import Lore, Relation
from motet.models.scripted_policies.scholar.pages import Fact, Pages, base, mentioned, names_in

_SAME = re.compile(r"\bsame\b|\bboth\b", re.IGNORECASE)
_LEAST = re.compile(r"\bfirst\b|\bearlier\b|\bolder\b|\bfewer\b|\bsmaller\b|\bbefore\b", re.IGNORECASE)
_MOST = re.compile(r"\blater\b|\bmore\b|\blarger\b|\byounger\b|\bbigger\b|\bgreater\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:which|what) year\b|^when\b|\byear of birth\b", re.IGNORECASE)

How = Literal["bridge", "same", "least", "most"]


@dataclass(frozen=True)
class Asked:
    """A question as it is understood. ``link`` leads to the page of which ``target`` is asked; names of relations, empty where none is seen."""

    how: How
    link: str
    target: str

    @property
    def compares(self) -> bool:
        """Whether two pages are compared."""
        return self.how != "bridge"


@dataclass(frozen=True)
class Reader:
    """Reads pages for one question."""

    question: str
    lore: Lore

    def asked(self, titles: Collection[str]) -> Asked:
        """The question, with those of ``titles`` that it names taken out."""
        words = self.question
        for title in mentioned(words, titles):
            words = words.replace(base(title), "…")
        for _, name in list(names_in(words)):
            words = words.replace(name, "… and …" if " and " in name else "…")
        about = {name: relation for name, relation in self.lore.relations.items() if relation.asked_in(words)}
        how: How = "bridge"
        if words.count("…") > 1:
            how = (
                "same"
                if _SAME.search(words)
                else "least"
                if _LEAST.search(words)
                else "most"
                if _MOST.search(words)
                else "bridge"
            )
        if how != "bridge":
            numeric = how != "same"
            fitting = [name for name, relation in about.items() if (relation.value in ("year", "number")) == numeric]
            return Asked(how, "", fitting[0] if fitting else "")
        year = _YEAR.search(words) is not None
        targets = [name for name, relation in about.items() if not relation.leads]
        fitting = [name for name in targets if (self.lore.relations[name].value == "year") == year] or targets
        links = [name for name, relation in about.items() if relation.leads]
        return Asked("bridge", links[0] if links else "", fitting[0] if fitting else links[0] if links else "")

    def subjects(self, titles: Collection[str]) -> list[str]:
        """The pages that the question names."""
        return mentioned(self.question, titles)

    def fact(self, relation: str, title: str, pages: Pages) -> Fact | None:
        """The sentence of the page ``title`` that tells ``relation``."""
        for number, text in sorted(pages.get(title, {}).items()):
            if relation and self.value(relation, title, text):
                return Fact(title, number, text)
        return None

    def value(self, relation: str, title: str, text: str) -> str:
        """What the sentence ``text`` on ``title`` says of ``relation``; empty where it says nothing."""
        known = self.lore.relations[relation]
        found = known.telling.search(text)
        return _value(known, found, title, text) if found else ""


def _value(relation: Relation, found: re.Match[str], title: str, text: str) -> str:
    if relation.value == "year":
        years = re.findall(r"\b1\d{3}\b|\b20\d\d\b", text)
        return years[0] if years else ""
    if relation.value == "number":
        numbers = re.findall(r"\b\d[\d,.]*\d\b", text)
        return numbers[0] if numbers else ""
    if relation.value == "word":
        word = re.match(r"[a-z-]+", text[found.end() :])
        return word[0] if word else ""
    own = base(title)
    names = [(start, name) for start, name in names_in(text) if name not in own and own not in name]
    after = [name for start, name in names if start >= found.start()]
    return after[0] if after else names[-1][1] if names else ""
