"""A page as an agent reads it: title, clean text and links, out of whatever bytes came.

HTML goes through trafilatura, as saved pages do (``documents.py``). Its time grows faster than the page, so pages of more than
``MAX_ELEMENTS`` elements are taken whole and plainly. Reading runs in a few threads, since it is all computation.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio
from anyio.lowlevel import RunVar

from motet.errors import ToolError
from motet.tools.documents import page_text, quiet, tidy
from motet.tools.threads import threads
from motet.tools.web.charset import decode
from motet.tools.web.fetch import Cut, Fetched, is_pdf
from motet.tools.web.guard import MAX_URL, follow, parse
from motet.tools.web.pdf import read_pdf
from motet.tools.web.visible import visible

MAX_ELEMENTS: Final = 20_000  # about four seconds of extraction
MAX_LINKS: Final = 500
SECONDS: Final = 30.0
AT_ONCE: Final = 4

_TITLE_CHARS = 200
_LABEL_CHARS = 100
# Elements that begin a line of their own.
_BLOCKS = frozenset(
    {
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "caption",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figure",
    }
    | {
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "option",
        "p",
        "pre",
    }
    | {"section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul"}
)
_SILENT = frozenset({"script", "style", "template", "svg", "head"})
_SPACES = re.compile(r"[ \t\r\f\v]+")
_LINES = re.compile(r"\s*\n\s*")

_Read = TypeVar("_Read")
_places: RunVar[anyio.CapacityLimiter] = RunVar("motet.tools.web.page")


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link leads and what it says."""

    url: str
    label: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was read. ``cut`` says why it is not all of it, or is empty."""

    url: str
    title: str
    text: str
    links: tuple[Link, ...] = ()
    cut: Cut = ""


async def read_page(fetched: Fetched) -> Page:
    """Understand what was fetched. Raises ToolError for what has no readable text."""
    if fetched.kind == "pdf" or is_pdf(fetched.body):
        return await _read_pdf(fetched)
    places = _places.get(None)
    if places is None:
        places = anyio.CapacityLimiter(AT_ONCE)
        _places.set(places)
    async with places:
        with anyio.move_on_after(SECONDS):
            return await threads().run(functools.partial(_read_text, fetched))
    raise ToolError(f"the page at {fetched.url} is too large or too tangled to be read within {SECONDS:g} s")


async def _read_pdf(fetched: Fetched) -> Page:
    if not is_pdf(fetched.body):
        raise ToolError(f"{fetched.url} was declared a PDF and is none")
    if fetched.cut:
        why = {"size": "is too large", "time": "did not arrive in time", "broken": "did not arrive whole"}[fetched.cut]
        raise ToolError(f"{fetched.url} is a PDF that {why}")
    try:
        title, text = await read_pdf(fetched.body)
    except ToolError as error:
        raise ToolError(f"{fetched.url} {error}") from None
    return _page(fetched, title, text)


def _read_text(fetched: Fetched) -> Page:
    kind = fetched.kind
    if kind == "unknown":
        kind = "html" if fetched.body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<" else "text"
    looks_xml = fetched.body[:1024].lstrip()[:1] == b"<"
    text = decode(fetched.body, declared=fetched.charset, page=kind == "html" or looks_xml)
    if text.count("\x00", 0, 4_096) > 3 or text.count("\ufffd", 0, 4_096) > 400:
        raise ToolError(f"{fetched.url} is not text ({fetched.mime or 'of no declared type'})")
    if kind == "text":
        return _page(fetched, "", text)
    quiet()
    tree = _parse(text)
    if tree is None:
        return _page(fetched, "", "")
    links = tuple(_links(tree, fetched.url))
    if sum(1 for _ in tree.iter()) > MAX_ELEMENTS:
        title, body = tree.findtext(".//title") or "", _plain(tree)
    else:
        try:
            title, body = page_text(tree)
        except Exception:  # noqa: BLE001 - the extractor fails on some trees; all of the page is better than none
            tree = _parse(text)
            title, body = tree.findtext(".//title") or "", _plain(tree)
    return _page(fetched, title, body, links)


def _page(fetched: Fetched, title: str, text: str, links: tuple[Link, ...] = ()) -> Page:
    text = tidy(visible(text))
    if not text and not links:
        raise ToolError(f"the page at {fetched.url} has no readable text (its content may be drawn by scripts)")
    title = _one_line(title)[:_TITLE_CHARS]
    return Page(fetched.url, title, text or "(The page has links, and no text.)", links, fetched.cut)


def _parse(text: str) -> Any:
    """The page as an lxml tree, or ``None``."""
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        # As bytes: lxml takes no text that declares an encoding, and the declaration no longer holds.
        return lxml.html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (lxml.etree.LxmlError, ValueError):
        return None


def _plain(tree: Any) -> str:
    """All text of a page, a line for each block; in one pass, however large the page."""
    from lxml import etree

    parts: list[str] = []
    silent = 0
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        tag = element.tag if isinstance(element.tag, str) else ""
        if event == "start":
            silent += tag in _SILENT
            if tag in _BLOCKS:
                parts.append("\n")
            if not silent and element.text:
                parts.append(element.text)
            continue
        silent -= tag in _SILENT
        if tag in _BLOCKS:
            parts.append("\n")
        if not silent and element.tail:
            parts.append(element.tail)
    return _LINES.sub("\n", _SPACES.sub(" ", "".join(parts)))


def _links(tree: Any, url: str) -> Iterator[Link]:
    """The page's links to other web pages, each address once, in their order."""
    base = parse(url)
    for element in tree.iter("base"):
        with contextlib.suppress(ToolError):
            base = follow(base, element.get("href") or "")
        break
    seen = {url}
    for element in tree.iter("a"):
        href = (element.get("href") or "").strip()
        if not href or href.startswith("#") or len(href) > MAX_URL:
            continue
        try:
            target = str(follow(base, href))
        except ToolError:
            continue
        if target in seen:
            continue
        seen.add(target)
        yield Link(target, _one_line(element.text_content())[:_LABEL_CHARS])
        if len(seen) > MAX_LINKS:
            return


def _one_line(text: str) -> str:
    return " ".join(tidy(visible(text)).split())
