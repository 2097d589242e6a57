"""A reader that knows the web's language and nothing of how a site was made: it answers a question by reading every page, so what it finds is what pages say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from motet.worlds.synthweb import Page, Web
from motet.worlds.synthweb.lore import lore


class Chain(NamedTuple):
    """A candidate's chain: how many of its pages must be read, and the titles of its first and last page with what is asked for, where all fits."""

    pages: int
    row: tuple[str, ...] | None


def answers(question: str, web: Web) -> set[tuple[str, ...]]:
    """The row of every chain that fits."""
    return {chain.row for chain in chains(question, web) if chain.row is not None}


def chains(question: str, web: Web) -> Iterator[Chain]:
    """Every candidate's chain, read until something does not hold that ``question`` says."""
    anchor_kind, anchor, rest = _opening(question)
    first = lore()["anchors"][anchor_kind]["entity"]
    said = re.findall(r"[^.?]+[.?]", rest)
    for title in _listed(anchor_kind, web, anchor):
        here, kind, pages = _page(web, title), first, 1
        fits = _says(here, kind, said[0], f"That {first}")
        for sentence in said[1:]:
            links = lore()["kinds"][kind]["links"].values()
            link = next((link for link in links if sentence.strip().startswith(f"{link['asked']} ")), None)
            if link is None or not fits:
                break
            here, kind, pages = _page(web, _told(here, link["told"])), link["to"], pages + 1
            fits = _says(here, kind, sentence, link["asked"])
        value = lore()["kinds"][kind]["value"]["told"]
        yield Chain(pages, (title, here.title, _told(here, value)) if fits else None)


def _page(web: Web, title: str) -> Page:
    page = web.find(title)
    assert page is not None, title
    return page


def _says(page: Page, kind: str, sentence: str, subject: str) -> bool:
    """Whether ``page`` says of itself what ``sentence`` says of ``subject``."""
    checks = lore()["kinds"][kind]["checks"].values()
    asked = sentence.strip().removeprefix(subject).strip().rstrip(".")
    told = next(check["told"] for check in checks if check["asked"] == asked)
    return any(re.search(_pattern(wording), page.text) for wording in told)


def _opening(question: str) -> tuple[str, str, str]:
    """The anchor's kind and title, and what follows the first sentence."""
    for kind, anchor in lore()["anchors"].items():
        for group in anchor["asked"]:
            for form in [*lore()["question"]["single"], *lore()["question"]["several"]]:
                pattern = re.escape(form.format(anchor=group)).replace(r"\{title\}", "(.+?)")
                if match := re.match(pattern, question):
                    return kind, match[1], question[match.end() :]
    raise AssertionError(f"no opening in {question}")


def _listed(kind: str, web: Web, anchor: str) -> list[str]:
    """The titles that the anchor's page lists."""
    page = _page(web, anchor)
    names: list[str] = []
    for wording in [*lore()["anchors"][kind]["lists"], *lore()["anchors"][kind]["more"]]:
        pattern = re.escape(wording).replace(r"\{names\}", "([^.]+)")
        for match in re.finditer(pattern, page.text):
            names += re.split(r", | and ", match[1])
    return names


def _told(page: Page, wordings: list[str]) -> str:
    """The one value that ``page`` gives in any of ``wordings``."""
    found = {match[1] for wording in wordings for match in re.finditer(_pattern(wording), page.text)}
    assert len(found) == 1, (page.title, wordings, found)
    return found.pop()


def _pattern(wording: str) -> str:
    """A regular expression for a whole sentence on a page."""
    pattern = re.escape(wording).replace(r"\{value\}", "([^.,]+)")
    return rf"(?m:^|(?<=\. )){re.sub(r'.{(It|it|Its|its).}', '[A-Za-z]+', pattern)}"
