"""Pages by address, and the ranking by which a search finds them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from motet.canonical import digest
from motet.tools.passages import query_words, words

_K1, _B = 1.5, 0.75  # BM25's usual constants


@dataclass(frozen=True)
class Page:
    """A page: prose in paragraphs, and where the titles in it lead, as (title, address). ``flaky`` says how often it fails before it answers."""

    address: str
    title: str
    text: str
    links: tuple[tuple[str, str], ...] = ()
    flaky: int = 0


class Web:
    """Pages that can be searched. Nothing here knows a question or an answer."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.pages: Mapping[str, Page] = {page.address: page for page in pages}
        self._titles = {page.title.lower(): page for page in pages}

    def find(self, name: str) -> Page | None:
        """The page at an address, or of a title."""
        name = name.strip()
        return self.pages.get(name) or self._titles.get(name.lower())

    def search(self, query: str, *, limit: int) -> list[Page]:
        """The best ``limit`` pages that share a word with ``query``, best first; equal ones by address.

        BM25 in Lucene's form, over title and text. It is this module's own, so that the same web ranks alike whatever is installed.
        """
        postings, norms = self._index
        scores: dict[str, float] = defaultdict(float)
        for word in query_words(query):
            found = postings.get(word, {})
            weight = math.log(1 + (len(norms) - len(found) + 0.5) / (len(found) + 0.5))
            for address, count in found.items():
                scores[address] += weight * count / (count + norms[address])
        ranked = sorted(scores.items(), key=lambda item: (-round(item[1], 9), item[0]))
        return [self.pages[address] for address, _ in ranked[:limit]]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all pages."""
        return digest(
            [[page.address, page.title, page.text, page.links, page.flaky] for page in self.pages.values()],
        )

    @cached_property
    def _index(self) -> tuple[dict[str, dict[str, int]], dict[str, float]]:
        """Word → address → how often; and each page's part of the denominator."""
        counts = {address: Counter(words(f"{page.title}\n{page.text}")) for address, page in self.pages.items()}
        sizes = {address: count.total() for address, count in counts.items()}
        mean = sum(sizes.values()) / max(1, len(sizes))
        postings: dict[str, dict[str, int]] = defaultdict(dict)
        for address, count in counts.items():
            for word, number in count.items():
                postings[word][address] = number
        norms = {address: _K1 * (1 - _B + _B * size / mean) for address, size in sizes.items()}
        return dict(postings), norms
