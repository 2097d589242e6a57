"""Brave Search: GET ``/res/v1/web/search``, key in ``X-Subscription-Token``; results in ``web.results``.

Source: https://api-dashboard.search.brave.com/docs (query parameters, response headers, web search response).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from pydantic import JsonValue

from motet.models.retry_after import retry_after
from motet.tools.web.providers.provider import Found, found
from motet.tools.web.providers.service import Ask, Service

MAX_QUERY = 400  # characters that the service takes
_MARKS = re.compile(r"</?strong>")


def ask(query: str, limit: int, key: str) -> Ask:
    """The request; highlighting is switched off, so that a snippet is plain text."""
    parameters = {"q": query[:MAX_QUERY], "count": limit, "text_decorations": "false", "result_filter": "web"}
    return Ask(f"/res/v1/web/search?{urlencode(parameters)}", headers={"X-Subscription-Token": key})


def read(data: JsonValue) -> Sequence[Found | None]:
    """The results of an answer; one without a ``web`` part found nothing. Raises ValueError for anything else."""
    if not isinstance(data, Mapping) or ("web" not in data and data.get("type") != "search"):
        raise ValueError("no search answer")
    web = data.get("web") or {}
    items = web.get("results", []) if isinstance(web, Mapping) else None
    if not isinstance(items, list):
        raise ValueError("no list of results")
    return [
        found(item.get("url"), _plain(item.get("title")), _plain(item.get("description")))
        for item in items
        if isinstance(item, Mapping)
    ]


def wish(headers: Mapping[str, str]) -> float | None:
    """The seconds to wait: ``Retry-After``, else the reset of the shortest window that has nothing left."""
    asked = retry_after(headers)
    if asked is not None:
        return asked
    left = headers.get("x-ratelimit-remaining", "").split(",")
    resets = headers.get("x-ratelimit-reset", "").split(",")
    waits = [int(reset) for rest, reset in zip(left, resets, strict=False) if rest.strip() == "0" and _count(reset)]
    return float(max(waits)) if waits else None


def _count(text: str) -> bool:
    return text.strip().isascii() and text.strip().isdecimal() and len(text) < 12


def _plain(text: object) -> object:
    return html.unescape(_MARKS.sub("", text)) if isinstance(text, str) else text


BRAVE = Service(
    name="brave",
    base_url="https://api.search.brave.com",
    key_env="BRAVE_API_KEY",
    ask=ask,
    read=read,
    hints={422: "check the key, and the query's length"},
    wish=wish,
)
