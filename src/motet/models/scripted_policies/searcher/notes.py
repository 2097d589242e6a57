"""Notes of teammates and its own, answers to reads, and pointers, as a searcher is shown them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

_HEAD = re.compile(
    r"^\[([\w-]+\.\d+r?)\] steps \d+ to \d+( of [\w-]+)( \(extracted by rule\))?(?:, in short: \".*\")?$"
)
_CLAIM = re.compile(r'^  (\S+:\d+) claims (".*)$')
_LINE = re.compile(r'^  (tried|ruled out|open|candidate answer): (".*)$')
_SURE = re.compile(r"\(confidence (\d\.\d+)\)")
_NEWS = re.compile(r"^Now disputed by a teammate's steps: (.+)$", re.MULTILINE)
_POINTER = re.compile(r"^(\S+) bears on what you are doing:", re.MULTILINE)
_EVIDENCE = re.compile(r'^(.+?) \((\S+?)\): "(.+?)"', re.MULTILINE)
_PAGE = re.compile(r"^(.+?) \((\S+?)\)")
_DECODER = json.JSONDecoder()


class Claim(NamedTuple):
    """A claim of a note."""

    mark: str
    claim: str
    source: str
    quote: str
    disputed: bool


class Evidence(NamedTuple):
    """A sentence that is said to stand on a page."""

    title: str
    address: str
    quote: str


@dataclass
class Note:
    """A note as it was shown; ``own`` of one's own steps. One that was shown by its title alone has no lines."""

    id: str
    own: bool
    by_rule: bool = False
    claims: list[Claim] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    ruled_out: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    answer: str = ""
    confidence: float = 0.0

    @property
    def evidence(self) -> list[Evidence]:
        """What its claims say to stand on pages: the quote, and the claim's own words."""
        return [
            Evidence("", claim.source, f"{claim.quote.rstrip('…')}\n{claim.claim}.")
            for claim in self.claims
            if claim.quote
        ]


@lru_cache(maxsize=4096)
def notes(text: str) -> tuple[Note, ...]:
    """The notes in a message, in their order."""
    found: list[Note] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            found.append(Note(head[1], head[2] == " of you", bool(head[3])))
        elif found and (claim := _CLAIM.match(line)):
            found[-1].claims.append(_claim(claim[1], claim[2]))
        elif found and (item := _LINE.match(line)):
            words, rest = _string(item[2])
            if item[1] == "candidate answer":
                sure = _SURE.search(rest)
                found[-1].answer, found[-1].confidence = words, float(sure[1]) if sure else 0.0
            else:
                {"tried": found[-1].tried, "ruled out": found[-1].ruled_out, "open": found[-1].open}[item[1]].append(
                    words
                )
    return tuple(found)


def disputes(text: str) -> list[str]:
    """The marks that a message says are disputed by now."""
    return [mark.strip() for found in _NEWS.findall(text) for mark in found.split(",")]


def pointers(text: str) -> list[str]:
    """The notes that a message points at."""
    return _POINTER.findall(text)


def page_of(line: str) -> str:
    """The address of the page that a line begins with, as ``TITLE (ADDRESS)``; empty where it does not."""
    found = _PAGE.match(line)
    return found[2] if found else ""


@lru_cache(maxsize=4096)
def evidence(text: str) -> tuple[Evidence, ...]:
    """Sentences that ``text`` quotes from pages, as ``TITLE (ADDRESS): "QUOTE"``."""
    return tuple(Evidence(*found) for found in _EVIDENCE.findall(text))


def _claim(mark: str, rest: str) -> Claim:
    words, rest = _string(rest)
    source = quote = ""
    if rest.startswith(" (source "):
        source, rest = _string(rest.removeprefix(" (source "))
        rest = rest.removeprefix(")")
    if rest.startswith(" quote "):
        quote, rest = _string(rest.removeprefix(" quote "))
    return Claim(mark, words, source, quote, " DISPUTED by " in rest)


def _string(text: str) -> tuple[str, str]:
    """The JSON string that ``text`` begins with, and the rest."""
    try:
        value, end = _DECODER.raw_decode(text)
    except ValueError:
        return text, ""
    return str(value), text[end:]
