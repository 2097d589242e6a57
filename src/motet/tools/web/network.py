"""Connections of the ``web`` tools: one exchange, over one connection, to an address that the guard has checked.

The client is ``httpcore2``, the layer below ``httpx2`` that the OpenAI client brings along. It takes an address in parts, and the
function that connects is an argument: so the address that was checked is the one connected to, while the Host header and
TLS (its name and certificate check) keep the name. It knows no cookies, redirects, proxies, ``.netrc`` or other
environment: what is sent is what is written here. HTTP/1.1 only; the headers of an answer may take 100 kB.
"""

from __future__ import annotations

import contextlib
import functools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import TypeAlias

import httpcore2

from motet.tools.web.guard import Address, Guard
from motet.version import __version__

CONNECT_SECONDS = 10.0  # for each address of a host, and for TLS
USER_AGENT = f"Mozilla/5.0 (compatible; Motet/{__version__})"

# Connects to an IP address and a port within a number of seconds.
Dial: TypeAlias = Callable[[str, int, float | None], Awaitable[httpcore2.AsyncNetworkStream]]

# What an exchange may raise besides ToolError.
ERRORS = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError, OSError)


async def dial(ip: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
    """Connect to ``ip``, over TCP and without a proxy."""
    return await httpcore2.AnyIOBackend().connect_tcp(ip, port, timeout)


@functools.cache
def default_tls() -> ssl.SSLContext:
    """The system's trusted certificates, read once; ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` name others."""
    return httpcore2.default_ssl_context()


class Network(httpcore2.AsyncNetworkBackend):
    """Connects where ``guard`` allows it. ``dial`` and ``tls`` are the last step of a connection and its certificates."""

    def __init__(self, guard: Guard, *, dial: Dial = dial, tls: Callable[[], ssl.SSLContext] = default_tls) -> None:
        self._guard = guard
        self._dial = dial
        self._tls = tls

    @contextlib.asynccontextmanager
    async def exchange(
        self,
        address: Address,
        *,
        method: str = "GET",
        headers: Mapping[str, str],
        content: bytes | None = None,
    ) -> AsyncIterator[httpcore2.Response]:
        """Send one request and yield the answer, its body still to be read; the connection ends with the block.

        Raises ToolError where the guard refuses, and ``ERRORS``.
        """
        sent = {"Host": address.netloc, "User-Agent": USER_AGENT, "Connection": "close", **headers}
        if content is not None:
            sent["Content-Length"] = str(len(content))
        url = httpcore2.URL(scheme=address.scheme, host=address.host, port=address.port, target=address.target)
        connection = httpcore2.AsyncHTTPConnection(
            origin=url.origin,
            ssl_context=self._tls() if address.scheme == "https" else None,
            network_backend=self,
        )
        request = httpcore2.Request(
            method,
            url,
            headers=list(sent.items()),
            content=content,
            extensions={"timeout": {"connect": CONNECT_SECONDS}},
        )
        try:
            response = await connection.handle_async_request(request)
            try:
                yield response
            finally:
                await response.aclose()
        finally:
            await connection.aclose()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of ``host`` that answers."""
        failure: Exception | None = None
        for ip in await self._guard.addresses(host, port):
            try:
                return await self._dial(str(ip), port, timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure


def explain(error: BaseException) -> str:
    """What went wrong in an exchange; completes a sentence that begins with the host."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"has no valid certificate ({seen.verify_message.lower()})"
        if isinstance(seen, ssl.SSLError):
            return f"broke off the encrypted connection ({seen.reason or 'TLS error'})"
        seen = seen.__cause__ or seen.__context__
    if isinstance(error, httpcore2.ConnectError):
        return "refused the connection or cannot be reached"
    if isinstance(error, httpcore2.TimeoutException):
        return "did not answer in time"
    if isinstance(error, httpcore2.ProtocolError):
        return "did not answer in valid HTTP, or with headers that are too long"
    return "broke off the connection"
