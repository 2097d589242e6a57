"""A model server on loopback in the OpenAI wire format, in front of any Motet model, that can fail on purpose.

    async with ModelServer(model, faults=Faults.mixed(0.2, seed=1)) as server:
        server.base_url

    python -m motet.testing.model_server --model scripted:reader --faults mixed=0.2 --seed 1

The command prints its URL as the first line. For tests of crashes it can kill another process (``--kill-pid-file``) at a request or
after a reply, and it keeps a log of what it served, one JSON line a request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from email.utils import formatdate
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from aiohttp import web

from motet.errors import InputError, ModelError
from motet.models.model import Model, Reply, Request
from motet.testing import wire
from motet.testing.faults import Fault, Faults, fault_named, parse_faults

Hook = Callable[[int], None]

_BACKLOG = 4096
_ERRORS = (500, 503, 529)
_PAGE = b"<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass(slots=True)
class Served:
    """One request as it was served. ``number`` counts from 1; ``seen`` is how often the same body came before; ``completed`` says
    whether a whole good answer was written to the connection.
    """

    number: int
    arrived: float
    digest: str
    seen: int
    stream: bool
    fault: str | None = None
    status: int = 0
    completed: bool = False


class ModelServer:
    """The server; an async context manager that listens while it is open.

    ``on_request(n)`` is called when request n has come, before the model is asked; ``after_reply(n)`` when the n-th whole answer
    has been written. ``served`` is what was served so far; ``log`` gets the same as JSON lines.
    """

    def __init__(
        self,
        model: Model,
        *,
        faults: Faults | None = None,
        port: int = 0,
        log: TextIO | None = None,
        on_request: Hook | None = None,
        after_reply: Hook | None = None,
    ) -> None:
        self.served: list[Served] = []
        self.base_url = ""
        self._model = model
        self._faults = faults or Faults()
        self._port = port
        self._log = log
        self._on_request = on_request
        self._after_reply = after_reply
        self._seen: Counter[str] = Counter()
        self._kept: dict[str, Reply] = {}
        self._requests = 0
        self._replies = 0
        self._runner: web.ServerRunner | None = None

    async def __aenter__(self) -> ModelServer:
        # Without a router, access log and middlewares: this is also what a client's speed is measured against.
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=_BACKLOG)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.base_url = f"http://{host}:{port}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/v1/chat/completions" and request.method == "POST":
            return await self._completions(request)
        if request.path == "/v1/models" and request.method == "GET":
            name = self._model.info.name
            return web.json_response({"object": "list", "data": [{"id": name, "object": "model", "owned_by": "motet"}]})
        return _json(404, wire.refusal(f"no such path: {request.path}", type_="invalid_request_error"))

    async def _completions(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.content.read()  # unlike request.read(), without a limit of 1 MB
        digest = sha256(body).hexdigest()[:16]
        seen = self._seen[digest]
        self._seen[digest] += 1
        self._requests += 1
        entry = Served(self._requests, time.time(), digest, seen, stream=False)
        self.served.append(entry)
        try:
            if self._on_request:
                self._on_request(entry.number)
            return await self._answer(request, body, entry)
        finally:
            if self._log:
                self._log.write(json.dumps(asdict(entry)) + "\n")
                self._log.flush()
            if entry.completed:
                self._replies += 1
                if self._after_reply:
                    self._after_reply(self._replies)

    async def _answer(self, request: web.BaseRequest, body: bytes, entry: Served) -> web.StreamResponse:
        try:
            data: dict[str, Any] = json.loads(body)
            asked = wire.decode(data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            entry.status = 400
            return _json(400, wire.refusal(f"bad request: {error!r}", type_="invalid_request_error"))
        entry.stream = bool(data.get("stream"))
        fault = self._faults.draw(entry.digest, seen=entry.seen, number=entry.number - 1)
        entry.fault = fault and fault.value
        if self._faults.latency:
            await asyncio.sleep(self._faults.latency)
        early = self._instead(request, fault, entry)
        if early is not None:
            return early
        try:
            reply = Reply() if fault is Fault.EMPTY else await self._reply(asked, entry.digest)
        except ModelError as error:
            entry.status, refused = wire.refused(error)
            return _json(entry.status, refused)
        if fault and fault.fails and fault is not Fault.EMPTY:
            self._kept[entry.digest] = reply
        named = {"id_": f"chatcmpl-{entry.number}", "model": str(data.get("model") or self._model.info.name)}
        entry.status = 200
        if not entry.stream:
            usage = fault is not Fault.MISSING_USAGE
            return await self._whole(request, wire.answer(reply, usage=usage, **named), fault, entry)
        usage = bool((data.get("stream_options") or {}).get("include_usage")) or fault is Fault.LATE_USAGE
        pieces = list(wire.events(reply, usage=usage and fault is not Fault.MISSING_USAGE, **named))
        return await self._stream(request, pieces, fault, entry)

    async def _reply(self, asked: Request, digest: str) -> Reply:
        """The model's reply, or one that a fault kept from an equal request before: a model with a memory, such as a fixed list of
        replies, is asked once for what it says once.
        """
        kept = self._kept.pop(digest, None)
        return kept or await self._model.reply(asked)

    def _instead(self, request: web.BaseRequest, fault: Fault | None, entry: Served) -> web.StreamResponse | None:
        """The answer of a fault that never asks the model."""
        wait = self._faults.retry_after
        if fault in (Fault.THROTTLE, Fault.THROTTLE_DATE):
            entry.status = 429
            after = f"{wait:g}" if fault is Fault.THROTTLE else formatdate(time.time() + wait, usegmt=True)
            return _json(429, wire.refusal("rate limit reached", type_="rate_limit_error"), {"Retry-After": after})
        if fault is Fault.SERVER_ERROR:
            entry.status = _ERRORS[(entry.number + entry.seen) % len(_ERRORS)]
            return _json(entry.status, wire.refusal("the server had an error", type_="server_error"))
        if fault is Fault.HTML:
            entry.status = 502
            return web.Response(status=502, body=_PAGE, content_type="text/html")
        if fault is Fault.RESET:
            _reset(request)
            return web.Response()
        return None

    async def _whole(
        self, request: web.BaseRequest, body: bytes, fault: Fault | None, entry: Served
    ) -> web.StreamResponse:
        if fault is Fault.INVALID_JSON:
            return _json(200, body[: len(body) // 2] + b"}}")
        response: web.StreamResponse = _json(200, body)
        if fault in (Fault.TRUNCATED, Fault.RESET_MIDWAY):
            # The header promises more than is sent.
            response = web.StreamResponse(
                headers={"Content-Type": "application/json", "Content-Length": str(len(body))}
            )
            await response.prepare(request)
            await response.write(body[: len(body) // 2])
            _cut(request, reset=fault is Fault.RESET_MIDWAY)
            return response
        if fault is Fault.SLOW_STREAM:
            await asyncio.sleep(self._faults.pause)
        await response.prepare(request)
        await response.write_eof()
        entry.completed = fault is not Fault.EMPTY
        return response

    async def _stream(
        self, request: web.BaseRequest, pieces: list[bytes], fault: Fault | None, entry: Served
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        half = (len(pieces) - 1) // 2 or 1
        if fault in (Fault.TRUNCATED, Fault.RESET_MIDWAY, Fault.INVALID_JSON):
            await response.write(b"".join(pieces[:half]))
        if fault is Fault.RESET_MIDWAY:
            _cut(request, reset=True)
        elif fault is Fault.INVALID_JSON:
            await response.write(b'data: {"choices": [{"delta": }\n\ndata: [DONE]\n\n')
            await response.write_eof()
        elif fault is Fault.TRUNCATED:
            await response.write_eof()
        else:
            if fault is Fault.SLOW_STREAM:
                for piece in pieces:
                    await response.write(piece)
                    await asyncio.sleep(self._faults.pause)
            else:
                await response.write(b"".join(pieces))
            await response.write_eof()
            entry.completed = fault is not Fault.EMPTY
        return response


def _json(status: int, body: bytes, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=body, headers={"Content-Type": "application/json", **(headers or {})})


def _reset(request: web.BaseRequest) -> None:
    """Close with RST instead of FIN: what a crashed server or a dropped proxy connection looks like."""
    transport = request.transport
    if transport is None:
        return
    connection: socket.socket | None = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _cut(request: web.BaseRequest, *, reset: bool) -> None:
    if reset:
        _reset(request)
    elif request.transport is not None:
        request.transport.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server until it is told to stop (SIGTERM, SIGINT); returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        asyncio.run(_serve(options))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


async def _serve(options: argparse.Namespace) -> None:
    _allow_many_connections()
    others = {"latency": options.latency, "retry_after": options.retry_after, "pause": options.pause}
    faults = parse_faults(options.faults, seed=options.seed, others=others)
    if options.script:
        script = tuple(None if name == "-" else fault_named(name) for name in options.script.split(","))
        faults = faults.model_copy(update={"script": script})
    kill = _killer(options.kill_pid_file, options.kill_at)
    log = options.log.open("a", encoding="utf-8") if options.log else None
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        async with ModelServer(_model(options.model), faults=faults, port=options.port, log=log, **kill) as server:
            print(server.base_url, flush=True)
            await stopped.wait()
    finally:
        if log:
            log.close()


def _model(name: str) -> Model:
    kind = name.partition(":")[0]
    if kind == "scripted":
        from motet.models.scripted import open_scripted

        return open_scripted(name)
    if kind == "embedded":
        from motet.models.embedded import open_embedded

        return open_embedded(name)
    raise InputError(f"model {name!r} cannot be served here; use scripted:NAME or embedded")


def _killer(pid_file: Path | None, moment: str | None) -> dict[str, Hook]:
    """The hook that kills the process named in ``pid_file`` at ``moment``: ``request:N`` or ``reply:N``."""
    if pid_file is None or moment is None:
        if pid_file or moment:
            raise InputError("--kill-pid-file and --kill-at go together")
        return {}
    kind, _, count = moment.partition(":")
    hooks = {"request": "on_request", "reply": "after_reply"}
    if kind not in hooks or not count.isdecimal():
        raise InputError(f"--kill-at {moment!r} must be request:N or reply:N")

    def kill(number: int) -> None:
        if number == int(count):
            os.kill(int(pid_file.read_text(encoding="utf-8")), signal.SIGKILL)

    return {hooks[kind]: kill}


def _allow_many_connections() -> None:
    """Raise this process's limit on open files as far as it may: 1,000 connections need more than the usual 1,024."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m motet.testing.model_server", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--model", default="scripted:echo", help="scripted:NAME or embedded")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--faults", default="", help="mixed=RATE, or KIND=RATE,KIND=RATE")
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--script", default="", help="faults of the first requests in order: KIND,-,KIND")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--retry-after", type=float, default=0.0, help="seconds in 429 answers")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between the pieces of a slow stream")
    parser.add_argument("--log", type=Path, help="append one JSON line a request to this file")
    parser.add_argument("--kill-pid-file", type=Path, help="file with the number of a process to kill")
    parser.add_argument("--kill-at", help="request:N or reply:N")
    return parser


if __name__ == "__main__":
    sys.exit(main())
