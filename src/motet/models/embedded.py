"""The embedded model: SmolLM2-135M in this process, through llama.cpp's server code and without a network.

Facts that the rest relies on:

- The weights are loaded at the first reply, once per process, after their SHA-256 was checked: ``identity`` names what runs.
- Two conversations are answered at a time, each with a window of 8,192 tokens; further calls wait in line. Threads exist
  only while there is work, so an idle process ends at once.
- A cancelled call stops at the next token, or at the next 128 tokens of its prompt. So does everything when the interpreter ends.
- A reply schema becomes a grammar: the text fits it unless it is cut at ``max_tokens``. A ``pattern`` without both anchors and
  keywords such as ``not`` or ``if`` cannot be held while decoding; whoever validates the reply finds what they forbid.
- Text cannot forge a turn: control tokens inside messages are broken before the prompt is built.
- Greedy text does not depend on what runs beside it or on the prompt cache.
- ``embedded:exact`` rests nothing on that: one conversation at a time, each prompt read from its start, and the number of threads in ``identity``.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from motet.errors import BadReply, ContextOverflow, InputError, ModelError, ModelUnavailable
from motet.models import weights
from motet.models.model import Model, ModelInfo, Observer, Price, Reply, Request
from motet.models.tokenizer import CHAT_TEMPLATE, MISSING_EXTRA, Tokens, content, open_tokens
from motet.models.wire import Draft
from motet.settings import nearest

NAME = "embedded"
EXACT = f"{NAME}:exact"
_REPLY_LIMIT = 256  # tokens; a model of this size repeats itself beyond that
CONTEXT = 8192
SLOTS = 2
_BATCH = 128  # prompt tokens between two looks at whether the call was cancelled: about a second on one core


def open_embedded(name: str = NAME) -> Model:
    """The embedded model ``embedded`` or ``embedded:exact`` (weights ``smollm2``). Cheap: nothing is loaded before the first reply.

    Raises InputError for another name, and when the extra or the weights are missing.
    """
    chosen = name.removeprefix(f"{NAME}:")
    chosen = "smollm2" if name in (NAME, EXACT) else chosen
    conversing = [recipe.name for recipe in weights.RECIPES.values() if recipe.chat]
    if chosen in weights.RECIPES and chosen not in conversing:
        raise InputError(f"{chosen} is a base model without a chat format; the embedded model is {NAME!r}")
    if chosen not in conversing:
        raise InputError(f"unknown embedded model {name!r}{nearest(chosen, [NAME, EXACT, *conversing])}")
    return Embedded(chosen, exact=name == EXACT)


class Embedded:
    """A chat model from local weights. ``exact``: one call at a time and without the prompt cache, as ``identity`` says with the number of threads."""

    def __init__(self, name: str, *, exact: bool = False) -> None:
        try:
            version = metadata.version("xllamacpp")
        except metadata.PackageNotFoundError:
            raise InputError(MISSING_EXTRA) from None
        self._path = weights.locate(name).resolve()  # one engine for one file, whichever way it is reached
        self._recipe = weights.recipe_of(name)
        self._threads = threads()
        self._exact = exact
        how = f" slots=1 prompt-cache=off threads={self._threads}" if exact else ""
        self._info = ModelInfo(
            name=EXACT if exact else NAME,
            identity=f"{name} sha256:{self._recipe.sha256} xllamacpp/{version}{how}",
            provider=NAME,
            context=CONTEXT,
            reply_limit=_REPLY_LIMIT,
            native_tools=False,
            price=Price(prompt=0.0, completion=0.0),
        )

    @property
    def info(self) -> ModelInfo:
        """What is known about the model."""
        return self._info

    async def reply(self, request: Request, *, observer: Observer | None = None) -> Reply:
        """Answer ``request``. Raises ContextOverflow for a prompt that does not fit, and BadReply for an empty answer."""
        if request.tools:
            raise BadReply(f"{NAME} takes no tool definitions; ask it for an action by reply_schema")
        try:
            slots = 1 if self._exact else SLOTS
            engine = await asyncio.to_thread(_engine, self._path, self._recipe.sha256, self._threads, slots)
        except (InputError, OSError, RuntimeError) as error:
            raise ModelUnavailable(f"{NAME} could not be loaded from {self._path}: {error}") from None
        start = time.monotonic()
        payload = _payload(request, engine.tokens)
        if self._exact:
            payload["cache_prompt"] = False
        work = _Work(payload, observer)
        engine.submit(work)
        try:
            draft = await work.done
        finally:
            work.stop = True  # whether the answer came or the caller left
        reply = draft.reply(seconds=time.monotonic() - start)
        if not reply.text and reply.finish == "stop":
            raise BadReply(f"{NAME} gave an empty reply", billed=True)
        return reply.model_copy(update={"model": self._recipe.file})


def threads() -> int:
    """Threads for the model: one on a machine of one or two cores, else all but one, at most eight; MOTET_THREADS overrides.

    With as many threads as cores, each waits for the slowest at every layer: two on two busy cores fall to about a token
    per second.
    """
    given = os.environ.get("MOTET_THREADS")
    if given:
        if not given.isdecimal() or int(given) < 1:
            raise InputError(f"MOTET_THREADS is {given!r}; it must be a whole number from 1 on")
        return int(given)
    cores = os.cpu_count() or 1
    return 1 if cores <= 2 else min(cores - 1, 8)


class _Work:
    """One request on its way through the engine. Made on the event loop; ``run`` is called in an engine's thread."""

    def __init__(self, payload: dict[str, Any], observer: Observer | None) -> None:
        self.stop = False
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[Draft] = self._loop.create_future()
        self._payload = payload
        self._observer = observer if observer and observer.wants_deltas else None
        self._draft = Draft()
        self._error: ModelError | None = None

    def run(self, server: Any) -> None:
        """Generate to the end, or until ``stop``."""
        if self._stopped():
            return
        try:
            server.handle_chat_completions(self._payload, self._chunk)
        except ValueError as error:  # refused before it began, such as a schema that makes no sense
            self._error = BadReply(f"{NAME} cannot take the request: {_line(str(error))}")
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller must hear of it and the slot become free
            self._error = ModelUnavailable(f"{NAME}: {_line(repr(error))}", billed=True)
        self._call(self._finish)

    def _chunk(self, chunk: Mapping[str, Any]) -> bool:
        """Take in a piece; returning true stops the generation. Must not raise: the caller is C++."""
        if "error" in chunk:
            self._error = _error(chunk["error"])
            return True
        text, _ = self._draft.feed(chunk)
        if text and self._observer:
            self._call(self._observer.delta, text)
        return self._stopped()

    def _finish(self) -> None:
        if self.done.done():
            return
        if self._draft.finish is None and self._error is None:
            self._error = ModelUnavailable(f"{NAME}: the reply ended early", billed=True)
        if self._error:
            self.done.set_exception(self._error)
        else:
            self.done.set_result(self._draft)

    def _stopped(self) -> bool:
        return self.stop or not threading.main_thread().is_alive()

    def _call(self, function: Any, *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # the loop was closed: nobody waits any more
            self.stop = True


class _Engine:
    """A loaded model, and the line of work before it."""

    def __init__(self, server: Any, tokens: Tokens, *, slots: int) -> None:
        self.tokens = tokens
        self._slots = slots
        self._server = server
        self._lock = threading.Lock()
        self._waiting: deque[_Work] = deque()
        self._busy = 0

    def submit(self, work: _Work) -> None:
        """Begin ``work`` now or when a slot is free, first come first served."""
        with self._lock:
            self._waiting.append(work)
            if self._busy == self._slots:
                return
            self._busy += 1
        # Not a pool: its idle threads would have to be told when the interpreter ends, and a thread costs nothing beside a reply.
        threading.Thread(target=self._serve, name="motet-embedded").start()

    def _serve(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                work = self._waiting.popleft()
            work.run(self._server)


_loading = threading.Lock()


def _engine(path: Path, sha256: str, threads: int, slots: int) -> _Engine:
    """The engine for the weights at ``path``; the first call loads it, others wait for that."""
    with _loading:
        return _load(path, sha256, threads, slots)


@functools.cache
def _load(path: Path, sha256: str, threads: int, slots: int) -> _Engine:
    found = weights.sha256_of(path)
    if found != sha256:
        raise InputError(f"its SHA-256 is {found} instead of {sha256}; run: motet models get {path.parent.name}")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_parallel = slots
    params.n_ctx = CONTEXT * slots
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.chat_template = CHAT_TEMPLATE
    params.cache_ram_mib = 0  # the default may grow to 8 GB; a slot's own prefix cache stays
    params.verbosity = -1  # it writes to file descriptor 2
    # The library listens on loopback too. Nobody is to use that: one thread, and a key that is told to no one.
    params.ui = params.endpoint_slots = False
    params.n_threads_http = 1
    params.api_keys = [secrets.token_hex(32)]
    return _Engine(xllamacpp.Server(params), open_tokens(path.parent), slots=slots)


def _payload(request: Request, tokens: Tokens) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "messages": [
            {"role": message.role, "content": tokens.plain(content(message.content, message.tool_calls))}
            for message in request.messages
        ],
        "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # a chunk per batch of the prompt: a chance to stop
    }
    sampling = request.sampling
    for name in ("temperature", "top_p", "seed"):
        value = getattr(sampling, name)
        if value is not None:
            payload[name] = value
    if sampling.stop:
        payload["stop"] = list(sampling.stop)
    if request.reply_schema is not None:
        payload["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": _holdable(request.reply_schema), "strict": True},
        }
    return payload


def _holdable(schema: JsonValue) -> JsonValue:
    """``schema`` without patterns that the grammar cannot hold; llama.cpp would drop them too, and say so on stderr."""
    if isinstance(schema, list):
        return [_holdable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    pattern = schema.get("pattern")
    loose = isinstance(pattern, str) and not (pattern.startswith("^") and pattern.endswith("$"))
    return {key: _holdable(value) for key, value in schema.items() if not (loose and key == "pattern")}


def _error(error: Mapping[str, Any]) -> ModelError:
    message = _line(str(error.get("message", error)))
    if error.get("type") == "exceed_context_size_error":
        return ContextOverflow(
            f"{NAME}: the prompt has {error.get('n_prompt_tokens')} tokens, its window {error.get('n_ctx')}"
        )
    if error.get("code") == 400:
        return BadReply(f"{NAME} cannot take the request: {message}")
    return ModelUnavailable(f"{NAME}: {message}", billed=True)


def _line(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1][:300]
