"""Texts as the searcher meets them: pages and hits in what tools answered, names in prose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

_HIT = re.compile(r"^\d+\. (.+)\n   address: (\S+)$", re.MULTILINE)
_HEAD = re.compile(r"^Title: (.+)\nAddress: (\S+)\nPart (\d{1,6}) of (\d{1,6})$", re.MULTILINE)
# What ends a page within a longer text: the next step of an episode, or what an agent is told after an observation.
_END = re.compile(
    r"^(?:Step \d+(?:, part \d+)?$|tool:|peer:|peer calls |told:|The next part: |\((?:You|\w[\w-]*) made this very call|Task: |Observation from )",
    re.MULTILINE,
)
_SET_IN = re.compile(r"^(?: {4}|  (?=peer|tool|told))", re.MULTILINE)
_LINK = re.compile(r"^- (.+): (\S+)$", re.MULTILINE)
_ABSENT = re.compile(r"There is no page at '([^'\n]+)'")
_SILENT = re.compile(r"(\S+) did not answer \(\d+\)")
_FAILURE = 600  # characters of a tool's failure at most
_SENTENCE = re.compile(r"[^.?!\n]+[.?!]")
_NAME = re.compile(r"(?<![\w-])[A-Z][\w’'-]*(?: (?:of |over |and (?=the ))?[A-Z][\w’'-]*)*")


class Leaf(NamedTuple):
    """One part of a page as it was read. ``links`` are title → address."""

    title: str
    address: str
    part: int
    parts: int
    text: str
    links: tuple[tuple[str, str], ...]


class Hit(NamedTuple):
    """A page that a search found."""

    title: str
    address: str


@lru_cache(maxsize=4096)
def leaves(text: str) -> tuple[Leaf, ...]:
    """The pages that were read in ``text``."""
    found = []
    for head, rest in sections(_HEAD, text):
        end = _END.search(rest)
        prose, _, links = rest[: end.start() if end else len(rest)].partition("\nLinks:\n")
        found.append(
            Leaf(head[1], head[2], int(head[3]), int(head[4]), prose.strip(), tuple(map(_pair, _LINK.finditer(links))))
        )
    return tuple(found)


@lru_cache(maxsize=4096)
def hits(text: str) -> tuple[Hit, ...]:
    """The pages that searches found in ``text``."""
    return tuple(Hit(found[1], found[2]) for found in _HIT.finditer(text))


def sections(head: re.Pattern[str], text: str) -> list[tuple[re.Match[str], str]]:
    """Each place where ``head`` matches, with the text from there to the next."""
    heads = list(head.finditer(text))
    ends = [*(found.start() for found in heads[1:]), len(text)]
    return [(found, text[found.end() : end]) for found, end in zip(heads, ends, strict=False)]


def plain(raw: str) -> str:
    """Raw steps, as the hub and teammates are shown them, without what sets the words of others in."""
    return _SET_IN.sub("", raw)


def absent(text: str) -> str | None:
    """The page that a visit says there is not."""
    found = _ABSENT.search(text[:_FAILURE])
    return found[1] if found else None


def silent(text: str) -> str | None:
    """The page that a visit says did not answer."""
    found = _SILENT.search(text[:_FAILURE])
    return found[1] if found else None


@lru_cache(maxsize=8192)
def key(name: str) -> str:
    """What a title and an address of the same page have in common: the last part of an address, which is the title in small letters."""
    return re.sub(r"[^a-z0-9]+", "-", name.rpartition("/")[2].lower()).strip("-")


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a prose text."""
    return tuple(found[0].strip() for found in _SENTENCE.finditer(text))


@lru_cache(maxsize=4096)
def names_in(text: str) -> tuple[str, ...]:
    """The names in ``text``, in their order; a sentence's first word is none if it stands alone, and lists are taken apart."""
    found = []
    for match in _NAME.finditer(text):
        name = match[0].removesuffix("’s").removesuffix("'s")
        begins = match.start() == 0 or text[: match.start()].rstrip()[-1:] in (".", "?", "!", "")
        if not (begins and " " not in name):
            found.append(name)
    return tuple(dict.fromkeys(found))


def titles_named(text: str, titles: Mapping[str, str] | Iterable[str]) -> list[str]:
    """Those of ``titles`` that stand in ``text``, by their keys, as whole words."""
    words = f"-{_plain(text)}-"
    return [title for title in titles if title and f"-{key(title)}-" in words]


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())


def _pair(link: re.Match[str]) -> tuple[str, str]:
    return link[1], link[2]
