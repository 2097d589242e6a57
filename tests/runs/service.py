"""A small real service on loopback that keeps notes: what the tests of exactly-once writes write to."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from aiohttp import web


class NoteService:
    """Keeps notes in order. ``after_write(n)`` is called when the n-th note is kept, before its sender hears of it.

    With a key, the same note sent again is recognised and not kept twice.
    """

    def __init__(self, *, after_write: Callable[[int], None] | None = None) -> None:
        self.notes: list[dict[str, Any]] = []
        self.url = ""
        self._after_write = after_write
        self._runner: web.ServerRunner | None = None

    async def __aenter__(self) -> NoteService:
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            key = request.query.get("key")
            return web.json_response([note for note in self.notes if note.get("key") == key])
        note = await request.json()
        repeated = "idempotent" in note and any(kept.get("key") == note["key"] for kept in self.notes)
        if not repeated:
            self.notes.append(note)
            if self._after_write is not None:
                self._after_write(len(self.notes))
        return web.json_response({"kept": True})
