"""A folder of saved pages as a provider: searched by BM25 as a corpus is, and opened by ``visit``. It needs no network.

Its results have addresses of their own kind, ``local:NAME``; a name is looked up among the folder's documents and never becomes a path.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

from motet.tools.corpus import open_corpus
from motet.tools.documents import tidy
from motet.tools.threads import threads
from motet.tools.web.page import Page
from motet.tools.web.providers.provider import Found
from motet.tools.web.visible import visible

PREFIX: Final = "local:"
_PASSAGES = 6  # asked for per result: several of the best passages are often of one page


class Local:
    """The pages in ``folder``. Raises InputError when it is not there or holds none."""

    name = "local"

    def __init__(self, folder: str | Path) -> None:
        self._corpus = open_corpus(folder)
        self.version = f"local {self._corpus.version}"

    async def search(self, query: str, *, limit: int) -> list[Found]:
        """The best pages, each with the passage that matches best."""
        hits = await threads().run(functools.partial(self._corpus.search, query, limit=limit * _PASSAGES))
        results: dict[str, Found] = {}
        for hit in hits:
            url = PREFIX + hit.document.ref
            results.setdefault(url, Found(url, hit.document.title, " ".join(tidy(visible(hit.text)).split())))
        return list(results.values())[:limit]

    async def open(self, url: str) -> Page | None:
        """The page at a ``local:`` address; ``None`` for any other. Raises ToolError offering the nearest name."""
        url = url.strip()
        if not url.startswith(PREFIX):
            return None
        document, _ = await threads().run(functools.partial(self._corpus.find, url[len(PREFIX) :].strip("/")))
        return Page(PREFIX + document.ref, document.title, tidy(visible(document.text)))
