"""A search service over HTTP: how it is asked, how it answers, and what happens when it does not.

- The key goes into a header, to the service's own address, and nowhere else: redirects are not followed. It is in no error,
  even where the service repeats it.
- 429 and 5xx, broken connections and time-outs are tried again within ``ATTEMPTS`` and ``RETRY_FOR`` seconds, behind the same kind of
  gate as models: a 429 pauses everyone who asks this service, and ``Retry-After`` is honoured up to a minute.
- All else fails at once, with the status and the service's own words.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio
import httpcore2
from pydantic import JsonValue

from motet.canonical import clean_text
from motet.errors import ToolError
from motet.models.gate import LONGEST_WAIT, Gate
from motet.models.retry_after import retry_after
from motet.tools.web.fetch import Limits, headers_of, read_body, status_words
from motet.tools.web.guard import Address
from motet.tools.web.network import ERRORS, Network, explain
from motet.tools.web.providers.provider import Found

ATTEMPTS: Final = 5
RETRY_FOR: Final = 60.0  # seconds
SECONDS: Final = 20.0  # for one attempt
AT_ONCE: Final = 8

_WORDS = 200  # characters of a service's own words in an error
_LIMITS = Limits(body=5_000_000, pdf=5_000_000)


@dataclass(frozen=True)
class Ask:
    """A request: path and query below the service's address, headers (the key's among them), and JSON for a POST."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    post: JsonValue = None


@dataclass(frozen=True)
class Service:
    """What differs between services. ``base_url`` is ``None`` where there is no common one, ``key_env`` where there is no key.

    ``ask`` makes a request of a query, a limit and the key; ``read`` finds the results in an answer and raises ValueError where they
    are not. ``hints`` say what a status means for this service.
    """

    name: str
    base_url: str | None
    key_env: str | None
    ask: Callable[[str, int, str], Ask]
    read: Callable[[JsonValue], Sequence[Found | None]]
    hints: Mapping[int, str] = field(default_factory=dict)
    wish: Callable[[Mapping[str, str]], float | None] = retry_after


class _Fault(Exception):
    """One attempt without results. ``again`` says whether another may do better."""

    def __init__(self, message: str, *, again: bool, throttled: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.again = again
        self.throttled = throttled
        self.retry_after = retry_after


class Remote:
    """A Service at one address, with its key. ``base`` is where paths begin."""

    def __init__(self, service: Service, *, base: Address, key: str, network: Network, gate: Gate) -> None:
        self._service = service
        self._base = base
        self._key = key
        self._network = network
        self._gate = gate
        self.name = service.name
        self.version = service.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {str(self._base)!r})"

    async def search(self, query: str, *, limit: int) -> list[Found]:
        """Ask, again where that makes sense. Raises ToolError naming the service and what happened."""
        ask = self._service.ask(query, limit, self._key)
        began: float | None = None
        attempt = 0
        while True:
            attempt += 1
            async with self._gate.place():
                try:
                    return await self._once(ask, limit)
                except _Fault as caught:
                    fault = caught
            now = self._gate.clock()
            began = now if began is None else began
            wait = self._gate.wait_after(fault, attempt=attempt)
            reason = self._stop(fault, attempt=attempt, ends=now + wait - began)
            if reason is not None:
                tries = f" (after {attempt} attempts)" if attempt > 1 else ""
                raise ToolError(f"the search service {self.name} {fault}{reason}{tries}")
            if fault.throttled:
                self._gate.pause(wait if fault.retry_after is None else fault.retry_after)
            await self._gate.sleep(wait)

    def _stop(self, fault: _Fault, *, attempt: int, ends: float) -> str | None:
        """Why there is no further attempt, or ``None``."""
        if fault.again and fault.retry_after is not None and fault.retry_after > LONGEST_WAIT:
            return f"; it asks to wait {fault.retry_after:.0f} s, which is too long"
        if not fault.again or attempt >= self._gate.attempts or ends > self._gate.retry_for:
            return ""
        return None

    async def _once(self, ask: Ask, limit: int) -> list[Found]:
        base = self._base
        address = Address(base.scheme, base.host, base.port, base.target.rstrip("/") + ask.path)
        content = None if ask.post is None else json.dumps(ask.post).encode()
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip, deflate", **ask.headers}
        if content is not None:
            headers["Content-Type"] = "application/json"
        body = bytearray()
        with anyio.move_on_after(SECONDS):
            try:
                async with self._network.exchange(
                    address, method="GET" if content is None else "POST", headers=headers, content=content
                ) as response:
                    answered = headers_of(response)
                    cut = await read_body(response, answered, into=body, limits=_LIMITS)
            except ERRORS as error:
                raise _Fault(explain(error), again=not isinstance(error, httpcore2.LocalProtocolError)) from None
            if response.status >= 300 or response.status < 200:
                raise self._refused(response.status, answered, body)
            if cut == "broken":
                raise _Fault("broke off its answer", again=True)
            if cut:
                raise _Fault("sent an answer that is too long", again=False)
            return list(_at_most(limit, self._results(bytes(body))))
        raise _Fault(f"did not answer within {SECONDS:g} s", again=True)

    def _results(self, body: bytes) -> Sequence[Found | None]:
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            page = body[:200].lstrip().startswith(b"<")
            what = "a web page" if page else "something that is not JSON"
            raise _Fault(f"answered with {what} in place of results; check [web] base_url", again=False) from None
        try:
            return self._service.read(data)
        except ValueError:
            words = self._words(data)
            raise _Fault(f"answered without results{words and f': {words}'}", again=False) from None

    def _refused(self, status: int, headers: Mapping[str, str], body: bytearray) -> _Fault:
        hint = self._service.hints.get(status, "")
        if status < 400:
            hint = "redirects are not followed, because a key belongs to one address; put the final one into [web] base_url"
        elif status in (401, 403) and not hint:
            hint = "check the key"
        try:
            words = self._words(json.loads(bytes(body)))
        except (ValueError, RecursionError):
            words = ""
        message = f"answered {status_words(status)}" + "".join(f": {part}" for part in (words, hint) if part)
        throttled = status == 429
        return _Fault(
            message,
            again=throttled or status >= 500,
            throttled=throttled,
            retry_after=self._service.wish(headers) if throttled or status == 503 else None,
        )

    def _words(self, data: JsonValue) -> str:
        """What an error body says, on one line and without the key."""
        said = next(_strings(data), "")
        if self._key:
            said = said.replace(self._key, "[key]")
        return clean_text(" ".join(said.split()))[:_WORDS]


def _strings(data: JsonValue) -> Iterator[str]:
    """The texts that services put into their errors, under the names they use."""
    if isinstance(data, str):
        yield data
    if isinstance(data, Mapping):
        for name in ("detail", "error", "message", "msg"):
            if data.get(name):
                yield from _strings(data[name])


def _at_most(limit: int, results: Sequence[Found | None]) -> Iterator[Found]:
    """The first ``limit`` results, each address once."""
    seen: set[str] = set()
    for result in results:
        if result is not None and result.url not in seen and len(seen) < limit:
            seen.add(result.url)
            yield result


# One gate for everyone in this process who asks the same address, for as long as any of them lives.
_gates: weakref.WeakValueDictionary[str, Gate] = weakref.WeakValueDictionary()


def gate_of(base: Address) -> Gate:
    """The gate of the service at ``base``."""
    gate = _gates.get(base.netloc)
    if gate is None:
        gate = _gates[base.netloc] = Gate(AT_ONCE, attempts=ATTEMPTS, retry_for=RETRY_FOR)
    return gate
