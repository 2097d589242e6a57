"""A model behind an OpenAI-compatible endpoint.

Facts that the rest relies on:

- One client per event loop and provider, with room for every call that a gate may let through; none is made per call.
- The client never retries and never follows a redirect: retries belong to the gate, and a key to one address.
- Nothing from the environment travels along: the client library would add an organisation, a project and custom headers to
  any address. Organisation and project go to OpenAI itself only.
- A reply streams only when somebody listens to it.
- The answer is read as plain JSON; the client's typed objects would cost more than the rest of the call.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import aiohttp
import httpx2
import openai

from motet.canonical import clean_text
from motet.errors import BadReply, ModelRefusal
from motet.models.faults import Faults
from motet.models.model import ModelInfo, Observer, Reply, Request
from motet.models.wire import Draft, Thinking, encode
from motet.settings import Provider

CONNECT_SECONDS = (
    30.0  # with a thousand calls at once on a busy machine a connection may take longer than the usual five
)
PREFLIGHT_SECONDS = 5.0

# Everything that sending, receiving and decoding can raise. Bugs of ours, and whatever an observer raises, pass.
_TRANSPORT = (openai.OpenAIError, httpx2.HTTPError, aiohttp.ClientError, OSError, EOFError, ValueError, RecursionError)


class Clients:
    """The connections to one provider: one client for each event loop, made when that loop first needs it.

    ``options`` goes with every request and holds its Authorization, or the instruction to send none.
    """

    def __init__(self, provider: Provider, key: str | None) -> None:
        self._provider = provider
        self._key = key
        authorization = f"Bearer {key}" if key else openai.Omit()
        self.options: openai.RequestOptions = {"headers": {"Authorization": authorization}}
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, openai.AsyncOpenAI] = WeakKeyDictionary()

    def get(self) -> openai.AsyncOpenAI:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = self._open()
        return client

    async def aclose(self) -> None:
        """Close the running loop's client. A later call opens a new one."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _open(self) -> openai.AsyncOpenAI:
        provider = self._provider
        room = max(1000, provider.max_parallel)
        timeout = httpx2.Timeout(provider.timeout, connect=min(CONNECT_SECONDS, provider.timeout))
        http = openai.DefaultAioHttpClient(
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=room, max_keepalive_connections=room, keepalive_expiry=30.0),
            timeout=timeout,
        )
        client = openai.AsyncOpenAI(
            api_key=self._key or "none",  # without one the client looks for a key of its own
            base_url=provider.base_url,
            http_client=http,
            timeout=timeout,
            max_retries=0,
        )
        # What OPENAI_CUSTOM_HEADERS put there was meant for one address, and we may be at another.
        client._custom_headers = {}
        client.admin_api_key = None
        if urlsplit(provider.base_url).hostname != "api.openai.com":
            client.organization = client.project = None
        return client


