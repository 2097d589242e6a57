"""Small real servers on loopback, and a public internet that is made of them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpcore2
from aiohttp import web

from motet.tools.web.guard import Guard
from motet.tools.web.network import Network, dial

Handle = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """A server that answers every request with ``handle`` and keeps what it was sent."""

    port: int
    requests: list[bytes] = field(default_factory=list)
    sent: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"


def answer(body: bytes, *, kind: str = "text/html; charset=utf-8", status: str = "200 OK", **headers: str) -> bytes:
    """A whole HTTP answer; headers by name, with _ for -."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    if kind:
        lines.append(f"Content-Type: {kind}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def redirect(to: str, *, status: str = "302 Found", **headers: str) -> bytes:
    """An answer that sends the client elsewhere."""
    return answer(b"", status=status, **{"Location": to, **headers})


def article(*paragraphs: str, title: str = "A page", head: str = "") -> str:
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    return (
        f"<html><head><title>{title}</title>{head}</head><body><article><h1>{title}</h1>{body}</article></body></html>"
    )


@contextlib.asynccontextmanager
async def serving(
    handle: Handle | bytes | Mapping[str, bytes], *, tls: ssl.SSLContext | None = None, first: bool = False
) -> AsyncIterator[Server]:
    """A server whose answers are ``handle``'s, or always the same bytes, or bytes by path; with ``first`` it does not wait for a
    request.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = b"" if first else await reader.readuntil(b"\r\n\r\n")
            server.requests.append(request)
            if isinstance(handle, bytes):
                writer.write(handle)
            elif isinstance(handle, Mapping):
                path = request.split(b" ", 2)[1].decode()
                writer.write(handle.get(path, answer(b"no such page", status="404 Not Found")))
            else:
                await handle(request, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    server = Server(listening.sockets[0].getsockname()[1])
    try:
        yield server
    finally:
        listening.close()
        tasks = [task for task in asyncio.all_tasks() if task.get_coro().__qualname__.endswith("talk")]  # type: ignore[union-attr]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def application(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """An aiohttp server that answers everything with ``handler``; yields its address."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


@dataclass
class Internet:
    """Names and public addresses of a test's own: ``names`` maps a host to what each look-up in turn answers (the last one again and
    again), ``places`` a public address to the port on loopback that plays it. Anything else is not there.
    """

    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    dialled: list[str] = field(default_factory=list)

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.looked_up.append(host)
        answers = self.names.get(host)
        if not answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def dial(self, ip: str, port: int, timeout: float | None) -> httpcore2.AsyncNetworkStream:
        self.dialled.append(ip)
        if ip not in self.places:
            raise httpcore2.ConnectError("nothing there")
        return await dial("127.0.0.1", self.places[ip], timeout)

    def network(self, *, allow: Sequence[str] = (), tls: ssl.SSLContext | None = None) -> Network:
        guard = Guard(allow=allow, resolve=self.resolve)
        return Network(guard, dial=self.dial) if tls is None else Network(guard, dial=self.dial, tls=lambda: tls)
