"""Pages and sentences as the policy meets them: in what a search returned, given with a task, or quoted by a colleague."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

_TITLE = re.compile(r"\d+\. (.+)")
_SENTENCE = re.compile(r" {3}\[(\d{1,6})\] ?(.*)")
_QUOTED = re.compile(r'^\s*(?:[-*]\s*)?(\["(?:[^"\\]|\\.)*", ?\d{1,6}\]): ?(.*)$', re.MULTILINE)
_CITED = re.compile(r'\["(?:[^"\\]|\\.)*", ?\d{1,6}\]')
_SMALL = r"(?: (?:of|the|and|de|for|in) (?=[A-Z])| )"
_NAME = re.compile(rf"[A-Z][\w’'-]*(?:{_SMALL}[A-Z0-9][\w’'-]*)*")
# Words that begin a sentence with a capital and are no part of a name.
_PLAIN_WORDS = (
    "a about after an and are as at before born both by did do does for from had has he her his how in is it its of on or our she "
    "some that the their there they this to was were what when where which who whom whose with"
)
_MONTHS = "January February March April May June July August September October November December"
_PLAIN = frozenset(f"{_PLAIN_WORDS} {_MONTHS.lower()}".split())

# Title → sentence number → sentence.
Pages: TypeAlias = Mapping[str, Mapping[int, str]]


class Fact(NamedTuple):
    """A sentence with where it stands."""

    title: str
    number: int
    text: str

    @property
    def citation(self) -> str:
        """``["Title", 0]``."""
        return json.dumps([self.title, self.number], ensure_ascii=False)

    @property
    def line(self) -> str:
        """The fact as evidence is reported."""
        return f"{self.citation}: {self.text}"


def read_pages(text: str) -> dict[str, dict[int, str]]:
    """The pages in what a search returned."""
    found: dict[str, dict[int, str]] = {}
    here: dict[int, str] | None = None
    for line in text.splitlines():
        if sentence := _SENTENCE.match(line):
            if here is not None:
                here[int(sentence[1])] = sentence[2]
        elif title := _TITLE.fullmatch(line):
            here = found.setdefault(title[1], {})
        else:
            here = None
    return found


def read_given(text: str) -> dict[str, dict[int, str]]:
    """The pages that stand in ``text`` as JSON: ``{"paragraphs": [{"title", "sentences": {"0": …}}]}``."""
    start = text.find('{"paragraphs":')
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start) if start >= 0 else (None, 0)
        return {
            page["title"]: {int(number): sentence for number, sentence in page["sentences"].items()}
            for page in (value or {}).get("paragraphs", ())
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def read_facts(text: str) -> list[Fact]:
    """The sentences that a colleague reports, each with its citation."""
    found = [(json.loads(citation), quoted) for citation, quoted in _QUOTED.findall(text)]
    return [Fact(title, number, quoted) for (title, number), quoted in found]


def read_citations(text: str) -> list[tuple[str, int]]:
    """All citations in ``text``, in their order, each once."""
    found = [json.loads(citation) for citation in _CITED.findall(text)]
    return list(dict.fromkeys((title, number) for title, number in found))


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Names in ``text`` with their places; a word at a sentence's beginning that is no name is left out."""
    for found in _NAME.finditer(text):
        start, words = found.start(), found[0].split()
        while words and (words[0].lower() in _PLAIN or words[0].isdigit()):
            start += len(words.pop(0)) + 1
        if words:
            yield start, " ".join(words)


def base(title: str) -> str:
    """``title`` without what tells it from others in brackets."""
    return re.sub(r" \([^()]*\)$", "", title)


def mentioned(text: str, titles: Iterable[str]) -> list[str]:
    """Those of ``titles`` that ``text`` names, in the order of the text; of two that overlap, the longer."""
    places: list[tuple[int, int, str]] = []
    for title in sorted(titles, key=lambda title: (-len(base(title)), title)):
        start = _find(text, base(title))
        end = start + len(base(title))
        if start >= 0 and all(end <= other or until <= start for other, until, _ in places):
            places.append((start, end, title))
    return [title for _, _, title in sorted(places)]


def _find(text: str, words: str) -> int:
    """Where ``words`` stand in ``text`` as whole words; -1 where they do not."""
    start = text.find(words) if words else -1
    while start >= 0:
        around = text[max(start - 1, 0) : start] + text[start + len(words) : start + len(words) + 1]
        if not any(character.isalnum() for character in around):
            return start
        start = text.find(words, start + 1)
    return -1
