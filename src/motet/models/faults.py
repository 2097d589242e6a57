"""Failures of an endpoint, each as the ModelError that says what it was and whether asking again makes sense.

``billed`` (the attempt may have cost tokens that nobody reported) is decided like this:

- no: no connection was made; the server refused the request (4xx); the server said itself that it failed (5xx with a body).
- yes: the connection broke or timed out after the request was sent; a gateway gave up waiting for the server behind it
  (408, 502, 504 and their like); a 5xx without a word; anything after the first byte of an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
import openai

from motet.canonical import clean_text
from motet.errors import (
    BadReply,
    ContextOverflow,
    ModelDenied,
    ModelError,
    ModelRefusal,
    ModelThrottled,
    ModelUnavailable,
)
from motet.models.retry_after import retry_after
from motet.usage import Usage

SERVER_TEXT = 300  # characters of a server's own words that an error carries

_GATEWAY: Final = frozenset({408, 502, 504, 520, 521, 522, 523, 524})
# Each alternative is the wording or code of at least one of: OpenAI, Azure, vLLM, llama.cpp, Ollama, Anthropic, Gemini, Groq, xAI.
_OVERFLOW: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context (?:length|window|size)|context limit"
    r"|(?:prompt|input|request) is too long|input token count|too many (?:input )?tokens|reduce the length"
    r"|maximum prompt length|input length|longer than the (?:model|maximum)",
    re.IGNORECASE,
)
_FILTER: Final = re.compile(
    r"content_filter|content_policy|ResponsibleAIPolicy|content management policy|\bsafety\b|moderation|flagged",
    re.IGNORECASE,
)
_QUOTA: Final = re.compile(r"insufficient_quota|billing_hard_limit|exceeded your current quota", re.IGNORECASE)
# The model wrote something that the server's own parser could not read: another draw may be fine.
_MALFORMED: Final = re.compile(
    r"tool_use_failed|json_validate_failed|failed_generation|failed to parse tool call|error parsing tool call",
    re.IGNORECASE,
)
# What looks like a key or what is left of one: servers quote it in part ("Incorrect API key provided: sk-ab***yz").
_KEYLIKE: Final = re.compile(r"\b(?:sk|gsk|xai)-[\w*.…-]{4,}|(?<=[Bb]earer )\S+")


@dataclass(frozen=True)
class Faults:
    """Turns failures into errors for one model: ``model`` and ``host`` are named in each, ``key`` in none."""

    model: str
    host: str
    key: str | None

    def of(self, error: Exception) -> ModelError:
        """The error for an exception of the client, its transport, or of reading what came back."""
        if isinstance(error, openai.APIStatusError):
            return self.status(error.status_code, error.body, error.response.headers)
        if isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError):
            return self.body(error.body)
        return self._broken(error)

    def status(self, status: int, body: object, headers: Mapping[str, str]) -> ModelError:
        """The error for an HTTP status of 300 and above."""
        if status < 400:
            target = self.quote(headers.get("location", "nowhere"))
            return self._denied(
                f"is redirected ({status}) to {target}; redirects are not followed, because a key belongs to one address: "
                "put the final address into base_url"
            )
        words, codes = self._words(body), _codes(body)
        return self._classify(status, words, f"{codes} {words}", retry_after=retry_after(headers), said=bool(words))

    def body(self, error: object) -> ModelError:
        """The error for an ``error`` object inside an answer that began as a success."""
        words, codes = self._words(error), _codes(error)
        code = error.get("code") if isinstance(error, Mapping) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        failure = self._classify(status, words, f"{codes} {words}", retry_after=None, said=True)
        failure.billed, failure.lost = True, failure.lost or (Usage(),)
        return failure

    def unavailable(self, what: str, *, billed: bool = True) -> ModelUnavailable:
        """A failure that may pass."""
        return ModelUnavailable(f"{self} {what}", billed=billed)

    def page(self) -> ModelDenied:
        """The error for a web page in place of an answer."""
        return self._denied("answered with a web page; base_url may lack its path, which often ends in /v1")

    def masked(self, text: str) -> str:
        """``text`` without the key, which a server may have written into an answer."""
        return text.replace(self.key, "[key]") if self.key else text

    def quote(self, text: str) -> str:
        """A server's words on one line, without anything that looks like a key, and cut."""
        if self.key:
            text = text.replace(self.key, "[key]")
        text = clean_text(" ".join(_KEYLIKE.sub("[key]", text).split()))
        return text if len(text) <= SERVER_TEXT else text[: SERVER_TEXT - 1] + "…"

    def __str__(self) -> str:
        return f"model {self.model} at {self.host}"

    def _classify(self, status: int, words: str, evidence: str, *, retry_after: float | None, said: bool) -> ModelError:
        colon = f": {words}" if words else ""
        if status in (400, 403, 413, 422, 500) and _OVERFLOW.search(evidence):
            return ContextOverflow(f"{self}: the prompt does not fit its context window ({status}){colon}")
        if status == 413:
            return ContextOverflow(f"{self}: the request is too large for it ({status}){colon}")
        if status in (400, 403, 422) and _FILTER.search(evidence):
            return ModelRefusal(f"{self}: refused by the provider's filter ({status}){colon}")
        if status in (400, 422, 500) and _MALFORMED.search(evidence):
            bad = BadReply(f"{self} wrote a reply that its server could not read ({status}){colon}", billed=True)
            bad.retryable = True
            return bad
        if status == 429 and not _QUOTA.search(evidence):
            return ModelThrottled(f"{self}: too many requests (429){colon}", retry_after=retry_after)
        if status in (401, 403):
            sent = "the key was not accepted" if self.key else "it wants a key and none is configured for this address"
            return self._denied(f"denied access ({status}): {sent}{colon}")
        if status == 404:
            return self._denied(f"is not there (404): check the model's name and base_url{colon}")
        if status >= 500 or status in (408, 409, 425):
            return ModelUnavailable(
                f"{self} failed ({status}){colon}",
                retry_after=retry_after,
                billed=status in _GATEWAY or not said,
            )
        return self._denied(f"did not accept the request ({status}){colon}")

    def _broken(self, error: Exception) -> ModelError:
        """A connection that was not made, or that broke; ``error``'s causes say which."""
        causes = _causes(error)
        if any(isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) for cause in causes):
            reason = next((str(c.os_error) for c in causes if isinstance(c, aiohttp.ClientConnectorError)), "timed out")
            return self.unavailable(f"cannot be reached: {self.quote(reason)}", billed=False)
        if any(isinstance(cause, TimeoutError | openai.APITimeoutError) for cause in causes) and not any(
            isinstance(cause, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError) for cause in causes
        ):
            return self.unavailable("did not answer in time")
        if any(isinstance(cause, ValueError | RecursionError) for cause in causes):
            return self.unavailable("sent an answer that is not valid JSON")
        return self.unavailable(f"broke the connection: {self.quote(str(causes[-1]) or type(causes[-1]).__name__)}")

    def _denied(self, what: str) -> ModelDenied:
        return ModelDenied(f"{self} {what}")

    def _words(self, body: object) -> str:
        """The server's own message, wherever its error body keeps it."""
        if isinstance(body, Mapping):
            inner = body.get("error", body)
            if isinstance(inner, Mapping):
                inner = inner.get("message") or inner.get("detail") or inner
            body = inner
        if isinstance(body, str):
            # An error page says nothing that a person wants to read here.
            return "" if "<html" in body[:500].lower() else self.quote(body)
        return self.quote(str(body)) if body else ""


def _codes(body: object) -> str:
    """The machine-readable parts of an error body, for matching."""
    if not isinstance(body, Mapping):
        return ""
    inner = body.get("error", body)
    inner = inner if isinstance(inner, Mapping) else {}
    deeper = inner.get("innererror")
    found = [inner.get("code"), inner.get("type"), deeper.get("code") if isinstance(deeper, Mapping) else None]
    return " ".join(str(item) for item in found if item)


def _causes(error: BaseException) -> list[BaseException]:
    """``error`` and what it came from, outermost first."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ or current.__context__
    return chain
