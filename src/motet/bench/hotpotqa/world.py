"""The world of a question: a search tool over paragraphs, and nothing that can be changed."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, JsonValue

from motet.bench.hotpotqa.data import Paragraph
from motet.bench.hotpotqa.index import Index
from motet.canonical import digest
from motet.task import Score, Source
from motet.tools.function import FunctionTool
from motet.tools.tool import Observation, Tool

SEARCH = "search"
_TIMEOUT = 120.0  # seconds; a query of common words over all of Wikipedia takes some


class HotpotWorld:
    """Paragraphs behind a search tool. It has no state: a copy is the world itself."""

    name = "hotpotqa"
    forkable = True

    def __init__(self, index: Index, *, results: int) -> None:
        self.index = index
        self.version = f"1 results={results} {index.version}"
        self._results = results

    def tools(self) -> tuple[Tool, ...]:
        """The search tool."""
        index, results = self.index, self._results

        def search(query: Annotated[str, Field(min_length=1, max_length=1_000)]) -> Observation:
            """Search Wikipedia paragraphs by words. Returns the best ones, each sentence with its number.

            Args:
                query: The words to look for: names and telling nouns work best.
            """
            return show(index.search(query, limit=results), query)

        return (FunctionTool(search, name=SEARCH, version=self.version, timeout=_TIMEOUT),)

    def fingerprint(self) -> str:
        """Names the paragraphs and the tool."""
        return digest(["hotpotqa", self.version])

    def fork(self) -> Self:
        """Itself: nothing can be written."""
        return self

    def score(self, expected: JsonValue) -> tuple[Score, ...]:
        """Nothing: what counts is the answer."""
        return ()


def show(paragraphs: list[Paragraph], query: str) -> Observation:
    """Paragraphs as an agent reads them. ``data`` has the titles and how many sentences were shown of each."""
    if not paragraphs:
        return Observation(text=f"No paragraph holds a word of {query!r:.200}. Try other words.", data=[])
    blocks = []
    for rank, paragraph in enumerate(paragraphs, 1):
        lines = [f"   [{number}] {sentence.strip()}" for number, sentence in enumerate(paragraph.sentences)]
        blocks.append("\n".join([f"{rank}. {paragraph.title}", *lines]))
    sources = tuple(
        Source(ref=paragraph.title, title=paragraph.title, quote=" ".join(map(str.strip, paragraph.sentences)))
        for paragraph in paragraphs
    )
    data: list[JsonValue] = [
        {"title": paragraph.title, "sentences": len(paragraph.sentences)} for paragraph in paragraphs
    ]
    return Observation(text="\n".join(blocks), sources=sources, data=data)
