"""The ``visit`` tool: a web page as clean text, one part at a time, or as the list of its links.

Pages that an agent has seen are kept for as long as its tools live, so that the parts it reads are of one page; failures are
not. What a page says is data: it stands in an observation, without invisible characters, and is cited by its address.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from motet.canonical import digest
from motet.errors import ToolError
from motet.task import Source
from motet.tools.corpus import page_end
from motet.tools.function import FunctionTool
from motet.tools.tool import Observation, Tool
from motet.tools.web.fetch import Limits, fetch
from motet.tools.web.guard import MAX_URL, parse
from motet.tools.web.network import Network
from motet.tools.web.page import Page, read_page

FORMAT = 1  # raised whenever the same page may be shown differently
KEPT_CHARS = 2_000_000  # of the text and links of pages that an agent has seen
_QUOTE = 400
_LINKS_SHOWN = 60
# The fetch and the reading have limits of their own; this one covers waiting for a turn.
_TIMEOUT = 300.0
_LIBRARIES = ("httpcore2", "pypdf", "trafilatura")

# Opens a saved page by its address, or answers ``None`` for an address of another kind.
Shelf = Callable[[str], Awaitable[Page | None]]


def visit_tool(network: Network, *, limits: Limits | None = None, shelf: Shelf | None = None) -> Tool:
    """``visit`` over ``network``. ``shelf`` is asked first: it knows the addresses that a local search gave."""
    bounds = limits or Limits()
    kept = _Kept()

    async def visit(
        url: Annotated[str, Field(min_length=1, max_length=MAX_URL)],
        start: Annotated[int, Field(ge=0)] = 0,
        show: Literal["text", "links"] = "text",
    ) -> Observation:
        """Open a web page and read its text, one part of about 3,000 characters at a time. Reads HTML, plain text, JSON and PDF.

        Args:
            url: The page's full address, beginning with https:// or http://.
            start: The character to start from (for links: the link); each part tells where the next one starts.
            show: "text" for what the page says, "links" for where it links to.
        """
        page = await shelf(url) if shelf is not None else None
        if page is None:
            address = parse(url)
            page = kept.get(str(address))
            if page is None:
                page = await read_page(await fetch(address, network=network, limits=bounds))
                kept.put(str(address), page)
        return _links(page, start) if show == "links" else _text(page, start, bounds)

    return FunctionTool(visit, version=version(), timeout=_TIMEOUT)


@functools.cache
def version() -> str:
    """Names this code and the libraries that turn a page into text. The page itself may change at any time."""
    libraries = digest({name: importlib.metadata.version(name) for name in _LIBRARIES})[:12]
    return f"web-visit-{FORMAT} {libraries}"


class _Kept:
    """The last pages, up to ``KEPT_CHARS``, by the address asked for and the one they were found at."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, Page] = OrderedDict()
        self._found: dict[str, str] = {}

    def get(self, url: str) -> Page | None:
        asked = self._found.get(url, url)
        if asked in self._pages:
            self._pages.move_to_end(asked)
        return self._pages.get(asked)

    def put(self, url: str, page: Page) -> None:
        self._pages[url] = page
        self._found[page.url] = url
        while len(self._pages) > 1 and sum(map(_size, self._pages.values())) > KEPT_CHARS:
            gone, dropped = self._pages.popitem(last=False)
            if self._found.get(dropped.url) == gone:
                del self._found[dropped.url]


def _size(page: Page) -> int:
    return len(page.text) + sum(len(link.url) + len(link.label) for link in page.links)


def _text(page: Page, start: int, limits: Limits) -> Observation:
    size = len(page.text)
    if start >= size:
        raise ToolError(f"start {start} is past the end: the page has {size} characters")
    end = page_end(page.text, start)
    shown = page.text[start:end].strip()
    last = _last_line(page, limits)
    head = f"{page.title or 'Page without a title'} ({page.url}), characters {start} to {end} of {size}"
    foot = f"The next part starts at start={end}." if end < size else last
    return Observation(
        text=f"{head}\n\n{shown}\n\n{foot}",
        sources=(Source(ref=page.url, title=page.title, quote=shown[:_QUOTE]),),
        data={"url": page.url, "start": start, "end": end, "size": size, "cut": page.cut},
    )


def _last_line(page: Page, limits: Limits) -> str:
    match page.cut:
        case "size":
            return f"[Cut here: the page is larger than {limits.body / 1e6:g} MB, and only that much is read.]"
        case "time":
            return f"[Cut here: this is what had arrived when {limits.seconds:g} s were over.]"
        case "broken":
            return "[Cut here: the connection broke, or what came could not be unpacked further.]"
        case "":
            more = f" It has {len(page.links)} links: show='links' lists them." if page.links else ""
            return f"This is the end of the page.{more}"


def _links(page: Page, start: int) -> Observation:
    size = len(page.links)
    if not size:
        return Observation(text=f"The page {page.url} has no links to other pages.", data=[])
    if start >= size:
        raise ToolError(f"start {start} is past the end: the page has {size} links")
    end = min(start + _LINKS_SHOWN, size)
    shown = page.links[start:end]
    lines = [f"Links {start} to {end} of {size} on {page.title or 'a page without a title'} ({page.url}):", ""]
    lines += [f"- {link.label or '(no text)'}: {link.url}" for link in shown]
    lines += ["", f"The next links start at start={end}." if end < size else "These are all."]
    data: list[JsonValue] = [link.url for link in shown]
    return Observation(text="\n".join(lines), sources=(Source(ref=page.url, title=page.title),), data=data)
