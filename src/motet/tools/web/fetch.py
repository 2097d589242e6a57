"""A page as bytes: redirects followed, every amount bounded, every outcome defined.

- At most ``Limits.redirects`` redirects; the guard judges each anew, and each is a new connection without anything of the last.
- No cookies are kept. The request is the same for every host: no key, no ``Authorization``, no ``Referer``.
- ``Limits.body`` bounds the body after decompression, and as it is sent. ``Limits.seconds`` bounds the whole: names,
  connections, redirects and body, however slowly a server drips.
- A body that ends early, whatever the reason, is handed on as far as it came, and says why in ``cut``. When nothing came it is an error.
- A declared type that ``visit`` cannot read is an error before any of the body is read.
"""

from __future__ import annotations

import contextlib
import http
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Final, Literal, TypeAlias

import anyio
import httpcore2

from motet.errors import ToolError
from motet.tools.web.guard import Address, follow, parse
from motet.tools.web.network import ERRORS, Network, explain

Kind: TypeAlias = Literal["html", "text", "pdf", "unknown"]
Cut: TypeAlias = Literal["", "size", "time", "broken"]

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_HEADERS: Final = {
    "Accept": "text/html, application/xhtml+xml, application/pdf, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "Accept-Encoding": "gzip, deflate",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one page may take: bytes of a body, bytes of a PDF (which is worth nothing in part), seconds, redirects."""

    body: int = 5_000_000
    pdf: int = 20_000_000
    seconds: float = 30.0
    redirects: int = 5


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer's body. ``url`` is where it was found in the end; ``charset`` is what the server declared."""

    url: str
    kind: Kind
    mime: str
    charset: str
    body: bytes
    cut: Cut


@dataclass
class _Draft:
    """An answer on its way, so that a time-out can hand on what there is."""

    address: Address
    kind: Kind = "unknown"
    mime: str = ""
    charset: str = ""
    answered: bool = False
    body: bytearray = field(default_factory=bytearray)

    def done(self, cut: Cut) -> Fetched:
        return Fetched(str(self.address), self.kind, self.mime, self.charset, bytes(self.body), cut)


async def fetch(address: Address, *, network: Network, limits: Limits) -> Fetched:
    """Get what is at ``address``. Raises ToolError saying what stood in the way."""
    draft = _Draft(address)
    with anyio.move_on_after(limits.seconds):
        cut = await _follow(draft, network, limits)
        return _checked(draft.done(cut))
    if not draft.answered:
        raise ToolError(f"{draft.address.netloc} did not answer within {limits.seconds:g} s")
    return _checked(draft.done("time"))


def _checked(fetched: Fetched) -> Fetched:
    if not fetched.body:
        why = {
            "": "is empty",
            "size": "is empty",
            "time": "did not arrive: its server sent nothing more before the time was over",
            "broken": "did not arrive: its server broke off, or sent something that cannot be unpacked",
        }[fetched.cut]
        raise ToolError(f"the page at {fetched.url} {why}")
    return fetched


async def _follow(draft: _Draft, network: Network, limits: Limits) -> Cut:
    for _ in range(limits.redirects + 1):
        async with contextlib.AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(network.exchange(draft.address, headers=_HEADERS))
            except ERRORS as error:
                raise ToolError(f"{draft.address.netloc} {explain(error)}") from None
            headers = headers_of(response)
            if response.status in _REDIRECTS and "location" in headers:
                draft.address = follow(draft.address, headers["location"])
                continue
            if not 200 <= response.status < 300:
                raise ToolError(f"{draft.address} answered {status_words(response.status)}{_later(headers)}")
            draft.mime, draft.charset = _content_type(headers)
            draft.kind = _kind(draft.mime, draft.address)
            draft.answered = True
            return await read_body(response, headers, into=draft.body, limits=limits)
    raise ToolError(f"{parse(str(draft.address)).netloc} redirects more than {limits.redirects} times")


async def read_body(
    response: httpcore2.Response, headers: Mapping[str, str], *, into: bytearray, limits: Limits
) -> Cut:
    """Read and unpack a body ``into`` a buffer; ``size`` or ``broken`` if that is not all of it.

    Raises ToolError for an encoding that was not offered.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise ToolError(f"the server packed its answer as {encoding[:40]!r}, which it was not asked for")
    unpack = None if encoding in ("", "identity") else _Unpacker(encoding)
    raw = 0
    try:
        async with contextlib.aclosing(response.aiter_stream()) as chunks:
            async for chunk in chunks:
                raw += len(chunk)
                # The limit may grow with the first bytes, which show a PDF that was not declared as one.
                limit = limits.pdf if is_pdf(into or chunk) else limits.body
                into += chunk if unpack is None else unpack(chunk, at_most=limit - len(into) + 1)
                if len(into) > limit or raw > limit:
                    del into[limit:]
                    return "size"
    except (*ERRORS, zlib.error):
        return "broken"
    return "broken" if unpack is not None and not unpack.complete else ""


class _Unpacker:
    """Gzip (of any number of members) or deflate, never more at a time than asked for."""

    def __init__(self, encoding: str) -> None:
        self._gzip = encoding != "deflate"
        self._inner = zlib.decompressobj(wbits=31 if self._gzip else 15)
        self._begun = False
        self.complete = True

    def __call__(self, chunk: bytes, *, at_most: int) -> bytes:
        """What ``chunk`` unpacks to, cut at ``at_most`` bytes. Raises zlib.error."""
        out = bytearray()
        while chunk and len(out) < at_most:
            if self._inner.eof:
                if not self._gzip or not chunk.strip(b"\0"):
                    break  # padding, or something after the end
                self._inner = zlib.decompressobj(wbits=31)
            out += self._step(chunk, at_most - len(out))
            chunk = self._inner.unused_data if self._inner.eof else self._inner.unconsumed_tail
        self.complete = self._inner.eof
        return bytes(out)

    def _step(self, chunk: bytes, at_most: int) -> bytes:
        begun, self._begun = self._begun, True
        try:
            return self._inner.decompress(chunk, at_most)
        except zlib.error:
            if begun or self._gzip:
                raise
            # "deflate" means zlib's format, but some servers send it bare.
            self._inner = zlib.decompressobj(wbits=-15)
            return self._inner.decompress(chunk, at_most)


def headers_of(response: httpcore2.Response) -> dict[str, str]:
    """An answer's headers by lower-case name; of several of one name the first."""
    headers: dict[str, str] = {}
    for name, value in response.headers:
        headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return headers


def status_words(status: int) -> str:
    """``404 Not Found``."""
    try:
        return f"{status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def is_pdf(body: bytes | bytearray) -> bool:
    """Whether a body begins as PDFs do."""
    return body[:1024].lstrip().startswith(b"%PDF-")


def _later(headers: Mapping[str, str]) -> str:
    wish = headers.get("retry-after", "").strip()
    return f"; it asks to wait {wish} s" if wish.isdecimal() and len(wish) < 7 else ""


def _content_type(headers: Mapping[str, str]) -> tuple[str, str]:
    message = Message()
    message["content-type"] = headers.get("content-type", "")
    mime = message.get_content_type() if message["content-type"].strip() else ""
    charset = message.get_param("charset", "")
    return mime, charset if isinstance(charset, str) else ""


def _kind(mime: str, address: Address) -> Kind:
    if mime in ("text/html", "application/xhtml+xml"):
        return "html"
    if mime == "application/pdf":
        return "pdf"
    if mime.startswith("text/") or mime in ("application/json", "application/xml", "application/javascript"):
        return "text"
    if mime.startswith("application/") and mime.endswith(("+json", "+xml")):
        return "text"
    if mime in ("", "application/octet-stream", "binary/octet-stream", "application/x-pdf"):
        return "unknown"  # the first bytes will tell
    raise ToolError(f"{address} is {mime}; what can be read is HTML, plain text, JSON, XML and PDF")
