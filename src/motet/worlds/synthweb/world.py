"""The synthetic web as a world: two tools, ``search`` and ``visit``, over pages that nobody can change.

What the tools answer has a fixed form, which programs may read.

``search(query)``: the best hits, three lines each. The snippet is how the page begins, whatever was asked::

    1. Amberholt
       address: town/amberholt
       Amberholt wakes late and goes to bed early. In a dry year …

or ``No page holds any of the words 'query'. Try other words.``

``visit(address, part=1)``: a part of a page, with the pages that this part names; a title is taken for an address too::

    Title: Amberholt
    Address: town/amberholt
    Part 1 of 2

    Amberholt wakes late and goes to bed early. …

    Links:
    - Aline Ashberg: person/aline-ashberg

    The next part: visit with part=2.

``Links:`` is left out where there are none, the last line on the last part. Failures are ``There is no page at 'x'; …``, ``'x' has parts 1 to 2, not 3`` and,
from a flaky page, ``town/amberholt did not answer (503). Try again.``

``data`` of a search is ``{"query": …, "hits": [address, …]}``, of a visit ``{"address": …, "title": …, "part": 1, "parts": 2}``. Sources are pages by address.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Self

from pydantic import Field, JsonValue

from motet.canonical import digest
from motet.errors import ToolError
from motet.settings import nearest
from motet.task import Score, Source
from motet.tools.function import FunctionTool
from motet.tools.tool import Observation, Tool
from motet.worlds.synthweb.site import SiteOptions, make_site
from motet.worlds.synthweb.web import Page, Web

SEARCH, VISIT = "search", "visit"
PART = 3_000  # characters of one part of a page, at most
SNIPPET = 160
_FORMAT = 1  # raised whenever the same pages may be found or shown otherwise


class SynthWeb:
    """A web of pages behind ``search`` (of ``results`` hits) and ``visit``; without one, the first site of seed 0. It has no state: a copy is the world itself.

    Flaky pages fail anew for whoever is given fresh tools, so that no agent meets another's luck. A resumed agent is given fresh tools too.
    """

    name = "synthweb"
    forkable = True

    def __init__(self, web: Web | None = None, *, results: int = 5) -> None:
        self.web = web if web is not None else make_site(SiteOptions(), 0).web
        self.version = f"{_FORMAT} results={results} {self.web.digest[:16]}"
        self._results = results

    def tools(self) -> tuple[Tool, ...]:
        """The two tools, with flaky pages as if nobody had asked for them yet."""
        web, results = self.web, self._results
        failures: Counter[str] = Counter()

        async def search(query: Annotated[str, Field(min_length=1, max_length=1_000)]) -> Observation:
            """Search the web by words. Returns the best pages, each with its title, its address and how it begins.

            Args:
                query: The words to look for: names work best.
            """
            return _found(web.search(query, limit=results), query)

        async def visit(
            address: Annotated[str, Field(min_length=1, max_length=300)], part: Annotated[int, Field(ge=1)] = 1
        ) -> Observation:
            """Read a page. Long pages come in parts.

            Args:
                address: The page's address, as a search or a link shows it.
                part: Which part of a long page to read.
            """
            page = web.find(address)
            if page is None:
                raise ToolError(f"There is no page at {address!r}{_offer(address, web)}")
            if failures[page.address] < page.flaky:
                failures[page.address] += 1
                raise ToolError(f"{page.address} did not answer (503). Try again.")
            return _read(page, part)

        return (
            FunctionTool(search, name=SEARCH, version=self.version),
            FunctionTool(visit, name=VISIT, version=self.version),
        )

    def fingerprint(self) -> str:
        """Names the pages and the tools."""
        return digest(["synthweb", self.version])

    def fork(self) -> Self:
        """Itself: nothing can be written."""
        return self

    def score(self, expected: JsonValue) -> tuple[Score, ...]:
        """Nothing: what counts is the answer."""
        return ()


def parts_of(text: str) -> list[str]:
    """``text`` in parts of at most ``PART`` characters, cut after a sentence."""
    parts, rest = [], text
    while len(rest) > PART:
        ends = [match.end() for match in re.finditer(r"[.?!]\s+", rest[:PART])]
        stop = ends[-1] if ends else PART
        parts.append(rest[:stop].rstrip())
        rest = rest[stop:]
    return [*parts, rest]


def _found(pages: list[Page], query: str) -> Observation:
    data: JsonValue = {"query": query, "hits": [page.address for page in pages]}
    if not pages:
        return Observation(text=f"No page holds any of the words {query[:200]!r}. Try other words.", data=data)
    lines = [
        f"{rank}. {page.title}\n   address: {page.address}\n   {_snippet(page.text)} …"
        for rank, page in enumerate(pages, 1)
    ]
    sources = tuple(Source(ref=page.address, title=page.title, quote=_snippet(page.text)) for page in pages)
    return Observation(text="\n".join(lines), sources=sources, data=data)


def _snippet(text: str) -> str:
    start = text[:SNIPPET].partition("\n")[0]
    return start if len(start) < SNIPPET else start.rpartition(" ")[0]


def _read(page: Page, part: int) -> Observation:
    parts = parts_of(page.text)
    if part > len(parts):
        raise ToolError(f"{page.address!r} has parts 1 to {len(parts)}, not {part}")
    shown = parts[part - 1]
    blocks = [f"Title: {page.title}\nAddress: {page.address}\nPart {part} of {len(parts)}", shown]
    links = [f"- {title}: {address}" for title, address in page.links if title in shown]
    if links:
        blocks.append("\n".join(["Links:", *links]))
    if part < len(parts):
        blocks.append(f"The next part: visit with part={part + 1}.")
    return Observation(
        text="\n\n".join(blocks),
        sources=(Source(ref=page.address, title=page.title, quote=shown),),
        data={"address": page.address, "title": page.title, "part": part, "parts": len(parts)},
    )


def _offer(address: str, web: Web) -> str:
    near = nearest(address, web.pages)
    return near if near.startswith("; did you mean") else "; a search shows the addresses of pages"
