"""The Provider protocol: whoever answers a search, and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from motet.tools.documents import tidy
from motet.tools.web.visible import visible

_TITLE_CHARS = 200
_SNIPPET_CHARS = 700


@dataclass(frozen=True, slots=True)
class Found:
    """One result: where, under which title, and the words that match, as the provider gave them."""

    url: str
    title: str
    snippet: str


class Provider(Protocol):
    """Answers searches. ``name`` is for people; ``version`` is part of the tool's."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    async def search(self, query: str, *, limit: int) -> list[Found]:
        """At most ``limit`` results, best first. Raises ToolError naming what happened; never with a key in it."""
        ...


def found(url: object, title: object, snippet: object) -> Found | None:
    """A result in one form, without invisible characters; ``None`` for what has no web address."""
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        return None
    return Found(
        url="".join(visible(url).split()),
        title=_line(title)[:_TITLE_CHARS],
        snippet=_line(snippet)[:_SNIPPET_CHARS],
    )


def _line(text: object) -> str:
    return " ".join(tidy(visible(text)).split()) if isinstance(text, str) else ""
