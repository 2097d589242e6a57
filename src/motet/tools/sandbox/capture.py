"""Keeping the beginning and the end of a stream of any length."""

from __future__ import annotations

import asyncio
from collections import deque


class Capture:
    """At most ``limit`` bytes of a stream: its first half and its last half; what lies between is counted."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._held = 0  # bytes in the tail
        self.dropped = 0

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        room = self._half - len(self._head)
        self._head += data[:room] if room > 0 else b""
        rest = data[room:] if room > 0 else data
        if not rest:
            return
        self._tail.append(rest)
        self._held += len(rest)
        while self._held > self._half:
            first = self._tail.popleft()
            cut = min(len(first), self._held - self._half)
            self._held -= cut
            self.dropped += cut
            if cut < len(first):
                self._tail.appendleft(first[cut:])

    def text(self) -> str:
        """What was kept, as text; a gap is named where it is."""
        gap = f"\n[… {self.dropped} bytes left out …]\n" if self.dropped else ""
        if not gap:
            return bytes(self._head + b"".join(self._tail)).decode("utf-8", "replace")
        return self._head.decode("utf-8", "replace") + gap + b"".join(self._tail).decode("utf-8", "replace")


async def drain(stream: asyncio.StreamReader, capture: Capture) -> None:
    """Read ``stream`` to its end."""
    while data := await stream.read(1 << 16):
        capture.add(data)
