"""The ``search`` tool: results of a provider, each with its address, title and the words that match."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from motet.task import Source
from motet.tools.function import FunctionTool
from motet.tools.tool import Observation, Tool
from motet.tools.web.providers.provider import Provider

FORMAT = 1  # raised whenever the same results may be shown differently
MAX_RESULTS = 20
# A provider bounds its own attempts; this covers waiting for a turn among many agents.
_TIMEOUT = 300.0


def search_tool(provider: Provider) -> Tool:
    """``search`` through ``provider``. Its version names the provider; what it finds may change at any time."""

    async def search(
        query: Annotated[str, Field(min_length=1, max_length=1_000)],
        limit: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 5,
    ) -> Observation:
        """Search the web. Returns the pages that match best, each with its address and the words that match.

        Args:
            query: What to look for, in a few telling words.
            limit: How many pages to return.
        """
        results = await provider.search(" ".join(query.split()), limit=limit)
        if not results:
            return Observation(text=f"No page was found for {query!r}. Try other words.", data=[])
        lines = []
        for rank, result in enumerate(results, 1):
            lines += [f"{rank}. {result.title or result.url}", f"   {result.url}"]
            if result.snippet:
                lines.append(f"   {result.snippet}")
        lines.append("Read a page with visit(url).")
        data: list[JsonValue] = [{"url": result.url, "title": result.title} for result in results]
        sources = tuple(Source(ref=result.url, title=result.title, quote=result.snippet) for result in results)
        return Observation(text="\n".join(lines), sources=sources, data=data)

    return FunctionTool(search, version=f"web-search-{FORMAT} {provider.version}", timeout=_TIMEOUT)