class Endpoint:
    """One model at one provider; implements Model. ``model`` is the server's name for it.

    ``clients`` is shared by the models of a provider; an endpoint of its own makes its own.
    """

    def __init__(
        self, info: ModelInfo, *, model: str, provider: Provider, key: str | None, clients: Clients | None = None
    ) -> None:
        self.info = info
        self._model = model
        self._provider = provider
        self._clients = clients or Clients(provider, key)
        self._faults = Faults(model=model, host=urlsplit(provider.base_url).netloc, key=key)

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """Answer ``request`` in one attempt. Raises the ModelError that fits; see ``motet.models.faults``."""
        listener = observer if observer is not None and observer.wants_deltas else None
        content = encode(
            request,
            model=self._model,
            max_tokens_field=self._provider.max_tokens_field,
            json_schema=self._provider.json_schema,
            stream=listener is not None,
        )
        started = time.perf_counter()
        draft: Draft | None = None
        try:
            # The client's own time-outs are between bytes; this one is for the attempt.
            async with asyncio.timeout(self._provider.timeout):
                draft = await self._whole(content) if listener is None else await self._stream(content, listener)
        except TimeoutError:
            pass
        if draft is None:
            raise self._faults.unavailable(f"did not answer within {self._provider.timeout:g} s")
        return self._accept(draft, seconds=time.perf_counter() - started)

    async def aclose(self) -> None:
        """Close the running loop's connections to the provider."""
        await self._clients.aclose()

    async def probe(self, *, timeout: float = PREFLIGHT_SECONDS) -> list[str]:
        """The models that the server lists, empty where it lists none. Raises the ModelError of a server that cannot be used.

        A server without that route (404, 405) or with a fault of its own (429, 5xx) can be reached, and that is all that is asked.
        """
        client = self._clients.get()  # making one takes a while of its own
        try:
            async with asyncio.timeout(timeout):
                response = await client.get("/models", cast_to=httpx2.Response, options=self._clients.options)
            data = response.json()
        except openai.APIStatusError as error:
            failure = self._faults.of(error) if error.status_code in (301, 302, 303, 307, 308, 401, 403) else None
        except ValueError:
            failure = None
        except _TRANSPORT as error:
            failure = self._faults.of(error)
        else:
            items = data.get("data") if isinstance(data, dict) else None
            listed = items if isinstance(items, list) else []
            return [str(item["id"]) for item in listed if isinstance(item, dict) and "id" in item]
        if failure is not None:
            raise failure
        return []

    async def _whole(self, content: bytes) -> Draft:
        draft = Draft()
        try:
            response = await self._clients.get().post(
                "/chat/completions", cast_to=httpx2.Response, content=content, options=self._clients.options
            )
            data = _decode(response)
        except _TRANSPORT as error:
            failure = self._faults.of(error)
        else:
            draft.feed(self._checked(data))
            return draft
        # Raised here and not above: the client's exceptions hold the request, and with it the key.
        raise failure

    def _checked(self, data: object) -> Mapping[str, object]:
        """``data`` as a chat completion."""
        if data is _PAGE:
            raise self._faults.page()
        if isinstance(data, Mapping) and data.get("error"):
            raise self._faults.body(data["error"])
        if not isinstance(data, Mapping) or not isinstance(data.get("choices"), list) or not data["choices"]:
            raise self._faults.unavailable("sent an answer that is no chat completion")
        return data

    async def _stream(self, content: bytes, observer: Observer) -> Draft:
        draft, thinking = Draft(), Thinking()
        async with aclosing(self._chunks(content, draft)) as chunks:
            async for chunk in chunks:
                text, reasoning = draft.feed(chunk)
                if reasoning:
                    observer.delta(clean_text(reasoning), reasoning=True)
                if text:
                    for piece, thought in thinking.feed(text):
                        observer.delta(clean_text(piece), reasoning=thought)
        for piece, thought in thinking.end():
            observer.delta(clean_text(piece), reasoning=thought)
        if draft.finish is None:
            raise self._faults.unavailable("cut its answer short: the stream ended without a finish reason")
        return draft

    async def _chunks(self, content: bytes, draft: Draft) -> AsyncGenerator[Mapping[str, object], None]:
        """The chunks of a streamed answer; a server that does not stream sends one."""
        failure = None
        response: httpx2.Response | None = None
        try:
            client = self._clients.get()
            # With this cast the client hands over the open response, whatever stream class is named.
            opened: object = await client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                content=content,
                options=self._clients.options,
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
            assert isinstance(opened, httpx2.Response)
            response = opened
            if "event-stream" not in response.headers.get("content-type", "event-stream"):
                await response.aread()
                whole = self._checked(_decode(response))
                draft.finish = "stop"  # a whole answer is complete even when it names no finish reason
                yield whole
                return
            async for chunk in openai.AsyncStream(cast_to=object, response=response, client=client):
                if isinstance(chunk, Mapping):
                    yield chunk
        except _TRANSPORT as error:
            # After the finish reason only usage can follow: the answer is whole, its usage unknown.
            failure = None if draft.finish is not None else self._faults.of(error)
        finally:
            if response is not None:
                with suppress(*_TRANSPORT):
                    await response.aclose()
        if failure is not None:
            raise failure

    def _masked(self, reply: Reply) -> Reply:
        """``reply`` without our own key, wherever the server put it: what is answered is stored and shown."""
        mask = self._faults.masked
        calls = tuple(
            call
            if mask(call.arguments) == call.arguments
            else call.model_copy(update={"arguments": mask(call.arguments)})
            for call in reply.tool_calls
        )
        change = {"text": mask(reply.text), "reasoning": mask(reply.reasoning), "tool_calls": calls}
        same = (reply.text, reply.reasoning, reply.tool_calls) == (change["text"], change["reasoning"], calls)
        return reply if same else reply.model_copy(update=change)

    def _accept(self, draft: Draft, *, seconds: float) -> Reply:
        """The reply, or the error of one that cannot be used.

        An empty reply is marked retryable, since another draw is often fine; not so when the tokens ran out before the first
        word. A reply of nothing but reasoning is passed on: some models put their tool calls there.
        """
        reply = self._masked(draft.reply(seconds=seconds))
        if reply.tool_calls or reply.text.strip():
            return reply
        lost = (reply.usage,)
        if draft.refusal or reply.finish == "filter":
            words = f": {self._faults.quote(draft.refusal)}" if draft.refusal else " by the provider's filter"
            refusal = ModelRefusal(f"{self._faults} declined to answer{words}", billed=True)
            refusal.lost = lost
            raise refusal
        if reply.reasoning:
            return reply
        if reply.finish == "length":
            bad = BadReply(
                f"{self._faults} used all of max_tokens before its first word: raise max_tokens", billed=True
            )
        else:
            bad = BadReply(f"{self._faults} sent an empty reply", billed=True)
            bad.retryable = True
        bad.lost = lost
        raise bad


_PAGE = object()


def _decode(response: httpx2.Response) -> object:
    """The JSON of an answer. Raises ValueError or RecursionError when it is none."""
    if "text/html" in response.headers.get("content-type", ""):
        return _PAGE
    return json.loads(response.content)
