"""Tavily: POST ``/search``, key as a bearer token; results in ``results``.

Source: https://docs.tavily.com/documentation/api-reference/endpoint/search, and its page of error codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from motet.tools.web.providers.provider import Found, found
from motet.tools.web.providers.service import Ask, Service


def ask(query: str, limit: int, key: str) -> Ask:
    """The request, at the depth that costs one credit."""
    body: JsonValue = {"query": query, "max_results": limit, "search_depth": "basic"}
    return Ask("/search", headers={"Authorization": f"Bearer {key}"}, post=body)


def read(data: JsonValue) -> Sequence[Found | None]:
    """The results of an answer. Raises ValueError where there is no list of them."""
    items = data.get("results") if isinstance(data, Mapping) else None
    if not isinstance(items, list):
        raise ValueError("no list of results")
    return [
        found(item.get("url"), item.get("title"), item.get("content")) for item in items if isinstance(item, Mapping)
    ]


TAVILY = Service(
    name="tavily",
    base_url="https://api.tavily.com",
    key_env="TAVILY_API_KEY",
    ask=ask,
    read=read,
    hints={432: "the plan's limit is used up", 433: "the pay-as-you-go limit is used up"},
)
